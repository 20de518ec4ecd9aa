package core_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A naiveGangs is what the naive twin has for gangs by sorting: which asks wait for placeholders, and which ask
// takes the place of which placeholder next. Each ask in order has one placeholder, as long as there are any. It is for gangs of which no placeholder is on a node that drains, whose
// asks are never larger than their placeholders, and which the resource manager refuses nowhere.
type naiveGangs struct {
	held map[api.AllocationKey]bool              // asks that wait for a placeholder, or for the end of one
	next map[api.AllocationKey]api.AllocationKey // by the first ask of each group, the placeholder that it takes the place of
}

func (n naive) gangs() naiveGangs {
	g := naiveGangs{map[api.AllocationKey]bool{}, map[api.AllocationKey]api.AllocationKey{}}
	for _, app := range n.view.Applications {
		if app.Gang == nil {
			continue
		}
		taken := map[api.AllocationKey]bool{}
		for _, with := range app.Gang.Replacements {
			if with.Ask != "" {
				taken[with.Placeholder], taken[with.Ask] = true, true
				g.held[with.Ask] = true
			}
		}
		for _, group := range app.Gang.Groups {
			g.inGroup(app, group.Name, taken)
		}
	}
	return g
}

// inGroup looks at one task group, without the asks and placeholders that are taken.
func (g naiveGangs) inGroup(app *api.ApplicationView, name string, taken map[api.AllocationKey]bool) {
	var asks, free []*api.Allocation
	places := 0
	for _, ask := range app.Asks {
		switch {
		case ask.TaskGroup != name || taken[ask.Key]:
		case ask.Placeholder:
			places++
		default:
			asks = append(asks, ask.Allocation)
		}
	}
	for _, a := range app.Allocations {
		if a.TaskGroup == name && a.Placeholder && !taken[a.Key] {
			free = append(free, a)
		}
	}
	order := func(a, b *api.Allocation) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Created.Compare(b.Created))
	}
	slices.SortFunc(asks, order)
	slices.SortFunc(free, func(a, b *api.Allocation) int {
		return cmp.Or(-slices.Compare(a.Amounts, b.Amounts), order(a, b)) // the largest first
	})
	for _, ask := range asks[:min(len(asks), places+len(free))] {
		g.held[ask.Key] = true
	}
	if len(asks) > 0 && len(free) > 0 {
		g.next[asks[0].Key] = free[0].Key
	}
}

// replacements are the asks of a view that wait for the end of a placeholder, with that.
func replacements(v *api.View) map[api.AllocationKey]api.AllocationKey {
	out := map[api.AllocationKey]api.AllocationKey{}
	for _, app := range v.Applications {
		if app.Gang == nil {
			continue
		}
		for _, with := range app.Gang.Replacements {
			if with.Ask != "" {
				out[with.Ask] = with.Placeholder
			}
		}
	}
	return out
}

// compareReplacement compares one step of the partition with what the twin has for gangs: of which of them
// is not said. Nothing else is decided in the step.
func (n naive) compareReplacement(t *testing.T, after *api.View, want naiveGangs, when string) {
	t.Helper()
	before, found := replacements(n.view), 0
	for ask, placeholder := range replacements(after) {
		if before[ask] == placeholder {
			continue
		}
		found++
		assert.Equal(t, want.next[ask], placeholder, "%s: %s takes the place of %s, and the twin has %v", when, ask, placeholder, want.next)
	}
	assert.Equal(t, found, 1, "%s: %v", when, want.next)
}

// TestReplacesLikeTheNaiveTwin compares placements and replacements of random histories of gangs with
// what sorting and trying everything gives.
func TestReplacesLikeTheNaiveTwin(t *testing.T) {
	met := map[string]int{}
	for seed := range seeds.Of(t, 600) {
		h := &history{chance: rand.New(rand.NewPCG(seed, 91)), now: start, gangs: true}
		config := h.config()
		config.Preemption.Disabled = true
		h.p = core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1, BatchMax: 1}, config)
		h.populate()
		twin := naive{weights: map[resources.Kind]int64{0: 3, 1: 1}, packing: config.Nodes.Packing, met: met}
		for i := range 120 {
			when := fmt.Sprintf("seed %d, step %d", seed, i)
			h.memberStep(i)
			met["compared"] += twin.compare(t, h, when)
			if h.IntN(3) == 0 {
				h.endPlaceholder(t, met, when)
			}
		}
	}
	t.Logf("%v", met)
	assert.Assert(t, met["compared"] > seeds.Part(t, 4000) && met["replacements"] > seeds.Part(t, 400) && met["ran"] > seeds.Part(t, 300) && met["not held"] > seeds.Part(t, 200))
}

// memberStep applies a random command of those that the twin understands. What an ask is a member of is
// in its key.
func (h *history) memberStep(i int) {
	h.now = h.now.Add(time.Millisecond)
	c := h.command()
	switch c := c.(type) {
	case api.Reconfigure, api.DrainNode:
	case api.AddNode:
		c.Drained = false
		h.p.Apply(h.now, c)
	case api.AddApplication:
		c.Tags, c.GangTimeout, c.Forced = nil, time.Hour, false
		h.p.Apply(h.now, c)
	case api.ReleaseAllocation:
		c.Application, c.Key = h.member(c.Key)
		c.Termination = si.TerminationType_STOPPED_BY_RM
		h.p.Apply(h.now, c)
	case api.AddAllocation:
		h.makeMember(c.Allocation)
		c.Allocation.Created = h.now.Add(-time.Duration(h.IntN(5)) * time.Second).Add(time.Duration(i))
		h.p.Apply(h.now, c)
	default:
		h.p.Apply(h.now, c)
	}
}

// member is the application of a key, and the key as one of many.
func (h *history) member(key api.AllocationKey) (api.ApplicationID, api.AllocationKey) {
	number := 0
	_, _ = fmt.Sscanf(string(key), "k%d", &number)
	return api.ApplicationID(fmt.Sprint("app", number%4)), api.AllocationKey(fmt.Sprintf("k%d-%d", number, h.IntN(4)))
}

// makeMember has an own allocation be a placeholder or an ask of a task group, or of none.
func (h *history) makeMember(a *api.Allocation) {
	number := 0
	_, _ = fmt.Sscanf(string(a.Key), "k%d", &number)
	app, key := h.member(a.Key)
	a.Key, a.Required, a.TaskGroup, a.Placeholder = key, "", "", false
	if a.IsForeign() {
		a.Key = "foreign-" + key
		return
	}
	a.Application = app
	switch number / 4 {
	case 0:
		return
	case 1, 2, 3:
		size := int64(2 + key[len(key)-1]%2)
		a.Placeholder, a.Amounts = true, resources.Amounts{size, size}
	default:
		a.Amounts = resources.Amounts{int64(h.IntN(3)), int64(h.IntN(3))}
	}
	a.TaskGroup = fmt.Sprint("group", number/4%2)
}

// endPlaceholder says that placeholders have ended whose places asks take. Each ask runs there at once.
func (h *history) endPlaceholder(t *testing.T, met map[string]int, when string) {
	t.Helper()
	v := h.p.View()
	for _, app := range v.Applications {
		if app.Gang == nil {
			continue
		}
		for _, with := range app.Gang.Replacements {
			at := slices.IndexFunc(app.Allocations, func(a *api.Allocation) bool { return a.Key == with.Placeholder })
			node := app.Allocations[at].Node
			fx := h.p.Apply(h.now, api.ReleaseAllocation{Application: app.ID, Key: with.Placeholder, Termination: si.TerminationType_PLACEHOLDER_REPLACED})
			ran := slices.IndexFunc(fx, func(e api.Event) bool {
				placed, is := e.(api.Placed)
				return is && placed.Key == with.Ask && placed.Node == node
			})
			if with.Ask == "" {
				continue
			}
			assert.Assert(t, ran >= 0, "%s: %s does not run on %s: %v", when, with.Ask, node, fx)
			met["ran"]++
		}
	}
}
