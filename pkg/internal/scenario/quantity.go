package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// quantities prints quantities by name as a scenario would write them, so that
// what went in and what comes out can be compared by eye: vcore in cores or
// thousandths, memory with the largest suffix that leaves it whole.
func quantities(named map[string]int64) string {
	if len(named) == 0 {
		return none
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(named)) {
		words = append(words, name+"="+quantity(name, named[name]))
	}
	return strings.Join(words, " ")
}

func quantity(name string, value int64) string {
	switch {
	case name == resources.VCore && value%1000 == 0:
		return fmt.Sprint(value / 1000)
	case name == resources.VCore:
		return fmt.Sprintf("%dm", value)
	case name != resources.Memory || value == 0:
		return fmt.Sprint(value)
	}
	suffixes := []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
	for value%1024 == 0 && len(suffixes) > 1 {
		value /= 1024
		suffixes = suffixes[1:]
	}
	return fmt.Sprint(value) + suffixes[0]
}

func formatPairs(pairs map[string]string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		words = append(words, name+":"+pairs[name])
	}
	return strings.Join(words, ",")
}

// Quantities are those among words of a line.
func Quantities(words []string) map[string]int64 {
	out := map[string]int64{}
	for _, word := range words {
		kind, text, isPair := strings.Cut(word, "=")
		if !isPair || !IsKind(kind) || strings.HasPrefix(kind, tagged) || strings.HasPrefix(kind, unknown) || strings.HasPrefix(kind, attribute) {
			continue
		}
		if value, err := resources.ParseQuantity(kind, text); err == nil {
			out[kind] = value
		}
	}
	return out
}

// Less is words of a line in which quantities are less by others, and left out where nothing is left. It reports whether there was as much.
func Less(words []string, by map[string]int64) (less []string, ok bool) {
	is := Quantities(words)
	for _, word := range words {
		kind, _, _ := strings.Cut(word, "=")
		value, isQuantity := is[kind]
		switch value -= by[kind]; {
		case !isQuantity:
			less = append(less, word)
		case value < 0:
			return words, false
		case value > 0:
			less = append(less, kind+"="+quantity(kind, value))
		}
	}
	return less, true
}
