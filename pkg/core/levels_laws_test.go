package core_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A domainWorld is a small cluster with levels, in which groups require domains. Its laws are checked by looking at views only:
//
//	one domain: members run in one domain of the level, as long as labels stay
//	no miss: no group waits that has room in some domain, or anywhere; of asks of several sizes, very few do
//	best fit: no other domain with room comes before the one that a group starts in
//	tight inside: members run in as few of the domains below as can be
//	same input, same place: what a restart knows decides the same
type domainWorld struct {
	*rand.Rand
	t      *testing.T
	p      *core.Partition
	now    time.Time
	twin   naive
	lists  [][]string
	groups []*domainGroup
	asked  int
	seen   map[string]int
}

// A domainGroup is what is known of a group. Members have the size of the group, or, if there are several sizes, one of two.
type domainGroup struct {
	name, require string
	least         int
	several       bool
	strays        bool // labels of nodes changed while it ran
}

var domainLists = [][]string{{"zone", "block", "rack"}, {"power"}}

func newDomainWorld(t *testing.T, seed uint64, seen map[string]int) *domainWorld {
	w := &domainWorld{Rand: rand.New(rand.NewPCG(seed, 17)), t: t, now: start, lists: domainLists, seen: seen}
	config := api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "default"}}}, Levels: w.lists}
	config.Nodes.Packing = w.IntN(2) == 0
	config.Preemption.Disabled = true
	w.twin = naive{weights: map[resources.Kind]int64{0: 1, 1: 1}, packing: config.Nodes.Packing}
	w.p = core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1, BatchMax: 1}, config)
	w.p.Apply(w.now, api.AddApplication{ID: "app"})
	for i := range 4 + w.IntN(9) {
		w.p.Apply(w.now, api.AddNode{ID: api.NodeID(fmt.Sprintf("n%02d", i)), Attributes: w.labels(), Capacity: resources.Amounts{int64(1 + w.IntN(6)), 100}})
	}
	for i := range 1 + w.IntN(4) {
		w.groups = append(w.groups, &domainGroup{
			name: fmt.Sprint("g", i), least: 1 + w.IntN(5), several: w.IntN(4) == 0,
			require: []string{"zone", "block", "rack", "rack", "power", "row", ""}[w.IntN(7)],
		})
	}
	return w
}

func (w *domainWorld) labels() map[string]string {
	labels := map[string]string{}
	for _, key := range []string{"zone", "block", "rack", "power", "row"} {
		if w.IntN(8) > 0 {
			labels[key] = fmt.Sprint(key[:1], w.IntN(2))
		}
	}
	return labels
}

// step asks for a member or a single pod, ends something, or changes a node.
func (w *domainWorld) step() {
	view := w.p.View()
	switch one := w.IntN(14); {
	case one < 6:
		w.ask(w.groups[w.IntN(len(w.groups))])
	case one < 8:
		w.ask(&domainGroup{})
	case one < 12:
		for _, n := range view.Nodes {
			if len(n.Allocations) > 0 && w.IntN(4) == 0 {
				w.p.Apply(w.now, api.ReleaseAllocation{Application: "app", Key: n.Allocations[w.IntN(len(n.Allocations))].Key})
				return
			}
		}
	case one == 12:
		n := view.Nodes[w.IntN(len(view.Nodes))]
		w.p.Apply(w.now, api.UpdateNode{ID: n.ID, Attributes: w.labels()})
		for _, g := range w.groups {
			g.strays = g.strays || slices.ContainsFunc(n.Allocations, func(a *api.Allocation) bool { return a.Tags[api.TagQuorum] == g.name })
		}
	default:
		n := view.Nodes[w.IntN(len(view.Nodes))]
		if n.Schedulable {
			w.p.Apply(w.now, api.DrainNode{ID: n.ID})
		} else {
			w.p.Apply(w.now, api.UndrainNode{ID: n.ID})
		}
	}
}

func (w *domainWorld) ask(g *domainGroup) {
	w.asked++
	size := int64(1 + len(g.name)%2)
	if g.several || g.name == "" {
		size = int64(1 + w.IntN(3))
	}
	a := &api.Allocation{Key: api.AllocationKey(fmt.Sprintf("a%03d", w.asked)), Application: "app", Amounts: resources.Amounts{size, 1}, Created: w.now}
	if g.name != "" {
		a.Tags = quorumTags(g.name, g.least)
		a.Tags[api.TagQuorumRequire] = g.require
	}
	w.p.Apply(w.now, api.AddAllocation{Allocation: a})
}

// path is the domain of a level that a node is in, by its values; empty if it is in none.
func (w *domainWorld) path(n *api.NodeView, key string) string {
	keys := []string{key}
	for _, list := range w.lists {
		if at := slices.Index(list, key); at >= 0 {
			keys = list[:at+1]
		}
	}
	path := ""
	for _, key := range keys {
		if n.Attributes[key] == "" {
			return ""
		}
		path += "/" + n.Attributes[key]
	}
	return path
}

// members are those of a group that wait, and the domains of its level in which others run, each once.
func (w *domainWorld) members(v *api.View, g *domainGroup) (asks []*api.Allocation, runs int, in []string) {
	for _, app := range v.Applications {
		for _, a := range app.Asks {
			if a.Tags[api.TagQuorum] == g.name {
				asks = append(asks, a.Allocation)
			}
		}
	}
	at := map[string]bool{}
	for _, n := range v.Nodes {
		for _, a := range n.Allocations {
			if a.Tags[api.TagQuorum] == g.name {
				runs++
				at[w.path(n, g.require)] = true
			}
		}
	}
	return asks, runs, slices.Sorted(maps.Keys(at))
}

// slots is how many asks of a size fit on each of some nodes.
func slots(n *api.NodeView, size int64) int {
	if !n.Schedulable {
		return 0
	}
	return int(n.Available.Of(0) / size)
}

// A domainFit is a domain as the best fit sees it.
type domainFit struct {
	path       string
	nodes      []*api.NodeView
	holds      int
	busy       bool
	left       int
	parentUsed int64
}

// fits are the domains of the level of a group with room for its minimum, the best first.
func (w *domainWorld) fits(v *api.View, g *domainGroup, asks []*api.Allocation, need int) []domainFit {
	size := asks[0].Amounts.Of(0)
	by := map[string]*domainFit{}
	for _, n := range v.Nodes {
		path := w.path(n, g.require)
		switch {
		case g.require == "":
			path = "/anywhere"
		case path == "":
			continue
		}
		if by[path] == nil {
			by[path] = &domainFit{path: path}
		}
		f := by[path]
		f.nodes = append(f.nodes, n)
		f.left += slots(n, size)
		f.busy = f.busy || len(n.Allocations) > 0
	}
	var out []domainFit
	for path, f := range by {
		f.holds = min(f.left, len(asks))
		f.left -= f.holds
		f.parentUsed = w.used(v, path[:strings.LastIndex(path, "/")])
		if f.holds >= need {
			out = append(out, *f)
		}
	}
	slices.SortFunc(out, func(a, b domainFit) int {
		busy := 0
		if a.busy != b.busy {
			busy = map[bool]int{true: -1, false: 1}[a.busy]
		}
		return cmp.Or(cmp.Compare(b.holds, a.holds), busy, cmp.Compare(a.left, b.left), cmp.Compare(b.parentUsed, a.parentUsed), cmp.Compare(a.path, b.path))
	})
	return out
}

// used is what is used of the open nodes of a domain of the first list, in the mean.
func (w *domainWorld) used(v *api.View, path string) int64 {
	w.twin.view = v
	level := strings.Count(path, "/") - 1
	if level < 0 {
		return 0
	}
	open, sum := int64(0), int64(0)
	for _, n := range v.Nodes {
		if n.Schedulable && w.path(n, w.lists[0][level]) == path {
			open++
			if score := w.twin.score(n).Int64(); w.twin.packing {
				sum -= score
			} else {
				sum += score
			}
		}
	}
	return sum / max(open, 1)
}

// play schedules until nothing is left to do, and checks each placement.
func (w *domainWorld) play(when string) {
	for more := true; more; {
		before := w.p.View()
		restored := core.Restore(api.Options{Kinds: w.p.Kinds, ReserveDelay: -1, BatchMax: 1}, w.now, before)
		var fx api.Effects
		fx, more = w.p.Schedule(w.now)
		assert.NilError(w.t, w.p.Verify(), when)
		placed := map[api.AllocationKey]api.NodeID{}
		var name string
		for _, e := range fx {
			if one, is := e.(api.Placed); is {
				placed[one.Key], name = one.Node, one.Tags[api.TagQuorum]
			}
		}
		if len(placed) == 0 {
			continue
		}
		more = true
		if at := slices.IndexFunc(w.groups, func(g *domainGroup) bool { return g.name == name && g.require != "" }); at >= 0 {
			w.placed(before, w.groups[at], placed, when)
			w.sameAfterRestart(restored, placed, when)
		}
	}
}

// placed checks the placements of a group, against what was before.
func (w *domainWorld) placed(before *api.View, g *domainGroup, placed map[api.AllocationKey]api.NodeID, when string) {
	asks, runs, in := w.members(before, g)
	need := max(g.least-runs, 1)
	assert.Equal(w.t, len(placed), need, "%s: %s", when, g.name)
	domains := map[string]bool{}
	for _, n := range before.Nodes {
		if slices.Contains(slices.Collect(maps.Values(placed)), n.ID) {
			domains[w.path(n, g.require)] = true
		}
	}
	assert.Equal(w.t, len(domains), 1, "%s: %s is in %v", when, g.name, domains)
	assert.Assert(w.t, !domains[""], "%s: %s is in no domain", when, g.name)
	if runs > 0 {
		w.seen["more start"]++
		assert.Assert(w.t, len(in) == 1 && domains[in[0]], "%s: %s runs in %v, and more of it in %v", when, g.name, in, domains)
		return
	}
	w.seen["starts"]++
	if fits := w.fits(before, g, asks, need); !g.several {
		assert.Assert(w.t, domains[fits[0].path], "%s: %s starts in %v, and best is %+v", when, g.name, domains, fits[0])
		w.tight(g, fits[0], asks[0].Amounts.Of(0), placed, when)
		if len(fits) > 1 {
			w.seen["chooses"]++
		}
	}
}

// tight checks that members run in as few of the domains below theirs as they can.
func (w *domainWorld) tight(g *domainGroup, in domainFit, size int64, placed map[api.AllocationKey]api.NodeID, when string) {
	at := slices.Index(w.lists[0], g.require)
	if at < 0 || at+1 == len(w.lists[0]) {
		return
	}
	room, used := map[string]int{}, map[string]bool{}
	for _, n := range in.nodes {
		path := w.path(n, w.lists[0][at+1])
		if room[path] += slots(n, size); slices.Contains(slices.Collect(maps.Values(placed)), n.ID) {
			used[path] = true
		}
	}
	if used[""] || room[""] > 0 {
		return // nodes of no domain below come last, and may have to
	}
	least, left := 0, len(placed)
	for _, slots := range slices.Backward(slices.Sorted(maps.Values(room))) {
		if left > 0 {
			least, left = least+1, left-slots
		}
	}
	w.seen["inside"]++
	assert.Equal(w.t, len(used), least, "%s: %s takes %v of %v", when, g.name, used, room)
}

// sameAfterRestart checks that a partition with what a view shows places the same.
func (w *domainWorld) sameAfterRestart(p *core.Partition, placed map[api.AllocationKey]api.NodeID, when string) {
	again := map[api.AllocationKey]api.NodeID{}
	for more := true; more && len(again) == 0; {
		var fx api.Effects
		fx, more = p.Schedule(w.now)
		for _, e := range fx {
			if one, is := e.(api.Placed); is {
				again[one.Key] = one.Node
			}
		}
	}
	assert.DeepEqual(w.t, again, placed)
}

// rest checks that no group waits that could start.
func (w *domainWorld) rest(when string) {
	v := w.p.View()
	for _, g := range w.groups {
		asks, runs, in := w.members(v, g)
		need := max(g.least-runs, 1)
		if len(asks) < need || g.require != "" && (len(in) > 1 || len(in) == 1 && in[0] == "") {
			continue
		}
		w.seen["waits"]++
		for _, f := range w.fits(v, g, asks, 0) {
			if g.require != "" && len(in) == 1 && f.path != in[0] {
				continue
			}
			switch {
			case !g.several:
				assert.Assert(w.t, f.holds < need, "%s: %s waits for %d, and %s has room for %d", when, g.name, need, f.path, f.holds)
			case packs(f.nodes, asks, need):
				w.seen["misses"]++
			}
		}
	}
}

// packs tries every way to place so many of some asks.
func packs(nodes []*api.NodeView, asks []*api.Allocation, need int) bool {
	free := make([]int64, len(nodes))
	for i, n := range nodes {
		if n.Schedulable {
			free[i] = n.Available.Of(0)
		}
	}
	var try func(from, need int) bool
	try = func(from, need int) bool {
		if need == 0 {
			return true
		}
		for at := from; at < len(asks) && len(asks)-at >= need; at++ {
			for i := range free {
				if size := asks[at].Amounts.Of(0); size <= free[i] {
					free[i] -= size
					if try(at+1, need-1) {
						return true
					}
					free[i] += size
				}
			}
		}
		return false
	}
	return try(0, need)
}

// TestDomainsOfGroups plays random small worlds against the laws of domains.
func TestDomainsOfGroups(t *testing.T) {
	seen := map[string]int{}
	for seed := range seeds.Of(t, 500) {
		w := newDomainWorld(t, seed, seen)
		for i := range 40 {
			when := fmt.Sprintf("seed %d, step %d", seed, i)
			w.step()
			w.play(when)
			w.now = w.now.Add(3 * time.Second) // groups are tried again
			w.play(when)
			w.rest(when)
		}
	}
	t.Log(seen)
	for _, what := range []string{"starts", "more start", "chooses", "inside", "waits"} {
		assert.Assert(t, seen[what] > seeds.Part(t, 100), "%s: %v", what, seen)
	}
	assert.Assert(t, seen["misses"]*500 < seen["waits"], "%v", seen)
}
