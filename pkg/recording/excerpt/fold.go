package excerpt

import (
	"cmp"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/shrink"
)

// fold leaves out allocations that only take up room: their node, and then also what queues may use, is smaller by as much.
func (r *reducer) fold(lines []line) []line {
	for _, limits := range []bool{false, true} {
		nodes := map[string]bool{}
		for _, l := range lines {
			if l.Verb == "node" {
				nodes[l.Words[0]] = true
			}
		}
		var running []int // or to run on the only node
		for i, l := range lines {
			if (l.Verb == "ask" || l.Verb == "foreign") && (l.argument("node") != "" || len(nodes) == 1) && !l.step {
				running = append(running, i)
			}
		}
		without := func(kept []int) []line {
			out := slices.Clone(lines)
			for _, i := range running {
				if _, stays := slices.BinarySearch(kept, i); !stays && !less(out, lines[i], limits) {
					return nil
				}
			}
			at := -1
			return slices.DeleteFunc(out, func(l line) bool {
				at++
				_, stays := slices.BinarySearch(kept, at)
				return !stays && slices.Contains(running, at)
			})
		}
		kept := shrink.Least(running, func(kept []int) bool {
			out := without(kept)
			return out != nil && r.holds(out)
		})
		if len(kept) < len(running) {
			r.smaller[limits] = true
		}
		lines = without(kept)
	}
	return lines
}

// less takes what an allocation uses from its node, and from what queues may use. It reports whether all of it was there.
func less(lines []line, of line, limits bool) bool {
	uses := scenario.Quantities(of.Words)
	for i, l := range lines {
		switch {
		case l.Verb == "node" && l.Words[0] == cmp.Or(of.argument("node"), l.Words[0]):
			words, ok := scenario.Less(l.Words, uses)
			if !ok {
				return false
			}
			lines[i].Words = words
		case limits && of.Verb == "ask" && l.Verb == "config":
			lines[i].Below = lessMax(l.Below, uses)
		}
	}
	return true
}

// lessMax is a configuration in which all queues may use less.
func lessMax(text []string, uses map[string]int64) []string {
	out := slices.Clone(text)
	depths, most := depthsOf(text), -1
	for i, l := range text {
		switch trimmed := strings.TrimSpace(l); {
		case most >= 0 && depths[i] == most+1:
			kind, value, _ := strings.Cut(trimmed, ": ")
			if words, ok := scenario.Less([]string{kind + "=" + strings.Trim(value, `"`)}, uses); ok && len(words) > 0 {
				_, value, _ = strings.Cut(words[0], "=")
				out[i] = strings.Repeat(" ", len(l)-len(strings.TrimLeft(l, " "))) + kind + `: "` + value + `"`
			}
		case trimmed == "max:":
			most = depths[i]
		default:
			most = -1
		}
	}
	return out
}
