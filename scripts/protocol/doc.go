// Package protocol holds what clients in other languages start from: hilo's scripts as they are sent, requests and replies to
// test a client with (vectors.json), and a small client in Python (hilo.py). PROTOCOL.md, one folder up, describes them. It has
// no code in Go but tests.
package protocol
