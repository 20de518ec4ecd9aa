package core_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// A tortureClass are failures with the same cause. Most is in how many of the pinned worlds
// it shows, those that are played without TORTURE: more of them fail the test.
type tortureClass struct {
	law, cause, why string
	most            int
}

// tortureKnown are the classes of failures that are known, by a part of the trigger and
// the cause. There are none.
var tortureKnown = []tortureClass{}

// of reports whether a failure is of the class.
func (k *tortureClass) of(f tortureFailure) bool {
	return k.law == f.Law && strings.Contains(f.class(), k.cause)
}

// tortureReason is why a failure is known, or nothing.
func tortureReason(f tortureFailure) string {
	for _, k := range tortureKnown {
		if k.of(f) {
			return k.why
		}
	}
	return ""
}

// tortureShown is how many worlds of a class are reduced, to show the shortest.
const tortureShown = 3

// tortureSeeds is how many worlds of a class are named, to play them again.
const tortureSeeds = 20

// TestTorture plays random worlds and checks the laws by trying every set of victims.
// TORTURE="seed count" plays other worlds, and shows the known failures too.
func TestTorture(t *testing.T) {
	seed, count, all := uint64(1), 6000, false
	if text := os.Getenv("TORTURE"); text != "" {
		all = true
		if _, err := fmt.Sscan(text, &seed, &count); err != nil {
			t.Fatal("TORTURE is not a seed and a count: ", err)
		}
	}
	found := map[string][]uint64{} // seeds by class
	reasons := map[string]string{}
	told, waits, failed := 0, 0, 0
	counts := make([]int, len(tortureKnown))
	for s := range uint64(count) {
		failures, g := tortureFailures(newTortureWorld(seed+s), nil)
		told += min(1, len(g.evictions))
		waits += min(1, len(g.waits))
		failed += min(1, len(failures))
		for i := range tortureKnown {
			if slices.ContainsFunc(failures, tortureKnown[i].of) {
				counts[i]++
			}
		}
		for _, f := range failures {
			reasons[f.class()] = tortureReason(f)
			if list := found[f.class()]; len(list) == 0 || list[len(list)-1] != seed+s {
				found[f.class()] = append(list, seed+s)
			}
		}
	}
	t.Logf("%d worlds: room is made in %d, an ask waits at the end of %d, a law is broken in %d", count, told, waits, failed)
	if count > 1000 && (told < count/5 || waits < count/5) {
		t.Error("the worlds are too easy or too hard to show anything")
	}
	for i, k := range tortureKnown {
		if !all && counts[i] > k.most {
			t.Errorf("%d of %d worlds, known were %d: %s, %s", counts[i], count, k.most, k.law, k.cause)
		}
	}
	classes := slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(found[b]), len(found[a])), strings.Compare(a, b))
	})
	for _, class := range classes {
		why := reasons[class]
		text := fmt.Sprintf("%d of %d worlds: %s, seeds %v", len(found[class]), count, class, found[class][:min(len(found[class]), tortureSeeds)])
		switch {
		case why == "":
			t.Error(text + tortureReproduction(found[class], class))
		case all:
			t.Log(text + ", known: " + why + tortureReproduction(found[class], class))
		default:
			t.Log(text + ", known: " + why)
		}
	}
}

// tortureReproduction is the shortest of some failing worlds as commands, and what
// comes of them.
func tortureReproduction(seeds []uint64, class string) string {
	var shortest *tortureWorld
	var from uint64
	for _, s := range seeds[:min(len(seeds), tortureShown)] {
		if w := reduceTorture(newTortureWorld(s), class); shortest == nil || w.size() < shortest.size() {
			shortest, from = w, s
		}
	}
	failures, g := tortureFailures(shortest, nil)
	text := fmt.Sprintf(" (seed %d)\n%s# then, with evictions confirmed:\n# %s\n", from, shortest.text(), strings.Join(g.log, "\n# "))
	for _, f := range failures {
		text += fmt.Sprintf("# %s: %s, %v, %s, %s\n", f.Law, f.Ask, f.Trigger, f.Cause, f.Detail)
	}
	return text
}
