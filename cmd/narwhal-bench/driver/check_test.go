package driver

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// cluster is a driver with two nodes of two cores and pods of one core, of which big has two
// and agent requires the first node.
func cluster(log ...entry) *Driver {
	d := New(nil)
	one := Amounts{Vcore: 1000, Memory: 1000}
	for _, id := range []string{"n1", "n2"} {
		d.nodes[id] = Node{ID: id, Has: one.plus(one)}
	}
	d.Know([]*Pod{
		{Key: "a", Wants: one},
		{Key: "b", Wants: one},
		{Key: "c", Wants: one},
		{Key: "big", Wants: one.plus(one)},
		{Key: "agent", Wants: one, Required: "n1"},
		{Key: "running", Wants: one, Node: "n1"},
		{Key: "important", Wants: one, Node: "n1", Priority: 5},
		{Key: "equal", Wants: one, Priority: 5},
		{Key: "picky", Wants: one},
	})
	d.Refuses = func(key, node string) error {
		if key == "picky" && node == "n1" {
			return errors.New("no")
		}
		return nil
	}
	d.log = log
	return d
}

// Everything that a core can do wrong is found, and nothing else.
func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name  string
		log   []entry
		fault string
	}{
		{"nothing", nil, ""},
		{"placed and ended", []entry{{asked, "a", ""}, {placed, "a", "n1"}, {released, "a", ""}}, ""},
		{"two on a node", []entry{{asked, "a", ""}, {asked, "b", ""}, {placed, "a", "n1"}, {placed, "b", "n1"}}, ""},
		{"room of one that ended", []entry{{asked, "a", ""}, {placed, "a", "n1"}, {released, "a", ""}, {asked, "big", ""}, {placed, "big", "n1"}}, ""},
		{"an echo", []entry{{runs, "running", "n1"}, {placed, "running", "n1"}, {asked, "a", ""}, {placed, "a", "n1"}}, ""},
		{"the end overtakes the placement", []entry{{asked, "a", ""}, {released, "a", ""}, {placed, "a", "n1"}}, ""},
		{"asked again after its end", []entry{{asked, "a", ""}, {placed, "a", "n1"}, {released, "a", ""}, {asked, "a", ""}, {placed, "a", "n2"}}, ""},
		{"evicted", []entry{{runs, "running", "n1"}, {evicted, "running", ""}, {released, "running", ""}, {asked, "big", ""}, {placed, "big", "n1"}}, ""},
		{"evicted for one of the same priority", []entry{{runs, "important", "n1"}, {asked, "equal", ""}, {evicted, "important", ""}}, ""},
		{"placed where it may run", []entry{{asked, "picky", ""}, {placed, "picky", "n2"}}, ""},

		{"above the capacity", []entry{{asked, "a", ""}, {placed, "a", "n1"}, {asked, "big", ""}, {placed, "big", "n1"}}, "big is placed on n1, which then holds"},
		{"above it with what runs", []entry{{runs, "running", "n1"}, {asked, "big", ""}, {placed, "big", "n1"}}, "big is placed on n1, which then holds"},
		{"twice", []entry{{asked, "a", ""}, {placed, "a", "n1"}, {placed, "a", "n2"}}, "a is placed twice, on n1 and n2"},
		{"not asked for", []entry{{placed, "a", "n1"}}, "a is placed and was not asked for"},
		{"unknown", []entry{{placed, "x", "n1"}}, "x is placed and was not asked for"},
		{"no node", []entry{{asked, "a", ""}, {placed, "a", "n3"}}, `a is placed on "n3", which is no node`},
		{"not the required node", []entry{{asked, "agent", ""}, {placed, "agent", "n2"}}, "agent requires n1 and is placed on n2"},
		{"echoed from elsewhere", []entry{{runs, "running", "n1"}, {placed, "running", "n2"}}, "running runs on n1 and is placed on n2"},
		{"refused", []entry{{asked, "a", ""}, {refused, "a", "no queue"}}, "a is refused: no queue"},
		{"evicted before it runs", []entry{{asked, "a", ""}, {evicted, "a", ""}}, "a is evicted and does not run"},
		{"evicted though it requires its node", []entry{{asked, "agent", ""}, {placed, "agent", "n1"}, {evicted, "agent", ""}}, "agent is evicted and requires its node"},
		{"evicted for nothing as important", []entry{{runs, "important", "n1"}, {asked, "a", ""}, {evicted, "important", ""}}, "important is evicted, of priority 5, and nothing of more than 0 was asked for"},
		{"placed where it may not run", []entry{{asked, "picky", ""}, {placed, "picky", "n1"}}, "picky is placed on n1, which it may not run on"},
	} {
		t.Run(test.name, func(t *testing.T) {
			faults := strings.Join(cluster(test.log...).Check(), "; ")
			assert.Assert(t, strings.HasPrefix(faults, test.fault) && (faults == "") == (test.fault == ""), "%q", faults)
		})
	}
}

// A pod that waits although it fits is found, but not one that is refused there or has ended.
func TestCheckNothingFits(t *testing.T) {
	d := cluster(entry{asked, "a", ""})
	assert.DeepEqual(t, d.Check(), []string(nil))
	assert.DeepEqual(t, d.CheckNothingFits(), []string{"a waits, and n1 has room for it"})
	d.Refuses = func(_, node string) error {
		if node == "n1" {
			return errors.New("no")
		}
		return nil
	}
	assert.DeepEqual(t, d.CheckNothingFits(), []string{"a waits, and n2 has room for it"})
	d.Refuses = func(string, string) error { return errors.New("no") }
	assert.DeepEqual(t, d.CheckNothingFits(), []string(nil))
	full := cluster(entry{asked, "a", ""}, entry{asked, "b", ""}, entry{asked, "c", ""}, entry{asked, "big", ""},
		entry{placed, "a", "n1"}, entry{placed, "b", "n2"}, entry{placed, "c", "n2"})
	assert.DeepEqual(t, full.CheckNothingFits(), []string(nil))
	assert.Equal(t, full.Waiting(), 1)
	ended := cluster(entry{asked, "a", ""}, entry{released, "a", ""})
	assert.DeepEqual(t, ended.CheckNothingFits(), []string(nil))
}

// TestBeyondRequestMaxAndFaultsMax has ten times as many pods as one request takes sent and ended,
// and ten times as many faults as are told.
func TestBeyondRequestMaxAndFaultsMax(t *testing.T) {
	d := cluster()
	var pods []*Pod
	for i := range 10*RequestMax + 1 {
		pods = append(pods, &Pod{Key: fmt.Sprint("p", i)})
	}
	sent, ended := 0, 0
	for _, r := range d.Requests(pods) {
		assert.Assert(t, len(r.Allocations) <= RequestMax)
		sent += len(r.Allocations)
	}
	for _, r := range d.Endings(pods) {
		assert.Assert(t, len(r.Releases.AllocationsToRelease) <= RequestMax)
		ended += len(r.Releases.AllocationsToRelease)
	}
	assert.Equal(t, sent, len(pods))
	assert.Equal(t, ended, len(pods))
	for i := range 10 * faultsMax {
		d.log = append(d.log, entry{placed, fmt.Sprint("x", i), "n1"})
	}
	assert.Equal(t, len(d.Check()), faultsMax)
}
