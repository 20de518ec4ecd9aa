package explain_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestTheReasonsAreWhole plays random clusters: every node is in exactly one
// group, and an ask for which a node has room and every queue has quota does not
// wait.
func TestTheReasonsAreWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	var met [explain.HasRoom + 1]int
	tried := 0
	for seed := range uint64(70) {
		chance := rand.New(rand.NewPCG(seed, 3))
		config := api.Config{Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{
			{Name: "a", Max: resources.Limits{int64(4 + chance.IntN(30))}}, {Name: "b"},
		}}}
		options := api.Options{ReserveDelay: time.Second}
		if seed%4 == 0 {
			options.Feasible = func(key api.AllocationKey, node api.NodeID, _ bool) error {
				if (len(key)+int(key[2])+int(node[1]))%2 == 0 {
					return fmt.Errorf("taint %d", node[1]%3)
				}
				return nil
			}
		}
		c := newCluster(t, config, options)
		level := []string{"", "rack"}[seed%2] // in one of which a group must run
		for i := range 6 {
			c.Apply(start, api.AddNode{
				ID: api.NodeID(fmt.Sprintf("n%d", i)), Attributes: map[string]string{"rack": []string{"", "r1", "r2"}[i%3]},
				Capacity: resources.Amounts{int64(chance.IntN(9)), int64(2 + chance.IntN(8))},
			})
		}
		if seed%3 == 0 {
			for _, key := range []string{"t-1", "t-2"} {
				c.ask("b", key, 2, 0, func(a *api.Allocation) {
					a.Priority, a.Tags = 2, map[string]string{api.TagQuorum: "train", api.TagQuorumLeast: "2", api.TagQuorumRequire: level}
				})
			}
			c.settle(start)
		}
		for i := range 30 {
			if seed%3 == 0 && i == 1 {
				c.Apply(start.Add(time.Second), api.ReleaseAllocation{Application: "b", Key: "t-1"})
				c.settle(start.Add(time.Second))
				if level != "" {
					c.ask("b", "t-3", 2, 1, func(a *api.Allocation) {
						a.Tags = map[string]string{api.TagQuorum: "train", api.TagQuorumLeast: "2"}
					})
				}
			}
			c.ask([]string{"a", "b"}[chance.IntN(2)], fmt.Sprintf("k%02d", i), int64(1+chance.IntN(4)), int64(chance.IntN(4)), func(a *api.Allocation) {
				a.Created = start.Add(time.Duration(i) * time.Second)
				a.Priority = int32(chance.IntN(3))
				if chance.IntN(8) == 0 {
					a.Required = api.NodeID(fmt.Sprintf("n%d", chance.IntN(6)))
				}
			})
			if chance.IntN(6) == 0 {
				c.Apply(start, api.DrainNode{ID: api.NodeID(fmt.Sprintf("n%d", chance.IntN(6)))})
			}
			if chance.IntN(3) == 0 {
				c.settle(start.Add(time.Duration(i) * time.Second))
			}
		}
		c.settle(start.Add(time.Minute))
		c.check(t, seed, met[:])
		tried += c.checkRemedies(t, seed, options.Feasible)
	}
	assert.Assert(t, tried > 300, "%d remedies", tried)
	for why, count := range met[:explain.HasRoom] {
		assert.Assert(t, count > 0, "no ask waits because a node %s", explain.Why(why))
	}
}

func (c *cluster) check(t *testing.T, seed uint64, met []int) {
	t.Helper()
	view := c.View()
	for _, app := range view.Applications {
		for _, ask := range app.Asks {
			a, err := explain.Ask(view, c.kinds, app.ID, ask.Key)
			assert.NilError(t, err)
			nodes, room := 0, false
			for _, g := range a.Nodes {
				nodes += g.Nodes
				met[g.Why] += g.Nodes
				room = room || g.Why == explain.HasRoom
			}
			assert.Equal(t, nodes, len(view.Nodes))
			for _, l := range a.Quota {
				room = room && l.Lacking.IsZero()
			}
			assert.Assert(t, !room, "seed %d: %s", seed, a.Text())
		}
	}
}

var (
	moreOn = regexp.MustCompile("^(.*) more becomes free on (n[0-9])$")
	openOn = regexp.MustCompile("^node (n[0-9]) takes new allocations again$")
	keptOn = regexp.MustCompile("^(k[0-9]+), for which node n[0-9] is kept, no longer waits$")
	added  = regexp.MustCompile("^a node is added with .* free( and the resource manager, which was not asked, accepts it there)?$|^node n[0-9] goes and |^the resource manager accepts it on ")
	raised = regexp.MustCompile("^queue root.([ab]) uses (.*) less, or its max is raised by that$|^the max of queue root.([ab]) is raised by (.*)$")
)

// checkRemedies does what would make each ask run, one remedy after the other, and sees it
// placed where all waits that waits now. It returns how many remedies there were.
func (c *cluster) checkRemedies(t *testing.T, seed uint64, feasible api.Feasible) (tried int) {
	t.Helper()
	trial := explain.Trial{Now: start.Add(time.Minute), Free: feasible == nil}
	if feasible != nil {
		trial.MayRun = func(ask api.AllocationKey, node api.NodeID) (bool, error) { return true, feasible(ask, node, true) }
	}
	view := c.View()
	for _, app := range view.Applications {
		for _, ask := range app.Asks {
			a, err := explain.Ask(view, c.kinds, app.ID, ask.Key)
			assert.NilError(t, err)
			a.Try(t.Context(), trial)
			if feasible == nil && a.Reason == api.NoNodeFits && len(a.Moves) == 0 && a.Remedies.Remains == "" && a.Remedies.Ahead == 0 {
				assert.Equal(t, oneMove(view, &ask), "", "seed %d: %s", seed, a.Text())
			}
			for _, remedy := range a.Remedies.Nodes {
				placed, others, done := c.played(t, feasible, a, remedy)
				assert.Assert(t, !done || placed == (a.Remedies.Remains == ""), "seed %d: %s\n%s", seed, remedy, a.Text())
				if done {
					tried++
					assert.Assert(t, others >= a.Remedies.Ahead, "seed %d: %s, with %d others\n%s", seed, remedy, others, a.Text())
				}
			}
		}
	}
	return tried
}

// played does what a remedy says, with what is said of quotas. It is whether the ask runs then and how many others run, or false if a
// test cannot do that.
func (c *cluster) played(t *testing.T, feasible api.Feasible, a *explain.Answer, remedy string) (placed bool, others int, done bool) {
	t.Helper()
	view, at := c.View(), start.Add(time.Minute)
	config := view.Config
	config.Root.Queues = slices.Clone(config.Root.Queues)
	for _, quota := range a.Remedies.Quota {
		is := raised.FindStringSubmatch(quota)
		assert.Assert(t, is != nil, quota)
		q := &config.Root.Queues[slices.IndexFunc(config.Root.Queues, func(q api.QueueConfig) bool { return q.Name == is[1]+is[3] })]
		q.Max = q.Max.Clone()
		for i, more := range quantities(t, is[2]+is[4]) {
			if more > 0 {
				q.Max[i] += more
			}
		}
	}
	p := core.Restore(api.Options{Kinds: c.kinds, Feasible: feasible}, at, view)
	if len(a.Remedies.Quota) > 0 {
		p.Apply(at, api.Reconfigure{Config: config})
	}
	switch {
	case strings.Contains(remedy, " moves from "):
		move(p, view, a.Moves)
	case !cure(t, p, view, remedy):
		return false, 0, false
	}
	for more := true; more; {
		var fx api.Effects
		if fx, more = p.Schedule(at); !more {
			due, ok := p.Due()
			more = ok && !due.After(at)
		}
		for _, e := range fx {
			is, ok := e.(api.Placed)
			if ok && is.Key == a.Allocation.Key {
				placed = true
			} else if ok {
				others++
			}
		}
	}
	return placed, others, true
}

// quantities are amounts as they are told.
func quantities(t *testing.T, text string) (amounts resources.Amounts) {
	t.Helper()
	for part := range strings.FieldsSeq(text) {
		name, quantity, _ := strings.Cut(part, "=")
		value, err := strconv.ParseInt(quantity, 10, 64)
		assert.NilError(t, err)
		amounts.Set(resources.Kind(slices.Index([]string{"vcore", "memory"}, name)), value)
	}
	return amounts
}

// cure does what a remedy says; false if a test cannot do that.
func cure(t *testing.T, p *core.Partition, view *api.View, remedy string) bool {
	t.Helper()
	at := start.Add(time.Minute)
	switch {
	case moreOn.MatchString(remedy):
		is := moreOn.FindStringSubmatch(remedy)
		i := slices.IndexFunc(view.Nodes, func(n *api.NodeView) bool { return string(n.ID) == is[2] })
		p.Apply(at, api.UpdateNode{ID: api.NodeID(is[2]), Capacity: view.Nodes[i].Capacity.Plus(quantities(t, is[1]))})
	case openOn.MatchString(remedy):
		p.Apply(at, api.UndrainNode{ID: api.NodeID(openOn.FindStringSubmatch(remedy)[1])})
	case keptOn.MatchString(remedy):
		key := api.AllocationKey(keptOn.FindStringSubmatch(remedy)[1])
		for _, app := range view.Applications {
			if slices.ContainsFunc(app.Asks, func(ask api.AskView) bool { return ask.Key == key }) {
				p.Apply(at, api.ReleaseAllocation{Application: app.ID, Key: key})
			}
		}
	default:
		assert.Assert(t, added.MatchString(remedy), remedy)
		return false
	}
	return true
}

// move has allocations run elsewhere.
func move(p *core.Partition, view *api.View, moves []explain.Move) {
	for _, m := range moves {
		for _, n := range view.Nodes {
			for _, a := range n.Allocations {
				if a.Key != m.Key {
					continue
				}
				own := *a
				own.Node = m.To
				p.Apply(start.Add(time.Minute), api.ReleaseAllocation{Application: m.Application, Key: m.Key})
				p.Apply(start.Add(time.Minute), api.AddAllocation{Allocation: &own})
			}
		}
	}
}

// oneMove is a single allocation that may run elsewhere, so that a node has room for an ask; empty for none.
func oneMove(view *api.View, ask *api.AskView) string {
	for _, n := range view.Nodes {
		if len(n.Reservations)+len(n.Nominated) > 0 {
			continue // what is kept there is another remedy
		}
		for _, a := range n.Allocations {
			ending := slices.ContainsFunc(n.Evictions, func(e api.Eviction) bool { return e.Key == a.Key })
			if ending || !n.Schedulable || ask.Required != "" || a.Required != "" || !ask.Amounts.FitsIn(n.Available.Plus(a.Amounts)) {
				continue
			}
			for _, to := range view.Nodes {
				if to != n && to.Schedulable && len(to.Reservations)+len(to.Nominated) == 0 && a.Amounts.FitsIn(to.Available) {
					return fmt.Sprintf("%s from %s to %s", a.Key, n.ID, to.ID)
				}
			}
		}
	}
	return ""
}
