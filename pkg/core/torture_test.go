package core_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// A tortureClass are failures with the same cause.
type tortureClass struct{ law, cause, why string }

// tortureKnown are the classes of failures that are known, by a part of the trigger and
// the cause. The list is to become empty.
var tortureKnown = []tortureClass{
	{lawFeasible, "needs a candidate beside it", "all candidates are removed first, and what the ask needs is one; the design leaves this out"},
	{lawFeasible, "a kind that is configured nowhere is short", "no queue below the one that is over its max has a claim to such a kind"},
	{lawFeasible, "it is not tried again", "an equal ask that is refused stands for all of them"},
	{lawFeasible, "victims hold the quota of an ask that requires the node", "quota is looked at without the victims"},
	{lawLeast, "is enough", "other victims on the node would do; seen where a pod hangs or agents of several priorities meet"},
	{lawRest, "among equal priorities", "equals preempt each other in turns until the loop guard stops them for a while"},
	{lawVictim, "an eviction does not end", "what is overdue counts as staying, so that its queue is below its guarantee when it ends after all"},
	{lawOrder, "/priority/by an ordinary ask", "quota is kept for an ask whose victims end, though a more important one that preempts nothing waits for it"},
	{lawOrder, "required node/by an ordinary ask", "an ask that requires a node waits for quota while an ordinary one takes it"},
	{lawOrder, "by an ask that requires a node", "asks that require nodes are tried by node, and without offsets and fences"},
	{lawPlacement, "the resource manager refuses", "a victim is what the ask needs, or a victim of another ask is"},
	{lawPlacement, "is tried too late", "a less important ask is nominated before a more important one in the same call"},
	{lawPlacement, "for which room was made too", "an ask takes room that was made for another, and its own victims end for nothing"},
	{lawPlacement, "for which none could be made", "a more important ask takes room that was made for another"},
	{lawPlacement, "an ask with a required node has the room", "the delay of a more important agent ends after that of another"},
	{lawPlacement, "not more important has the room", "of several agents a more important one takes the room of one, which takes that of the next"},
}

// tortureReason is why a failure is known, or nothing.
func tortureReason(f tortureFailure) string {
	for _, k := range tortureKnown {
		if k.law == f.Law && strings.Contains(f.class(), k.cause) {
			return k.why
		}
	}
	return ""
}

// tortureShown is how many worlds of a class are reduced, to show the shortest.
const tortureShown = 3

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
	for s := range uint64(count) {
		failures, g := tortureFailures(newTortureWorld(seed+s), nil)
		told += min(1, len(g.evictions))
		if count := g.p.View().Preempted.Wasted.By(core.OtherCause); count > 0 {
			t.Errorf("seed %d: %d victims were wasted, and it is not known why", seed+s, count)
		}
		waits += min(1, len(g.waits))
		failed += min(1, len(failures))
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
	classes := slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(found[b]), len(found[a])), strings.Compare(a, b))
	})
	for _, class := range classes {
		why := reasons[class]
		text := fmt.Sprintf("%d of %d worlds: %s", len(found[class]), count, class)
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
