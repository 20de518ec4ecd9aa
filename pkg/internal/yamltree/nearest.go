package yamltree

import "strings"

// mistakesMax is how many letters may be wrong for a word to be recognised.
const mistakesMax = 2

// Nearest is the known word that was probably meant, or nothing. Capitals
// do not count.
func Nearest(word string, known []string) string {
	best, fewest := "", mistakesMax+1
	word = strings.ToLower(strings.TrimSpace(word))
	if len(word) > QuotedMax {
		return ""
	}
	for _, candidate := range known {
		if n := mistakes(word, strings.ToLower(candidate)); n < fewest && n < len(candidate)/2 {
			best, fewest = candidate, n
		}
	}
	return best
}

// mistakes is how many letters must be added, removed or replaced to make one
// word of the other.
func mistakes(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := corner
			if a[i] != b[j] {
				replaced++
			}
			corner = row[j+1]
			row[j+1] = min(replaced, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
