package explain_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// only is a resource manager that accepts asks on some nodes, and counts what it is asked.
func only(asked *int, nodes ...api.NodeID) explain.MayRun {
	return func(_ api.AllocationKey, node api.NodeID) (bool, error) {
		*asked++
		for _, one := range nodes {
			if one == node {
				return true, nil
			}
		}
		return true, errors.New("taint")
	}
}

// TestRemediesAreTried: what is told makes the ask run, on a node where it may, and what is not
// enough is told with what remains.
func TestRemediesAreTried(t *testing.T) {
	count := 0
	for _, c := range []struct {
		name    string
		fill    func(*cluster)
		trial   explain.Trial
		asked   int
		want    string
		options func(*api.Config)
	}{
		{
			"the quota is all there is", func(c *cluster) { c.node("free", 9000, 9) },
			explain.Trial{MayRun: only(&count, "free")},
			1,
			"it runs if queue root.web uses vcore=1000 less, or its max is raised by that", nil,
		},
		{
			"the resource manager cannot be asked", func(c *cluster) { c.node("free", 9000, 9) },
			explain.Trial{},
			0,
			"it runs if queue root.web uses vcore=1000 less, or its max is raised by that; and if the resource manager, which was not asked, accepts it on free", nil,
		},
		{
			"the resource manager refuses nothing", func(c *cluster) { c.node("free", 9000, 9) },
			explain.Trial{Free: true},
			0,
			"it runs if queue root.web uses vcore=1000 less, or its max is raised by that", nil,
		},
		{
			"the only node with room is not for it", func(c *cluster) { c.node("other", 9000, 9) },
			explain.Trial{MayRun: only(&count, "full")},
			2,
			"it runs if queue root.web uses vcore=1000 less, or its max is raised by that; and if the resource manager accepts it on other, or vcore=500 more becomes free on full", nil,
		},
		{
			"the nearest nodes are not for it", func(c *cluster) {
				c.node("near", 1900, 9)
				c.node("nearer", 1950, 9)
				c.ask("batch", "b", 1, 1, on("near"))
				c.node("closed", 9000, 9)
				c.Apply(start, api.DrainNode{ID: "closed"})
			},
			explain.Trial{MayRun: only(&count, "full")},
			2,
			"it runs if queue root.web uses vcore=1000 less, or its max is raised by that; and if vcore=500 more becomes free on full", nil,
		},
		{
			"a user is at a limit as well", func(c *cluster) { c.node("free", 9000, 9) },
			explain.Trial{Free: true},
			0,
			"it runs if queue root.web uses vcore=1000 less, or its max is raised by that, and the limit of user ada in queue root.web is raised to vcore=10000",
			func(c *api.Config) {
				c.Root.Queues[0].Limits = []api.Limit{{Users: []string{"ada"}, Max: resources.Limits{9000}}}
			},
		},
		{
			"only a new node helps", func(*cluster) {},
			explain.Trial{MayRun: only(&count)},
			1,
			"it runs if queue root.web uses vcore=1000 less, or its max is raised by that; and if a node is added with memory=1 vcore=2000 free and the resource manager, which was not asked, accepts it there", nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := twoQueues()
			if c.options != nil {
				c.options(&config)
			}
			p := newCluster(t, config, api.Options{ReserveDelay: -1})
			p.Apply(start, api.AddApplication{ID: "ada", Queue: "root.web", User: "ada"})
			p.node("full", 9500, 1<<30)
			c.fill(p)
			p.ask("ada", "own", 8000, 1, on("full"))
			p.ask("ada", "waits", 2000, 1)
			p.settle(start)
			a, err := explain.Ask(p.View(), p.kinds, "ada", "waits")
			assert.NilError(t, err)
			count, c.trial.Now = 0, start
			a.Try(t.Context(), c.trial)
			assert.Equal(t, a.Remedies.Sentence(), c.want, a.Text())
			assert.Equal(t, count, c.asked)
		})
	}
}

// TestFewQuestionsForRemedies: the resource manager is asked about 50 nodes at most, and no
// more when it gives no answer. When the time is over, that is told.
func TestFewQuestionsForRemedies(t *testing.T) {
	p := newCluster(t, twoQueues(), api.Options{ReserveDelay: -1})
	for i := range 200 {
		p.node(fmt.Sprintf("n%03d", i), 9000, 9)
	}
	p.ask("web", "own", 8000, 1, on("n000"))
	p.ask("web", "waits", 2000, 1)
	p.settle(start)
	try := func(ctx context.Context, may explain.MayRun) *explain.Answer {
		a, err := explain.Ask(p.View(), p.kinds, "web", "waits")
		assert.NilError(t, err)
		a.Try(ctx, explain.Trial{Now: start, MayRun: may})
		return a
	}
	count := 0
	a := try(t.Context(), only(&count))
	assert.Equal(t, count, 50)
	const quota = "it runs if queue root.web uses vcore=1000 less, or its max is raised by that"
	assert.Equal(t, a.Remedies.Sentence(), quota+"; and if the resource manager, which was not asked, accepts it on n051, n052, n053 or 146 more")
	assert.Equal(t, a.Nodes[1].Text, "taint")
	assert.Equal(t, a.Nodes[1].Nodes+a.Nodes[2].Nodes, 199)

	count = 0
	a = try(t.Context(), func(api.AllocationKey, api.NodeID) (bool, error) {
		count++
		return false, nil
	})
	assert.Equal(t, count, 1)
	assert.Equal(t, a.Remedies.Sentence(), quota+"; and if the resource manager, which was not asked, accepts it on n001, n002, n003 or 196 more")

	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	assert.Equal(t, try(over, nil).Remedies.Sentence(), "none was tried, as the time was over")
}

// TestRemediesWhileAsksAreDelayed: it counts for nothing that the asks of an application are not
// tried for some time, as many failed.
func TestRemediesWhileAsksAreDelayed(t *testing.T) {
	p := newCluster(t, twoQueues(), api.Options{ReserveDelay: -1})
	p.node("n", 2000, 9)
	p.ask("batch", "other", 1500, 1, on("n"))
	p.ask("web", "waits", 1000, 1)
	p.settle(start)
	view := *p.View()
	view.Applications = slices.Clone(view.Applications)
	i := slices.IndexFunc(view.Applications, func(a *api.ApplicationView) bool { return a.ID == "web" })
	delayed := *view.Applications[i]
	delayed.BackoffUntil = start.Add(time.Hour)
	view.Applications[i] = &delayed
	a, err := explain.Ask(&view, p.kinds, "web", "waits")
	assert.NilError(t, err)
	a.Try(t.Context(), explain.Trial{Now: start, Free: true})
	assert.Equal(t, a.Remedies.Sentence(), "it runs if vcore=500 more becomes free on n")
}

// TestRemediesOfGroups: room for one member of a group is not enough for all that start together.
// Evictions, for which it is too early here, are no part of it.
func TestRemediesOfGroups(t *testing.T) {
	for least, want := range map[string]string{
		"1": "it runs if vcore=1500 more becomes free on m",
		"2": "it runs if a node is added with memory=2 vcore=4000 free, which is room for 2 of the 2 that start together",
	} {
		p := newCluster(t, twoQueues(), api.Options{ReserveDelay: -1, SettleDelay: time.Hour})
		for _, node := range []string{"m", "n"} {
			p.node(node, 2000, 9)
			p.ask("batch", "other-"+node, 1500, 1, on(node))
		}
		for i := range 2 {
			p.ask("batch", fmt.Sprintf("member-%d", i), 2000, 1, func(a *api.Allocation) {
				a.Tags, a.Priority = map[string]string{api.TagQuorum: "g", api.TagQuorumLeast: least}, 5
			})
		}
		p.settle(start)
		a, err := explain.Ask(p.View(), p.kinds, "batch", "member-1")
		assert.NilError(t, err)
		a.Try(t.Context(), explain.Trial{Now: start, Free: true})
		assert.Equal(t, a.Remedies.Sentence(), want, a.Text())
	}
}
