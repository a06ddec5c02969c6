package cli

import "strings"

// nearest is the known word that word was most likely meant to be, or "" when none is near: one slip (a letter
// missing, extra, wrong, or swapped with its neighbour) in three letters. A word cut short is near as well.
func nearest(word string, known []string) string {
	best, distance := "", 1+len(word)/3
	for _, candidate := range known {
		if len(candidate) < 2 {
			continue
		}
		d := slips(word, candidate)
		if len(word) > 1 && strings.HasPrefix(candidate, word) {
			d = 1
		}
		if d < distance || d == distance && best == "" && d < len(word) {
			best, distance = candidate, d
		}
	}
	return best
}

// slips is the optimal string alignment distance of a and b.
func slips(a, b string) int {
	before, above := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}
