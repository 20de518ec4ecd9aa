package excerpt

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/shrink"
)

// How many scenarios are played at most, and how many commands in all of them: a few minutes.
const (
	playsMax    = 10_000
	commandsMax = 20_000_000
)

// A reducer leaves out of a scenario what is not needed for what it shows.
type reducer struct {
	ctx      context.Context
	shows    showing
	progress Progress
	tried    map[uint64]bool // by their texts
	played   int
	commands int
	smaller  map[bool]bool // nodes; with what queues may use
}

// enough reports whether enough was played, or the time is over.
func (r *reducer) enough() bool {
	return r.played >= playsMax || r.commands >= commandsMax || r.ctx.Err() != nil
}

// try plays a scenario, and says whether it shows an outcome as it was, and at all.
func (r *reducer) try(lines []line, o outcome) (strict, loose bool, err error) {
	r.count(lines)
	return o.shown(written(lines))
}

func (r *reducer) count(lines []line) {
	r.played++
	r.commands += len(lines)
	if r.progress != nil {
		r.progress(r.played, len(lines))
	}
}

// holds reports whether a scenario shows what it is to show. When enough was played none does.
func (r *reducer) holds(lines []line) bool {
	text := written(lines)
	sum := xxhash.Sum64String(text)
	if is, known := r.tried[sum]; known {
		return is
	}
	if r.enough() {
		return false
	}
	r.count(lines)
	is := r.shows(text)
	r.tried[sum] = is
	return is
}

// written is a scenario of which nothing is known that comes out.
func written(lines []line) string {
	plain := make([]scenario.Line, len(lines))
	for i, l := range lines {
		plain[i] = l.Line
	}
	return scenario.Write(plain) + "----\n"
}

// reduce leaves out all that can be left out, the largest things first, until nothing can.
func (r *reducer) reduce(lines []line) []line {
	for {
		before := written(lines)
		lines = r.partly(lines, func(l line) string { return map[bool]string{true: "steps"}[l.step] })
		lines = r.partly(lines, applicationOfLine)
		lines = r.partly(lines, nodeOfLine)
		lines = r.least(lines, func(l line) bool { return l.step })
		lines = r.least(lines, func(line) bool { return true })
		for i := range lines {
			lines = r.below(lines, i)
		}
		lines = r.fold(r.words(lines))
		lines = r.round(lines)
		if r.enough() || written(lines) == before {
			return lines
		}
	}
}

// partly leaves out lines that belong to the same thing together. An empty name is of no thing.
func (r *reducer) partly(lines []line, thing func(line) string) []line {
	names := map[string]bool{}
	for _, l := range lines {
		if name := thing(l); name != "" {
			names[name] = true
		}
	}
	with := func(some []string) []line {
		kept := map[string]bool{"": true}
		for _, name := range some {
			kept[name] = true
		}
		return slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return !kept[thing(l)] })
	}
	return with(shrink.Least(slices.Sorted(maps.Keys(names)), func(some []string) bool { return r.holds(with(some)) }))
}

// argument is the value of an argument of a line, or empty.
func (l line) argument(key string) string {
	for _, word := range l.Words {
		if value, is := strings.CutPrefix(word, key+"="); is {
			return value
		}
	}
	return ""
}

func applicationOfLine(l line) string {
	if strings.HasSuffix(l.Verb, "application") {
		return l.Words[0]
	}
	return l.argument("application")
}

func nodeOfLine(l line) string {
	switch l.Verb {
	case "node", "update node", "drain", "undrain", "remove node":
		return l.Words[0]
	case "refuse":
		return l.Words[1]
	}
	return l.argument("node")
}

// least leaves out lines of some kind one by one.
func (r *reducer) least(lines []line, of func(line) bool) []line {
	var some []int
	for i, l := range lines {
		if of(l) {
			some = append(some, i)
		}
	}
	with := func(kept []int) []line {
		var out []line
		for i, l := range lines {
			if _, is := slices.BinarySearch(kept, i); is || !of(l) {
				out = append(out, l)
			}
		}
		return out
	}
	return with(shrink.Least(some, func(kept []int) bool { return r.holds(with(kept)) }))
}

// below leaves out of the text below a line, such as a configuration, with each line those that are indented below it, from the outermost in.
func (r *reducer) below(lines []line, at int) []line {
	with := func(text []string) []line {
		out := slices.Clone(lines)
		out[at].Below = text
		return out
	}
	for depth := 0; ; depth++ {
		text := lines[at].Below
		depths := depthsOf(text)
		var heads []int
		for i := range text {
			if depths[i] == depth {
				heads = append(heads, i)
			}
		}
		if len(heads) == 0 {
			return lines
		}
		without := func(kept []int) (rest []string) {
			goes := false
			for i := range text {
				if depths[i] <= depth {
					_, stays := slices.BinarySearch(kept, i)
					goes = depths[i] == depth && !stays
				}
				if !goes {
					rest = append(rest, text[i])
				}
			}
			return rest
		}
		lines = with(without(shrink.Least(heads, func(kept []int) bool { return r.holds(with(without(kept))) })))
	}
}

// depthsOf is how many lines each line of a text is indented below.
func depthsOf(text []string) []int {
	depths := make([]int, len(text))
	var indents []int
	for i, l := range text {
		indent := len(l) - len(strings.TrimLeft(l, " "))
		for len(indents) > 0 && indents[len(indents)-1] >= indent {
			indents = indents[:len(indents)-1]
		}
		depths[i] = len(indents)
		indents = append(indents, indent)
	}
	return depths
}

// named is how many words of a line are its name.
func (l line) named() int {
	if len(l.Words) == 0 || l.Verb == "config" {
		return 0
	}
	return 1
}

// words leaves out arguments.
func (r *reducer) words(lines []line) []line {
	type place struct{ line, word int }
	var all []place
	for i, l := range lines {
		for k := l.named(); k < len(l.Words); k++ {
			all = append(all, place{i, k})
		}
	}
	with := func(kept []place) []line {
		out := slices.Clone(lines)
		for i := range out {
			out[i].Words = slices.Clone(out[i].Words[:out[i].named()])
		}
		for _, p := range kept {
			out[p.line].Words = append(out[p.line].Words, lines[p.line].Words[p.word])
		}
		return out
	}
	return with(shrink.Least(all, func(kept []place) bool { return r.holds(with(kept)) }))
}

// round makes times whole minutes, or whole seconds.
func (r *reducer) round(lines []line) []line {
	for i, l := range lines {
		for k, word := range l.Words {
			key, text, isPair := strings.Cut(word, "=")
			if !isPair {
				key, text = "", word
			}
			d, err := time.ParseDuration(text)
			if err != nil || !isPair && l.Verb != "advance" {
				continue
			}
			for _, whole := range []time.Duration{d.Round(time.Minute), d.Round(time.Second), d.Truncate(time.Second), d.Truncate(time.Second) + time.Second} {
				out := slices.Clone(lines)
				out[i].Words = slices.Clone(l.Words)
				out[i].Words[k] = strings.TrimPrefix(key+"="+whole.String(), "=")
				if len(out[i].Words[k]) < len(word) && r.holds(out) {
					lines, l = out, out[i]
					break
				}
			}
		}
	}
	return lines
}
