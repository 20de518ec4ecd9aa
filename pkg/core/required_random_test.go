package core_test

import (
	"fmt"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
)

func (w *requiredWorld) text() string {
	text := fmt.Sprintf("node %v, quota %d, conflicts %v;", w.node, w.most, w.conflict)
	for _, a := range slices.Concat(w.pods, w.asks) {
		text += fmt.Sprintf(" %s %v p%d owner %t stays %t;", a.Key, a.Amounts, a.Priority, a.Originator, a.Preemptable.Stated && !a.Preemptable.AllowSelf)
	}
	return text + fmt.Sprint(" told ", w.toldFor, " placed ", w.placed)
}

func (w *requiredWorld) run() (asks []*api.Allocation) {
	for _, a := range w.asks {
		if w.placed[a.Key] {
			asks = append(asks, a)
		}
	}
	return asks
}

// sameLaw checks what holds whatever comes meanwhile: no victim is more important than the
// ask for which it ended, and that ask runs, unless a more important one came, which takes the room.
func (w *requiredWorld) sameLaw(t *testing.T, seed uint64) {
	for _, pod := range w.pods {
		for _, ask := range w.asks {
			if w.toldFor[pod.Key] == ask.Key {
				assert.Assert(t, pod.Priority <= ask.Priority, "seed %d: %s ended for %s: %s", seed, pod.Key, ask.Key, w.text())
				assert.Assert(t, w.placed[ask.Key] || w.came > ask.Priority, "seed %d: %s ended for %s in vain: %s", seed, pod.Key, ask.Key, w.text())
			}
		}
	}
}

// TestRequiredNodeAgainstBruteForce compares what is evicted for some asks of one node with
// all sets of victims that there are: none of the victims could have stayed, the first ask
// that can run does, and of equally important asks each one that fits beside those
// before it, at the least harm.
func TestRequiredNodeAgainstBruteForce(t *testing.T) {
	lists := [][]preemptor.Strategy{
		{preemptor.Minimal},
		{preemptor.Single, preemptor.Multiple, preemptor.Minimal},
		{preemptor.Multiple},
	}
	killing, together, exact := 0, 0, 0
	for seed := range seeds.Of(t, 6000) {
		strategies := lists[seed%3]
		w := newRequiredWorld(seed, strategies)
		w.play(t, 0)
		w.sameLaw(t, seed)
		told := map[api.AllocationKey]bool{}
		for _, key := range w.told {
			told[key] = true
		}
		run := w.run()
		assert.Assert(t, w.fit(run, told), "seed %d: %s", seed, w.text())
		for key := range told {
			delete(told, key)
			assert.Assert(t, !w.fit(run, told), "seed %d: %s could have stayed: %s", seed, key, w.text())
			told[key] = true
		}
		w.checkServed(t, seed)
		if w.equals() && len(strategies) == 1 && strategies[0] == preemptor.Minimal && len(w.conflict) == 0 {
			exact++
			least := w.leastHarm(run)
			assert.DeepEqual(t, w.harm(told), least)
		}
		if len(told) > 0 {
			killing++
			if len(run) > 1 {
				together++
			}
		}
	}
	t.Logf("%d with victims, %d of them for several asks, %d compared with the least harm", killing, together, exact)
	assert.Assert(t, killing > seeds.Part(t, 2000) && together > seeds.Part(t, 500) && exact > seeds.Part(t, 500))
}

// equals reports whether all asks are equally important, and all pods may be victims.
func (w *requiredWorld) equals() bool {
	return w.asks[0].Priority == w.asks[len(w.asks)-1].Priority
}

// checkServed checks which asks run. Of asks that are not equally important that is
// known of the first only, since it is not to choose more important victims for the
// sake of others.
func (w *requiredWorld) checkServed(t *testing.T, seed uint64) {
	var served []*api.Allocation
	for i, ask := range w.asks {
		sets := w.lawful(ask.Priority)
		asks := append(slices.Clone(served), ask)
		fits := slices.ContainsFunc(sets, func(set map[api.AllocationKey]bool) bool { return w.fit(asks, set) })
		if i == 0 || w.equals() {
			assert.Equal(t, w.placed[ask.Key], fits, "seed %d: %s: %s", seed, ask.Key, w.text())
		}
		if fits {
			served = asks
		}
	}
}

// leastHarm is the least harm of all sets without which some asks run.
func (w *requiredWorld) leastHarm(asks []*api.Allocation) (least [3]int) {
	found := false
	for _, set := range w.lawful(w.asks[0].Priority) {
		if harm := w.harm(set); w.fit(asks, set) && (!found || slices.Compare(harm[:], least[:]) < 0) {
			least, found = harm, true
		}
	}
	return least
}

// TestRequiredNodeAmongOthers has other asks come while victims end, of which some want the
// same quota: still nothing ends in vain.
func TestRequiredNodeAmongOthers(t *testing.T) {
	killing := 0
	for seed := range seeds.Of(t, 4000) {
		w := newRequiredWorld(seed, preemptor.DefaultConfig().Strategies)
		w.play(t, 3)
		w.sameLaw(t, seed)
		if len(w.told) > 0 {
			killing++
		}
	}
	assert.Assert(t, killing > seeds.Part(t, 1500), "%d with victims", killing)
}
