package browser

import (
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// grouped is the stage of teams with levels, and with two groups: one runs on a node of zone a, for the other room is kept on one
// of zone b.
func grouped(t *testing.T) *stage {
	t.Helper()
	s := teams.on(t).apart()
	in := func(id api.NodeID, zone string, also func(*api.NodeView)) {
		s.change(t, id, func(n *api.NodeView) {
			n.Attributes = map[string]string{"zone": zone, "pool": "general"}
			also(n)
		})
	}
	var waits api.AskView
	after := *s.view.Load()
	after.Applications = slices.Clone(after.Applications)
	for i, app := range after.Applications {
		if j := slices.IndexFunc(app.Asks, func(a api.AskView) bool { return a.Nominated != "" }); j >= 0 {
			other, ask := *app, *app.Asks[j].Allocation
			ask.Tags = map[string]string{api.TagQuorum: "ml/waits"}
			other.Asks = slices.Clone(app.Asks)
			other.Asks[j].Allocation = &ask
			after.Applications[i], waits = &other, other.Asks[j]
			break
		}
	}
	after.Config.Levels = [][]string{{"zone", "pool"}}
	after.Groups = map[string]api.GroupView{
		api.QuorumOf + "ml/train": {
			Terms: api.GroupTerms{Least: 8, Priority: api.GroupPriority{Stated: true, Of: 10}}, State: api.GroupIsBelow, Running: 5, Done: 1, Waiting: 2,
			BelowSince: s.now.Add(-90 * time.Minute), Detail: "no node has room for the rest of it",
		},
		api.QuorumOf + "ml/waits":  {Terms: api.GroupTerms{Least: 4}, State: api.GroupWaits, Waiting: 4, Detail: "room is made for all that must start"},
		api.QuorumOf + "web/ahead": {Terms: api.GroupTerms{Least: 2}, State: api.GroupRuns, Running: 3},
	}
	s.view.Store(&after)
	in(waits.Nominated, "b", func(*api.NodeView) {})
	runs := slices.IndexFunc(after.Nodes, func(n *api.NodeView) bool { return len(n.Allocations) > 0 && n.ID != waits.Nominated })
	in(after.Nodes[runs].ID, "a", func(n *api.NodeView) {
		member := *n.Allocations[0]
		member.Tags = map[string]string{api.TagQuorum: "ml/train"}
		n.Allocations = append([]*api.Allocation{&member}, n.Allocations[1:]...)
	})
	return s
}

// TestDomainsAndGroups: which domains are intact, what runs there and for what room is kept; what groups lack. One leads to the
// other, and a domain to its nodes.
func TestDomainsAndGroups(t *testing.T) {
	t.Parallel()
	s := grouped(t).serve(t)
	p := s.open(t, "#/nodes", look{})
	p.arrives("nodes")
	p.click("main nav a", "Domains")
	p.sees("main .pager", "domains")
	var domains []struct {
		Name            string
		Intact          bool
		Groups, KeptFor []string
	}
	s.read(t, "partition/default/domains", &domains)
	names := evaluate[[]string](p, `return t.all("main tbody td:first-child").map((e) => e.textContent)`)
	assert.Equal(t, len(names), len(domains))
	assert.Equal(t, names[0], domains[0].Name)
	p.sees("main tbody a", "ml/train")
	p.looksRight()
	p.click("main tbody a", "ml/waits")
	p.arrives("applications")
	p.until(`t.all("main tbody tr").length === 1`)
	p.click("main nav[aria-label=Lists] a", "Groups")
	p.until(`t.all("main tbody tr").length === 3`)
	assert.DeepEqual(t, p.lines(), [][]string{
		{"ml/train", "is below its minimum", "6 of 8", "2", "1h 30m", "10", "No node has room for the rest of it"},
		{"ml/waits", "waits", "0 of 4", "4", "–", "–", "Room is made for all that must start"},
		{"web/ahead", "runs", "3 of 2", "0", "–", "–", "–"},
	})
	p.looksRight()
	p.press("/", "web")
	p.until(`t.all("main tbody tr").length === 1`)
	p.press("zz")
	p.sees("main .state-empty", "No group is like that")
	p.goes("#/nodes?view=domains&intact=true")
	p.arrives("nodes")
	p.sees("main h1", "Domains")
	p.click("main nav a", "Map")
	p.sees("main h1", "Nodes")
}

// TestNoDomains: without levels, and without groups, that is what the page says.
func TestNoDomains(t *testing.T) {
	t.Parallel()
	s := teams.on(t).serve(t)
	p := s.page(t, "#/nodes?view=domains")
	p.sees("main .state-empty", "There is no domain")
	p.goes("#/applications?view=groups")
	p.arrives("applications")
	p.sees("main .state-empty", "There is no group")
}
