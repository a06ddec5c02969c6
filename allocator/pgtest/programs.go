package pgtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// installed is where Debian keeps the programs of each version, which are not
// in PATH.
const installed = "/usr/lib/postgresql/*/bin"

// find returns the directory of initdb and postgres. It prefers the initdb in PATH to
// the newest version that Debian installed.
func find() (string, error) {
	var places []string
	if path, err := exec.LookPath("initdb"); err == nil {
		if program, err := filepath.EvalSymlinks(path); err == nil {
			places = append(places, filepath.Dir(program))
		}
	}
	return firstWithBoth(append(places, newestFirst(installed)...))
}

func firstWithBoth(places []string) (string, error) {
	for _, place := range places {
		if executable(filepath.Join(place, "initdb")) && executable(filepath.Join(place, "postgres")) {
			return place, nil
		}
	}
	return "", errors.New("PostgreSQL: initdb and postgres, in PATH or in " + installed)
}

// newestFirst returns the directories that match a pattern with a version as its star.
func newestFirst(pattern string) []string {
	places, _ := filepath.Glob(pattern) // the only error is that of a bad pattern
	version := func(place string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(place))) // what is no number comes last
		return n
	}
	slices.SortFunc(places, func(a, b string) int { return version(b) - version(a) })
	return places
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
