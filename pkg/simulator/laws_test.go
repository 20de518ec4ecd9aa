package simulator

import (
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

const lawsText = `
name: laws
nodes: [{name: n, capacity: {vcore: 9}}, {name: m, capacity: {vcore: 9}}]
foreign: [{name: other, groups: [n], resources: {vcore: 1}}]
daemonsets: [{name: d, queue: default, resources: {vcore: 1}}]
workloads:
  - {name: w, queue: default, resources: {vcore: 1}, runs: 1m}
  - {name: s, queue: default, resources: {vcore: 1}, runs: 1m, stubborn: true}
`

// TestLawsOfPreemption has the virtual resource manager hear what a core must
// not say.
func TestLawsOfPreemption(t *testing.T) {
	nominated := func(key, node string) any {
		return core.Nomination{Application: "a", Key: core.AllocationKey(key), Node: core.NodeID(node), Plan: &preemptor.Decision{}}
	}
	chosen := func(victim string) any {
		plan := &preemptor.Decision{Reason: preemptor.Chosen, Victims: []preemptor.Victim{{Candidate: preemptor.Candidate{Key: victim}}}}
		return core.Nomination{Application: "a", Key: "w/1", Node: "n", Plan: plan}
	}
	placed := func(key, node string) any {
		return &si.Allocation{AllocationKey: key, ApplicationID: "a", NodeID: node}
	}
	told := func(key string) any {
		return &si.AllocationRelease{AllocationKey: key, ApplicationID: "a", TerminationType: si.TerminationType_PREEMPTED_BY_SCHEDULER}
	}
	foreign := &si.AllocationRelease{AllocationKey: "other/n", TerminationType: si.TerminationType_PREEMPTED_BY_SCHEDULER}
	for _, c := range []struct {
		name    string
		effects core.Effects
		want    string // empty where all is well
	}{
		{"told once", core.Effects{placed("w/1", "n"), told("w/1")}, ""},
		{"told twice", core.Effects{placed("w/1", "n"), told("w/1"), told("w/1")}, "at 0s: the pod w/1 was told to go twice"},
		{"a stubborn one told twice", core.Effects{placed("s/1", "n"), told("s/1"), told("s/1")}, "at 0s: the pod s/1 was told to go twice"},
		{"a foreign one told twice", core.Effects{foreign, foreign}, "at 0s: the foreign pod other/n was told to go twice"},
		{"placed where nominated", core.Effects{nominated("w/1", "n"), placed("w/1", "n")}, ""},
		{"placed elsewhere", core.Effects{nominated("w/1", "n"), placed("w/1", "m")}, ""},
		{"nominated again", core.Effects{nominated("w/1", "n"), nominated("w/1", ""), nominated("w/1", "m")}, ""},
		{"nominated twice", core.Effects{nominated("w/1", "n"), nominated("w/1", "m")}, "at 0s: the pod w/1 was nominated to m while n makes room for it"},
		{"nominated without a plan", core.Effects{core.Nomination{Key: "w/1", Node: "n"}}, "at 0s: the pod w/1 was nominated to n without a plan"},
		{"chosen and told", core.Effects{placed("s/1", "n"), chosen("s/1"), told("s/1")}, ""},
		{"chosen and not told", core.Effects{placed("s/1", "n"), chosen("s/1")}, "at 0s: the pod s/1 was chosen to make room and was not told"},
		{"nominated when placed", core.Effects{placed("w/1", "n"), nominated("w/1", "m")}, "at 0s: the pod w/1 was nominated to m and does not wait"},
		{"nominated and not known", core.Effects{nominated("w/9", "n")}, "at 0s: the pod w/9 was nominated to n and does not wait"},
		{"nominated to no node", core.Effects{nominated("w/1", "x")}, "at 0s: the pod w/1 was nominated to x, which is not there"},
		{"nominated and bound to a node", core.Effects{nominated("d/n", "m")}, "at 0s: the pod d/n was nominated to m and may run on n only"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := lawsCluster(t)
			cluster.deliver(c.effects)
			if c.want == "" {
				assert.NilError(t, cluster.broken)
			} else {
				assert.Error(t, cluster.broken, c.want)
			}
			nominees := int64(0)
			for _, p := range cluster.pods {
				if p.nominated != "" {
					nominees++
				}
			}
			assert.Equal(t, cluster.books.nominees.value, nominees)
		})
	}
}

// lawsCluster is a resource manager whose pods wait.
func lawsCluster(t *testing.T) *cluster {
	t.Helper()
	s, err := Parse(lawsText)
	assert.NilError(t, err)
	c := newCluster(s, 1)
	c.build()
	c.startWork()
	for _, e := range c.agenda.take(0) {
		e.do()
	}
	return c
}

// A pod that is taken back has no node in view any more, and the core may say so
// later.
func TestNominationEndsWithThePod(t *testing.T) {
	c := lawsCluster(t)
	c.deliver(core.Effects{core.Nomination{Key: "w/1", Node: "n", Plan: &preemptor.Decision{}}})
	assert.Equal(t, c.books.nominees.value, int64(1))
	c.cancel(c.pods["w/1"])
	c.deliver(core.Effects{core.Nomination{Key: "w/1"}})
	assert.Equal(t, c.books.nominees.value, int64(0))
	assert.NilError(t, c.broken)
}
