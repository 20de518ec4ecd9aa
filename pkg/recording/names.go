package recording

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Names are what stands for each name in a recording that is sent on. A name is replaced word by word: a word is letters, digits and what is
// not ASCII, and _, and what stands between words stays. What stands for words is in their order, so that where names decide an order the
// same is decided, and a word has the same everywhere, so that a path is still made of the names of queues. Well-known words stay, and the
// names of resource kinds.
type names struct {
	kept map[string]bool
	is   map[string]string // for each word, once all are known
	// Users and groups, for rules of placement.
	users, groups map[string]bool
}

// wellKnown are names with a meaning, and the words of which the core makes others. All their words stay.
const wellKnown = `root default recovery beside quorum kept name least priority preempts unit index done require prefer subgroup each endbelow all
true false whole owner succeeded yunikorn.apache.org/allow-preemption qosClass BestEffort Burstable Guaranteed terminationGracePeriodSeconds
terminating nominatedNodeName nodeSelector kubernetes.io/label kubernetes.io/meta/podName namespace gang.start si/taint creationTime
application.sort.policy priority.policy priority.offset preemption.policy preemption.delay quota.preemption.delay fifo fair fence disabled`

// amountsIn are the tags and properties whose values are amounts, times or choices, which stay.
var amountsIn = map[string]bool{
	"quorum.least": true, "quorum.priority": true, "quorum.preempts": true, "quorum.unit": true, "quorum.done": true,
	"quorum.subgroup.least": true, "quorum.endbelow": true, "terminationGracePeriodSeconds": true, "terminating": true, "creationTime": true,
	"qosClass": true, "owner": true, "gang.start": true, "application.sort.policy": true, "application.sort.priority": true, "priority.policy": true,
	"priority.offset": true, "preemption.policy": true, "preemption.delay": true, "quota.preemption.delay": true,
}

func newNames() *names {
	n := &names{kept: map[string]bool{}, is: map[string]string{}, users: map[string]bool{}, groups: map[string]bool{}}
	n.keep(wellKnown)
	return n
}

// isWord reports whether a byte is one of a word.
func isWord(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b >= 0x80
}

// words gives each word of a text, and what stands before it.
func words(text string, each func(between, word string)) (rest string) {
	const dot = "_dot_" // as placement by users and tags writes a dot
	for begin := 0; ; {
		end := begin
		for end < len(text) && (!isWord(text[end]) || strings.HasPrefix(text[end:], dot)) {
			if end++; isWord(text[end-1]) {
				end += len(dot) - 1
			}
		}
		start := end
		for end < len(text) && isWord(text[end]) && !strings.HasPrefix(text[end:], dot) {
			end++
		}
		if start == end {
			return text[begin:]
		}
		each(text[begin:start], text[start:end])
		begin = end
	}
}

// keep has all words of a text stay.
func (n *names) keep(text string) {
	words(text, func(_, word string) { n.kept[word] = true })
}

// learn takes the words of a text in.
func (n *names) learn(text string) {
	words(text, func(_, word string) { n.is[word] = "" })
}

// of is a text with other words.
func (n *names) of(text string) string {
	var out strings.Builder
	rest := words(text, func(between, word string) {
		out.WriteString(between)
		is := n.is[word]
		if n.kept[word] {
			is = word
		}
		out.WriteString(is)
	})
	out.WriteString(rest)
	return out.String()
}

// fences keep the words of one kind of letters together, as what stands for a name in lower case must be in lower case.
var fences = []string{"A", "_", "a"}

// give decides what stands for each word.
func (n *names) give() error {
	all := slices.SortedFunc(maps.Keys(n.is), cmp.Compare[string])
	bounds := slices.Concat(slices.Collect(maps.Keys(n.kept)), fences)
	slices.Sort(bounds)
	for len(all) > 0 {
		at, isKept := slices.BinarySearch(bounds, all[0])
		if isKept && n.kept[all[0]] {
			n.is[all[0]] = all[0]
			all = all[1:]
			continue
		}
		if isKept {
			at++ // a fence stands for the first word after it
		}
		below, above := "", ""
		if at > 0 {
			below = bounds[at-1]
		}
		count := len(all)
		if at < len(bounds) {
			above = bounds[at]
			count, _ = slices.BinarySearch(all, above)
		}
		begin, ok := between(below, above)
		if !ok {
			return fmt.Errorf("no name is left between the words %q and %q, which stay", below, above)
		}
		digits := len(strconv.Itoa(count - 1))
		for i, word := range all[:count] {
			n.is[word] = fmt.Sprintf("%s%0*d", begin, digits, i)
		}
		all = all[count:]
	}
	return nil
}

// between is how words can begin that stand after one and before another, whatever follows; empty is the end.
func between(below, above string) (string, bool) {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
	for length := 0; length <= len(below)+1; length++ {
		begin := below[:min(length, len(below))]
		for _, letter := range letters {
			if s := begin + string(letter); (s > below && !strings.HasPrefix(below, s)) && (above == "" || s < above && !strings.HasPrefix(above, s)) {
				return s, true
			}
		}
	}
	return "", false
}
