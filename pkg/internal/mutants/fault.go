package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// A fault is one change of one line. Its identity is its name; line, start and end
// say where it is today.
type fault struct {
	file     string // from the top of the module, with slashes
	function string // with the receiver; nothing outside of functions
	operator string
	before   string // the line, without white space around it
	after    string // nothing if the line goes
	repeat   int    // counts faults of one function that are otherwise equal, from 1

	line       int
	start, end int // offsets in the file
	text       string
}

// name is the same as long as the function and the line are. It has the form of an
// entry of survivors.txt without its reason.
func (f fault) name() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", f.file, cmp.Or(f.function, "-"), f.operator)
	if f.repeat > 1 {
		fmt.Fprintf(&b, " #%d", f.repeat)
	}
	fmt.Fprintf(&b, "\n\t- %s", f.before)
	if f.after != "" {
		fmt.Fprintf(&b, "\n\t+ %s", f.after)
	}
	return b.String()
}

// short is the name in one line, for progress.
func (f fault) short() string {
	where := fmt.Sprintf("%s:%d %s: %s", f.file, f.line, f.operator, f.before)
	if f.after == "" {
		return where
	}
	return where + "  =>  " + f.after
}

// applied is the content of the file with the fault.
func (f fault) applied(content []byte) []byte {
	return slices.Concat(content[:f.start], []byte(f.text), content[f.end:])
}

// newFault makes the fault that replaces a part of a file, and reports whether the
// part is in one line and the fault changes it.
func newFault(content []byte, start, end int, text string) (fault, bool) {
	f := fault{start: start, end: end, text: text}
	old := content[start:end]
	if bytes.ContainsRune(old, '\n') || string(old) == text {
		return f, false
	}
	first := bytes.LastIndexByte(content[:start], '\n') + 1
	last := len(content)
	if i := bytes.IndexByte(content[end:], '\n'); i >= 0 {
		last = end + i
	}
	f.before = plain(string(content[first:last]))
	f.after = plain(string(content[first:start]) + text + string(content[end:last]))
	f.line = bytes.Count(content[:start], []byte{'\n'}) + 1
	return f, true
}

// plain is a line without white space around it and without a comment at its end, so
// that another comment is no other fault.
func plain(line string) string {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "// ") {
		return ""
	}
	line, _, _ = strings.Cut(line, " // ")
	return strings.TrimSpace(line)
}

// number tells faults apart that are otherwise equal.
func number(faults []fault) {
	seen := make(map[string]int)
	for i := range faults {
		faults[i].repeat = 1
		name := faults[i].name()
		seen[name]++
		faults[i].repeat = seen[name]
	}
}

// sample chooses at most count faults that are usable, by a seed, and returns them in
// the order in which they are given.
func sample(faults []fault, seed uint64, count int, usable func(fault) bool) []fault {
	ranks := make(map[string]uint64, len(faults))
	for _, f := range faults {
		ranks[f.name()] = rank(seed, f.name())
	}
	byRank := slices.Clone(faults)
	slices.SortStableFunc(byRank, func(a, b fault) int { return cmp.Compare(ranks[a.name()], ranks[b.name()]) })
	chosen := make(map[string]bool)
	for _, f := range byRank {
		if len(chosen) == count {
			break
		}
		if usable(f) {
			chosen[f.name()] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return !chosen[f.name()] })
}

func rank(seed uint64, name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	h.Write(binary.LittleEndian.AppendUint64(nil, seed))
	// The last bytes change only the low bits of the hash much: spread them.
	n := h.Sum64()
	n = (n ^ n>>32) * 0xd6e8feb86659fd93
	return n ^ n>>32
}
