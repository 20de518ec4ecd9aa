package answers

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// node is one that was never freed.
func node(slot int32) *ledger.Node {
	return &ledger.Node{ID: api.NodeID(fmt.Sprint("n", slot)), Slot: slot}
}

// TestRefusalsHoldUntilANodeIsFreed: an answer is about one node as it is.
func TestRefusalsHoldUntilANodeIsFreed(t *testing.T) {
	r := NewRefusals(0)
	n := node(3)
	assert.Assert(t, !r.Has(n))
	r.Add(n, errors.New("taint"), 0)
	assert.Assert(t, r.Has(n) && !r.Has(node(4)))
	n.FreedAt = 1
	assert.Assert(t, !r.Has(n))
	r.Pass(n, 1)
	assert.Assert(t, r.Has(n))
	r.Finish(1)
	assert.Assert(t, r.AreOfAll() && r.Has(node(4)))
	assert.Equal(t, r.Before(), "taint (1 node)")
	r.Again(1)
	assert.Assert(t, !r.Has(n) && r.Question() == api.RepeatedQuestion)
	r.Drop(1)
	assert.Equal(t, r.Question(), api.FurtherQuestion)
	assert.Equal(t, (*Refusals)(nil).Question(), api.FirstQuestion)
	assert.Assert(t, !(*Refusals)(nil).Has(n))
}

// TestRefusalsKeepTheMostFrequentReasons however many there are, with the first nodes of each.
func TestRefusalsKeepTheMostFrequentReasons(t *testing.T) {
	r := NewRefusals(0)
	for i := range int32(10 * reasonsMax) {
		r.Add(node(i), errors.New([]string{"taint", "affinity", fmt.Sprint("reason of node ", i)}[i%3]), 0)
	}
	assert.Equal(t, len(r.ForView()), reasonsShown, "while questions go on")
	assert.Assert(t, strings.HasSuffix(r.Text(), "questions about other nodes go on"))
	r.Finish(0)
	given := r.ForView()
	assert.Equal(t, len(given), reasonsShown)
	assert.DeepEqual(t, given[1], api.Refusal{Text: "taint", Nodes: 27, First: []api.NodeID{"n0", "n3", "n6"}})
	assert.DeepEqual(t, given[0], api.Refusal{Text: "affinity", Nodes: 27, First: []api.NodeID{"n1", "n4", "n7"}})
	assert.Equal(t, given[2].Nodes, 1)
	assert.Equal(t, r.Nodes(), 10*reasonsMax)
	assert.Equal(t, r.Text(), r.Before())
}

// TestWhatMayHelpSinceAttemptsFailed: nodes that have changed since are news; where none of them helps, only later ones
// are.
func TestWhatMayHelpSinceAttemptsFailed(t *testing.T) {
	s := NewSimulations(0, 0)
	assert.Assert(t, !(*Simulations)(nil).HaveFailed() && !s.HaveFailed())
	s.Exhaust(5)
	assert.Assert(t, s.HaveFailed())
	n := node(1)
	n.ChangedAt = 5
	assert.Assert(t, !s.IsNews(n), "it had changed before")
	n.ChangedAt = 6
	assert.Assert(t, s.IsNews(n))
	s.HelpedBy([]*ledger.Node{n}, 6)
	assert.Assert(t, s.IsNews(n), "it was not tried yet")
	s.HelpedBy(nil, 6)
	assert.Assert(t, !s.IsNews(n) && len(s.MayHelp()) == 0)
	s.Help(n)
	s.Help(n)
	assert.Equal(t, len(s.MayHelp()), 1)
	s.Help(nil)
	assert.Assert(t, !s.HaveFailed())
}

// never is an answer that nothing which ends on the node changes.
type never struct{ error }

func (never) Unresolvable() bool { return true }

// TestWhatIsRefusedWhateverEndsIsKept: it was learnt, and a view shows it.
func TestWhatIsRefusedWhateverEndsIsKept(t *testing.T) {
	s, n := NewSimulations(0, 0), node(1)
	s.NoteUnresolvable(n, errors.New("full"), 0)
	assert.Assert(t, !s.Any())
	s.NoteUnresolvable(n, never{errors.New("taint")}, 0)
	assert.Assert(t, s.Any())
	nodes := s.ForView()
	assert.Assert(t, nodes.Has(n.Slot, n.UpdatedAt))
}

// TestARefusedPlanIsShown before one that lacked room, and else the first, as long as nothing has changed on its node.
func TestARefusedPlanIsShown(t *testing.T) {
	refused, lacks := &preemptor.Decision{Reason: preemptor.Refused}, &preemptor.Decision{Reason: preemptor.NothingHelps}
	for _, test := range []struct {
		first, second *preemptor.Decision
		changed       bool // the first node, in between
		shown         int32
	}{
		{first: lacks, second: lacks, shown: 1},
		{first: lacks, second: refused, shown: 2},
		{first: refused, second: lacks, shown: 1},
		{first: refused, second: refused, shown: 1},
		{first: refused, second: lacks, changed: true, shown: 2},
	} {
		s, first, second := NewSimulations(0, 0), node(1), node(2)
		s.Fail(CandidateNode{Node: first, Plan: test.first}, 0)
		if test.changed {
			first.ChangedAt = 1
		}
		s.Fail(CandidateNode{Node: second, Plan: test.second}, 1)
		assert.Equal(t, s.Nearest(lacks.Trigger).Node.Slot, test.shown, "%+v", test)
	}
}

// TestLongReasonsAreCut where they are too long, and not before.
func TestLongReasonsAreCut(t *testing.T) {
	r, whole := NewRefusals(0), strings.Repeat("x", reasonLength)
	r.Add(node(1), errors.New(whole), 0)
	r.Add(node(2), errors.New(whole+"x"), 0)
	r.Finish(0)
	assert.Equal(t, r.ForView()[0].Text, whole)
	assert.Equal(t, r.ForView()[1].Text, whole+"…")
}
