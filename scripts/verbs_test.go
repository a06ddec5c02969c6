package scripts

import "github.com/redis/go-redis/v9"

// Verb is a script for tests that call it with any arguments. File is the file of its header, without .lua.
type Verb struct {
	Name   string
	File   string
	Script *redis.Script
	Keys   int
	Args   int
}

// Verbs lists all scripts.
var Verbs = []Verb{
	{"next", "take", next, 3, 13},
	{"return", "return", returning, 1, 5},
	{"seed", "seed", seed, 3, 6},
	{"identity", "take", identity, 3, 16},
	{"describe", "describe", describe, 3, 0},
	{"check", "check", check, 3, 3},
	{"import", "import", importing, 3, 12},
	{"configure", "configure", configure, 1, 7},
}
