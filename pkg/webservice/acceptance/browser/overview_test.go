package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// What tests read of a partition.
type partitionFacts struct {
	Capacity struct {
		Capacity, UsedCapacity map[string]int64
	}
	TotalNodes, TotalContainers int
	Applications                map[string]int
	Preempted                   struct{ Victims int }
}

// tile is the large number of a tile, and the note below it.
func (p *page) tile(name string) (value, note string) {
	p.t.Helper()
	p.sees("main .tile", name)
	texts := evaluate[[]string](p, `
		const tile = t.all("main .tile").find((e) => e.querySelector(".tile-name").textContent === args[0]);
		return [tile.querySelector("strong").textContent, tile.querySelector(".tile-note").textContent]`, name)
	return texts[0], texts[1]
}

// TestOverview: the numbers are those of REST.
func TestOverview(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	p := s.page(t, "")
	p.arrives("overview")
	var partitions []partitionFacts
	s.read(t, "partitions", &partitions)
	facts := partitions[0]
	drained := s.read(t, "partition/default/nodes?schedulable=false&limit=1", &[]struct{}{})
	evicting := s.read(t, "partition/default/nodes?evicting=true&limit=1", &[]struct{}{})
	pending := s.read(t, "partition/default/asks?limit=1", &[]pod{})
	for _, c := range []struct {
		tile string
		n    int
		note string
	}{
		{"Nodes", facts.TotalNodes, fmt.Sprintf("%d drained", drained)},
		{"Applications", facts.Applications["total"], count(facts.Applications["Running"]) + " running"},
		{"Allocations", facts.TotalContainers, fmt.Sprintf("evictions on %d nodes", evicting)},
		{"Pending", pending, ""},
		{"Preempted", facts.Preempted.Victims, ""},
	} {
		value, note := p.tile(c.tile)
		assert.Equal(t, value, count(c.n), c.tile)
		assert.Assert(t, strings.Contains(note, c.note), note)
	}
	assert.Assert(t, drained == len(teams.drained) && evicting > 0 && pending > 0)
	health, _ := p.tile("Health")
	assert.Equal(t, health, "healthy")
	for kind, whole := range facts.Capacity.Capacity {
		p.sees("main .gauge", fmt.Sprintf("%s%s of %s", kind, amount(kind, facts.Capacity.UsedCapacity[kind]), amount(kind, whole)))
	}
	var nodes []node
	s.read(t, "partition/default/nodes?fields=occupied", &nodes)
	others := int64(0)
	for _, n := range nodes {
		others += n.Occupied["vcore"]
	}
	assert.Assert(t, others > 0)
	part := float64(others) / float64(facts.Capacity.Capacity["vcore"])
	p.until(`Math.abs(parseFloat(t.one("main .gauge[data-key=vcore] .fill-foreign").style.width) - args[0]) < 0.01`, 100*part)
}

// TestOverviewLinks: what is counted leads to what was counted.
func TestOverviewLinks(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	p := s.page(t, "")
	p.arrives("overview")
	waits := s.read(t, "partition/default/asks?limit=1&why=no+node+has+room", &[]pod{})
	p.sees("main .ranked li", "No node has room"+count(waits))
	p.click("main .ranked a", "No node has room")
	p.arrives("applications")
	p.sees("main .reason[aria-pressed=true]", count(waits))
	for _, c := range []struct{ words, panel, hash string }{
		{"map", "nodes", "#/nodes"},
		{"preemption log", "preemption", "#/preemption"},
		{"platform.web", "queues", "#/queues/root.platform.web"},
		{"list", "applications", "#/applications"},
	} {
		p.press("1")
		p.arrives("overview")
		p.click("main .card a", c.words)
		p.arrives(c.panel)
		assert.Equal(t, evaluate[string](p, `return location.hash`), c.hash)
	}
}

// TestNodesByUse: nodes are counted by how full they are of each kind, also of one of which a node
// has two pieces.
func TestNodesByUse(t *testing.T) {
	t.Parallel()
	p := k8s.site(t).page(t, "")
	p.arrives("overview")
	for kind, want := range map[string]string{
		"vcore": "90 to 100 % of vcore used on 12 nodes", "gpu": "90 to 100 % of gpu used on 12 nodes", "ephemeral-storage": "40 to 50 % of ephemeral-storage used on 12 nodes",
	} {
		p.until(`t.all("main .histo").some((e) => e.getAttribute("aria-label") === args[0])`, kind+": "+want)
	}
}

// TestUnhealthy: what is wrong stands where one looks first.
func TestUnhealthy(t *testing.T) {
	t.Parallel()
	s := teams.on(t).apart()
	s.change(t, "general-100", func(n *api.NodeView) { n.Allocated = n.Allocated.Plus(n.Capacity) })
	p := s.serve(t).open(t, "", look{})
	p.allow("503 (Service Unavailable)")
	p.arrives("overview")
	health, note := p.tile("Health")
	assert.Equal(t, health, "unhealthy")
	assert.Assert(t, strings.Contains(note, "failed"), note)
	p.sees("main .card.alarm", "general-100")
}

// TestBusyPartition: the title says that what is shown is of a moment ago. Foreign
// pods on nodes that are not known are counted.
func TestBusyPartition(t *testing.T) {
	t.Parallel()
	s := teams.on(t).apart()
	s.age = 3 * time.Second
	view := *s.view.Load()
	view.ForeignUnknownNode = []*api.Allocation{{Key: "proxy-1"}, {Key: "proxy-2"}}
	s.view.Store(&view)
	p := s.serve(t).open(t, "#/overview", look{})
	p.sees("main .toolbar", "busy, as of")
	p.sees("main", "2 foreign pods on nodes that are not known")
}
