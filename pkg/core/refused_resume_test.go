package core_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A doubter is a resource manager that refuses asks, and is asked so often at a stretch.
type doubter struct {
	p       *core.Partition
	now     time.Time
	stretch int
	agrees  func(key api.AllocationKey, node api.NodeID) bool
	refused int                // in this stretch
	asked   map[api.NodeID]int // and refused
}

func (d *doubter) feasible(key api.AllocationKey, node api.NodeID, _ bool) error {
	if d.agrees(key, node) {
		return nil
	}
	d.refused++
	d.asked[node]++
	return errors.New("no")
}

func (d *doubter) pace(q api.Question) time.Duration {
	if q == api.FirstQuestion || d.refused < d.stretch {
		return 0
	}
	return time.Millisecond
}

// doubted is a cluster of a doubter with an application for each queue: a0, a1.
func doubted(nodes, queues, stretch int, agrees func(api.AllocationKey, api.NodeID) bool) *doubter {
	d := &doubter{now: start, stretch: stretch, agrees: agrees, asked: map[api.NodeID]int{}}
	d.p = cluster(nodes, queues, api.Options{Feasible: d.feasible, Pace: d.pace})
	for i := range queues {
		d.p.Apply(start, api.AddApplication{ID: api.ApplicationID(fmt.Sprint("a", i)), Queue: api.QueuePath(fmt.Sprintf("root.q%04d", i))})
	}
	return d
}

// run schedules until questions are held back, and lets the pause pass. It returns how
// often Schedule was called and how many asks were placed.
func (d *doubter) run() (calls, placed int) {
	d.refused = 0
	for more := true; more; {
		var fx api.Effects
		fx, more = d.p.Schedule(d.now)
		placed += placements(fx)
		calls++
		if at, ok := d.p.Due(); ok && at.Sub(d.now) < time.Microsecond {
			d.now, more = d.now.Add(time.Microsecond), true
		}
	}
	d.now = d.now.Add(2 * time.Millisecond)
	return calls, placed
}

// Questions are broken off after a hundred refusals. Meanwhile every node is freed. They
// go on where they stopped all the same, so that the one node which takes the ask is
// found, and no node is asked more often than it was freed.
func TestPausedQuestionsGoOnAlthoughNodesAreFreed(t *testing.T) {
	const nodes = 500
	d := doubted(nodes, 1, 100, func(key api.AllocationKey, node api.NodeID) bool { return key != "picky" || node == "n000450" })
	for i := range nodes {
		d.p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
			Key: api.AllocationKey(fmt.Sprint("small-", i)), Application: "a0",
			Amounts: []int64{1, 1, 1}, Created: start, Node: api.NodeID(fmt.Sprintf("n%06d", i)),
		}})
	}
	d.p.Apply(start, ask("a0", "picky", 1000, 1<<30, 1))
	d.run()
	for i := range nodes {
		d.p.Apply(d.now, api.ReleaseAllocation{
			Application: "a0", Key: api.AllocationKey(fmt.Sprint("small-", i)), Termination: si.TerminationType_STOPPED_BY_RM,
		})
	}
	for rounds, placed := 0, 0; placed == 0; rounds++ {
		assert.Assert(t, rounds < 12, "not placed after %d rounds: %d nodes of %d asked", rounds, len(d.asked), nodes)
		_, placed = d.run()
	}
	for node, times := range d.asked {
		assert.Assert(t, times <= 2, "%s: %d", node, times)
	}
}

// However many asks wait for their questions to go on, no more are tried at a stretch
// than can ask something.
func TestPausedAsksAreNotTriedForNothing(t *testing.T) {
	const asks = 5000
	d := doubted(500, 1, 200, func(api.AllocationKey, api.NodeID) bool { return false })
	for i := range asks {
		d.p.Apply(start, ask("a0", fmt.Sprint("k", i), 1000, 1<<30, 1))
	}
	calls, _ := d.run()
	assert.Assert(t, calls <= asks+10, "%d", calls) // the first question about each
	for range 20 {
		before := d.p.View().Work.Attempts
		calls, _ := d.run()
		tried := d.p.View().Work.Attempts - before
		assert.Assert(t, calls <= asks/64+5, "%d", calls)
		assert.Assert(t, tried >= 1 && tried <= asks/64+5, "%d", tried)
		assert.Assert(t, d.refused >= 99 && d.refused <= 200, "%d", d.refused)
	}
	assert.NilError(t, d.p.Verify())
}

// An ask of another leaf, which all nodes but the last refuse, gets its turn beside a
// thousand asks that all refuse.
func TestLeavesTakeTurnsWithQuestions(t *testing.T) {
	d := doubted(500, 2, 200, func(key api.AllocationKey, node api.NodeID) bool { return key == "picky" && node == "n000499" })
	for i := range 1000 {
		d.p.Apply(start, ask("a0", fmt.Sprint("k", i), 1000, 1<<30, 1))
	}
	d.run()
	d.p.Apply(d.now, ask("a1", "picky", 1000, 1<<30, 1))
	for rounds, placed := 0, 0; placed == 0; rounds++ {
		assert.Assert(t, rounds < 12, "not placed after %d rounds", rounds)
		_, placed = d.run()
	}
}

// Three leaves have asks that all refuse. In each stretch another leaf has its turn, and none has a second one before
// the others had theirs.
func TestNoLeafIsLeftOutOfTheTurns(t *testing.T) {
	const leaves = 3
	var turns []byte // the number of the leaf that each stretch asked about first
	d := doubted(500, leaves, 200, func(key api.AllocationKey, _ api.NodeID) bool {
		turns = append(turns, key[0])
		return false
	})
	for i := range 300 {
		d.p.Apply(start, ask(api.ApplicationID(fmt.Sprint("a", i%leaves)), fmt.Sprint(i%leaves, "-", i), 1000, 1<<30, 1))
	}
	d.run() // the first question about each
	turns = nil
	for range 5 * leaves {
		d.run()
	}
	turns = slices.Compact(turns)
	for i, leaf := range turns[leaves:] {
		assert.Equal(t, leaf, turns[i], "%s", turns)
	}
	assert.Assert(t, len(turns) >= 5*leaves, "%s", turns)
}

// A resource manager names the node in every reason, and has much to say. What is kept
// of that with each ask is bounded.
func TestReasonsOfRefusalsAreBounded(t *testing.T) {
	p := cluster(500, 1, api.Options{Feasible: func(_ api.AllocationKey, node api.NodeID, _ bool) error {
		if node < "n000100" {
			return errors.New("no such label")
		}
		return fmt.Errorf("node %s refuses: %s", node, strings.Repeat("é", 10_000))
	}})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q0000"})
	p.Apply(start, ask("a", "k", 1000, 1<<30, 1))
	run(p)
	detail := p.View().Applications[0].Asks[0].Waiting.Detail
	assert.Assert(t, len(detail) < 10_000, "%d bytes", len(detail))
	assert.Assert(t, utf8.ValidString(detail))
	assert.Assert(t, strings.HasPrefix(detail, "no such label (100 nodes); node n000100 refuses: é"), detail[:100])
	assert.Assert(t, strings.HasSuffix(detail, "é… (1 node); other reasons (398 nodes)"), detail[len(detail)-100:])
}
