package main

import (
	"os"
	"strings"
	"unsafe"
)

// takeArguments gives the process's arguments, and covers the passwords in them for those who look at its title: ps
// and /proc show the memory that they begin in, which Linux lets a process write to. Until then they were to be seen,
// so that $HILO_REDIS_URL and --password-file are better still.
func takeArguments() []string {
	args := make([]string, len(os.Args))
	for i, arg := range os.Args {
		args[i] = strings.Clone(arg)
		for _, secret := range secrets(arg) {
			memory := unsafe.Slice(unsafe.StringData(arg), len(arg)) // the kernel's copy, no constant of ours
			for at := secret.from; at < secret.to; at++ {
				memory[at] = '*'
			}
		}
	}
	return args
}

// span is a part of an argument.
type span struct{ from, to int }

// secrets are the parts of an argument that may be a password: all that stands between scheme and host, since a
// password that was not escaped has any character, and the values of options.
func secrets(arg string) []span {
	begin := strings.Index(arg, "://")
	if begin < 0 {
		return nil
	}
	begin += len("://")
	var found []span
	if at := strings.LastIndexByte(arg, '@'); at > begin {
		found = append(found, span{begin, at})
	}
	const option = "password="
	for from := begin; ; {
		at := strings.Index(arg[from:], option)
		if at < 0 {
			return found
		}
		from += at + len(option)
		to := from + strings.IndexByte(arg[from:]+"&", '&')
		found = append(found, span{from, to})
		from = to
	}
}
