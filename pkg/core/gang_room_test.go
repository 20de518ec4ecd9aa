package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// small keeps a hundred small asks waiting, ends one that runs, and returns how many run.
func (g *wholeGangs) small(number *int) int {
	view := g.p.View()
	running := 0
	for _, app := range view.Applications {
		if app.ID != "small" {
			continue
		}
		if running = len(app.Allocations); running > 0 {
			ends := app.Allocations[g.IntN(running)]
			g.p.Apply(g.now, api.ReleaseAllocation{Application: "small", Key: ends.Key, Termination: si.TerminationType_STOPPED_BY_RM})
		}
		for range 100 - len(app.Asks) {
			*number++
			g.p.Apply(g.now, api.AddAllocation{Allocation: &api.Allocation{
				Key: api.AllocationKey(fmt.Sprint("small-", *number)), Application: "small", Amounts: resources.Amounts{1}, Created: g.now,
			}})
		}
	}
	return running
}

// keptFor is the application for which nodes are kept; empty if there is none. There is one at most.
func (g *wholeGangs) keptFor(t *testing.T) (kept api.ApplicationID) {
	t.Helper()
	for _, node := range g.p.View().Nodes {
		for _, held := range node.Reservations {
			for _, app := range g.p.View().Applications {
				for _, ask := range app.Asks {
					if ask.Key == held.Key && ask.Placeholder {
						assert.Assert(t, kept == "" || kept == app.ID, "nodes are kept for %s and %s", kept, app.ID)
						kept = app.ID
					}
				}
			}
		}
	}
	return kept
}

// TestWholeGangsStartBesideSmallAsks has gangs that start whole wait in a full cluster, where small
// asks want whatever comes free. Each starts, as nodes are kept for one after the other.
func TestWholeGangsStartBesideSmallAsks(t *testing.T) {
	longest, keeps := time.Duration(0), 0
	for seed := range uint64(40) {
		g := newWholeGangs(rand.New(rand.NewPCG(seed, 92)))
		g.p.Apply(g.now, api.AddApplication{ID: "small", Queue: "root.a"})
		number := 0
		for range 20 {
			g.small(&number)
			g.settle(t)
		}
		for i := range 3 {
			g.come(api.ApplicationID(fmt.Sprint("app", i)))
		}
		for came := g.now; len(g.size) > 0; g.now = g.now.Add(time.Second) {
			longest = max(longest, g.now.Sub(came))
			assert.Assert(t, g.now.Sub(came) < 15*time.Minute, "seed %d: %v never run", seed, g.size)
			g.small(&number)
			g.settle(t)
			if g.keptFor(t) != "" {
				keeps++
			}
			for _, id := range g.check(t) {
				g.p.Apply(g.now, api.RemoveApplication{ID: id})
				delete(g.size, id)
			}
		}
	}
	t.Logf("the last of three gangs has started after %v; nodes were kept %d times", longest, keeps)
	assert.Assert(t, keeps > 500)
}
