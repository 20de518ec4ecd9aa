package core_test

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/devices"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// naive decides like the partition, from a view, by sorting everything and
// trying everything.
type naive struct {
	view    *api.View
	weights map[resources.Kind]int64
	packing bool
	levels  []string        // where nodes are packed: of those that are alike, those of the fullest domain come first
	devices *devices.Policy // nil unless nodes are tried by their devices
	// price is the class of a node and what that costs; nil if nothing is scarce
	price func(api.NodeID, resources.Amounts) (class int, price int64)
	met   map[string]int // what was met of gangs; nil if there are none
}

// next is the first ask that fits, and its node; nil if none does.
func (n naive) next() (ask *api.Allocation, node api.NodeID) {
	held := n.gangs().held
	try := func(q *api.QueueView, candidate api.AskView) bool {
		if held[candidate.Key] {
			return false
		}
		headroom, _ := n.view.Headroom(q.Path)
		found := false
		if candidate.Amounts.Within(headroom) && n.limitsHold(candidate) {
			node, found = n.node(candidate.Amounts)
		}
		if found {
			ask = candidate.Allocation
		}
		return found
	}
	ask, node = nil, ""
	if !n.first(try, try) {
		return nil, ""
	}
	return ask, node
}

// A found ask is the first of a part of the backlog that can be tried, with its priority
// as that part sees it.
type found struct {
	queue    *api.QueueView
	ask      api.AskView
	priority int32
}

// first tries the first ask in order for which can is true, and reports whether there is
// one. Queues and applications come in the order of the highest ask that can be tried.
func (n naive) first(can, try func(*api.QueueView, api.AskView) bool) bool {
	capacity := make(resources.Limits, 3)
	for i := range capacity {
		capacity[i] = n.view.Capacity.Of(resources.Kind(i))
	}
	f := n.inQueue(n.view.Root, capacity, can)
	return f != nil && try(f.queue, f.ask)
}

func (n naive) inQueue(q *api.QueueView, above resources.Limits, can func(*api.QueueView, api.AskView) bool) *found {
	fairMax := overlaid(above, q.Max)
	if q.Leaf {
		return n.inLeaf(q, fairMax, can)
	}
	children := map[*api.QueueView]*found{}
	var list []*api.QueueView
	for _, child := range q.Queues {
		if f := n.inQueue(child, fairMax, can); f != nil {
			children[child], list = f, append(list, child)
			switch {
			case child.Properties.PriorityFence:
				f.priority = child.Properties.PriorityOffset
			default:
				f.priority += child.Properties.PriorityOffset
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	return children[slices.MinFunc(list, func(a, b *api.QueueView) int {
		priority := cmp.Compare(children[b].priority, children[a].priority)
		share := dominant(a.Used, a.Guaranteed, overlaid(fairMax, a.Max)).Cmp(dominant(b.Used, b.Guaranteed, overlaid(fairMax, b.Max)))
		if q.Properties.IgnorePriority {
			priority, share = share, priority
		}
		return cmp.Or(priority, share, strings.Compare(string(a.Path), string(b.Path)))
	})]
}

func (n naive) inLeaf(q *api.QueueView, fairMax resources.Limits, can func(*api.QueueView, api.AskView) bool) *found {
	asks := map[*api.ApplicationView]api.AskView{}
	apps := slices.DeleteFunc(n.applications(q), func(app *api.ApplicationView) bool {
		list := slices.DeleteFunc(slices.Clone(app.Asks), func(ask api.AskView) bool { return !can(q, ask) })
		if len(list) == 0 {
			return true
		}
		asks[app] = slices.MinFunc(list, func(a, b api.AskView) int {
			return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Created.Compare(b.Created))
		})
		return false
	})
	if len(apps) == 0 {
		return nil
	}
	first := slices.MinFunc(apps, func(a, b *api.ApplicationView) int {
		priority := cmp.Compare(asks[b].Priority, asks[a].Priority)
		age := a.Submitted.Compare(b.Submitted)
		first := age
		if q.Properties.ApplicationSort == api.Fair {
			first = dominant(a.Used, q.Guaranteed, fairMax).Cmp(dominant(b.Used, q.Guaranteed, fairMax))
		}
		if q.Properties.IgnorePriority {
			priority, first = first, priority
		}
		return cmp.Or(priority, first, age, strings.Compare(string(a.ID), string(b.ID)))
	})
	return &found{q, asks[first], asks[first].Priority}
}

func (n naive) applications(q *api.QueueView) (apps []*api.ApplicationView) {
	for _, app := range n.view.Applications {
		if app.Queue == q.Path && len(app.Asks) > 0 {
			apps = append(apps, app)
		}
	}
	return apps
}

// node is the best scored open node with room.
func (n naive) node(ask resources.Amounts) (api.NodeID, bool) {
	if n.devices != nil {
		return n.leastWaste(ask)
	}
	return n.best(func(node *api.NodeView) bool { return ask.FitsIn(node.Available) })
}

// best is the best scored open node of those that would do.
func (n naive) best(wouldDo func(*api.NodeView) bool) (api.NodeID, bool) {
	var best api.NodeID
	var bestScore *big.Int
	bestDomain, bestUse := "", int64(0)
	for _, node := range n.view.Nodes {
		if !node.Schedulable || len(node.Reservations) > 0 || !wouldDo(node) {
			continue
		}
		score := n.score(node)
		domain, use := n.domain(node)
		order := -1
		if bestScore != nil {
			order = cmp.Or(score.Cmp(bestScore), cmp.Compare(bestUse, use), strings.Compare(domain, bestDomain))
		}
		if order < 0 {
			best, bestScore, bestDomain, bestUse = node.ID, score, domain, use
		}
	}
	return best, bestScore != nil
}

// domain is the finest domain of a node, and what is used of its open nodes in the mean; more than all where there is none.
func (n naive) domain(of *api.NodeView) (path string, use int64) {
	pathOf := func(node *api.NodeView) (path string) {
		for _, key := range n.levels {
			if node.Attributes[key] == "" {
				break
			}
			path += "/" + node.Attributes[key]
		}
		return path
	}
	if path = pathOf(of); path == "" {
		return "", math.MaxInt64
	}
	open, sum := int64(0), new(big.Int)
	for _, node := range n.view.Nodes {
		if node.Schedulable && strings.HasPrefix(pathOf(node)+"/", path+"/") {
			open++
			sum.Sub(sum, n.score(node)) // which is turned round for packing
		}
	}
	return path, sum.Int64() / open
}

func (n naive) score(node *api.NodeView) *big.Int {
	sum, total := new(big.Int), int64(0)
	for kind, weight := range n.weights {
		capacity := node.Capacity.Of(kind)
		if capacity <= 0 {
			continue
		}
		used := min(max(capacity-node.Available.Of(kind), 0), capacity)
		part := new(big.Int).Div(new(big.Int).Lsh(big.NewInt(used), 28), big.NewInt(capacity))
		sum.Add(sum, part.Mul(part, big.NewInt(weight)))
		total += weight
	}
	if total == 0 {
		return sum
	}
	sum.Div(sum, big.NewInt(total))
	if n.packing {
		sum.Neg(sum)
	}
	return sum
}

func overlaid(above, own resources.Limits) resources.Limits {
	out := above.Clone()
	for i, v := range own {
		if v != resources.Unlimited {
			out.Set(resources.Kind(i), v)
		}
	}
	return out
}

func dominant(used, guaranteed resources.Amounts, fairMax resources.Limits) *big.Rat {
	most := new(big.Rat)
	for i, v := range used {
		whole := guaranteed.Of(resources.Kind(i))
		if whole <= 0 {
			whole = fairMax.Of(resources.Kind(i))
		}
		if v <= 0 || whole == resources.Unlimited {
			continue
		}
		share := big.NewRat(1, 1)
		if whole > 0 {
			share = big.NewRat(v, whole)
		}
		if share.Cmp(most) > 0 {
			most = share
		}
	}
	return most
}

// TestDecidesLikeTheNaiveTwin compares every placement of random histories with
// what sorting and trying everything gives.
func TestDecidesLikeTheNaiveTwin(t *testing.T) {
	compared := 0
	for seed := range seeds.Of(t, 900) {
		h := &history{chance: rand.New(rand.NewPCG(seed, 1)), now: start}
		config := h.config()
		config.Preemption.Disabled = true
		h.p = core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1, BatchMax: 1}, config)
		twin := naive{weights: map[resources.Kind]int64{0: 3, 1: 1}, packing: config.Nodes.Packing}
		for i := range 120 {
			h.plainStep(i)
			compared += twin.compare(t, h, fmt.Sprintf("seed %d, step %d", seed, i))
		}
	}
	t.Logf("%d placements compared", compared)
	assert.Assert(t, compared > seeds.Part(t, 4000))
}

// compare schedules until nothing is left to do, and compares each placement with that of
// the twin. It returns how many there were.
func (n naive) compare(t *testing.T, h *history, when string) (compared int) {
	t.Helper()
	for {
		n.view = h.p.View()
		ask, node := n.next()
		gangs := n.gangs()
		fx, more := h.p.Schedule(h.now)
		if len(gangs.next) > 0 {
			n.compareReplacement(t, h.p.View(), gangs, when)
			n.met["replacements"]++
			continue
		}
		placed := slices.IndexFunc(fx, func(e api.Event) bool { _, ok := e.(api.Placed); return ok })
		if ask == nil {
			assert.Equal(t, placed, -1, "%s: %v", when, fx)
			assert.Equal(t, more, false)
			return compared
		}
		assert.Assert(t, placed >= 0, "%s: %s fits on %s and was not placed", when, ask.Key, node)
		got := fx[placed].(api.Placed)
		assert.Equal(t, string(got.Key)+" on "+string(got.Node), string(ask.Key)+" on "+string(node), when)
		compared++
		if ask.TaskGroup != "" && !ask.Placeholder {
			n.met["not held"]++
		}
	}
}

// plainStep applies a random command of those that the twin understands: no
// required nodes, and no two asks of the same age.
func (h *history) plainStep(i int) {
	h.now = h.now.Add(time.Millisecond)
	c := h.command()
	switch c := c.(type) {
	case api.Reconfigure:
		return
	case api.ReleaseAllocation:
		c.Termination = si.TerminationType_STOPPED_BY_RM
		h.p.Apply(h.now, c)
		return
	case api.AddAllocation:
		c.Allocation.Required = ""
		c.Allocation.Key += api.AllocationKey(fmt.Sprint("-", h.IntN(4)))
		c.Allocation.Created = h.now.Add(-time.Duration(h.IntN(5)) * time.Second).Add(time.Duration(i))
	}
	h.p.Apply(h.now, c)
}
