package scripts

import "github.com/redis/go-redis/v9"

// Verb is a script for tests that call it with whatever arguments.
type Verb struct {
	Name   string
	Script *redis.Script
	Keys   int
	Args   int
}

// Verbs are all scripts.
var Verbs = []Verb{
	{"next", next, 3, 10},
	{"return", giveBack, 1, 5},
	{"seed", seed, 3, 6},
	{"identity", identity, 3, 13},
	{"describe", describe, 3, 0},
	{"import", importing, 3, 6},
}
