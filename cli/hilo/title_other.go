//go:build !linux

package main

import "os"

// takeArguments gives the process's arguments, which stand in its title for all to see: a password is better kept in
// $HILO_REDIS_URL or --password-file.
func takeArguments() []string { return os.Args }
