package simulator

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
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

// TestLawsOfPreemption shows the virtual resource manager events that the core must
// not make.
func TestLawsOfPreemption(t *testing.T) {
	ask := func(key string) *api.Allocation {
		return &api.Allocation{Key: api.AllocationKey(key), Application: "a"}
	}
	nominated := func(key, node string) api.Event {
		return &api.Claimed{Allocation: ask(key), Node: api.NodeID(node), Plan: &preemptor.Decision{}}
	}
	notNominated := func(key, node string, end api.End) api.Event {
		return &api.ClaimEnded{Allocation: ask(key), Node: api.NodeID(node), Nominated: true, End: end}
	}
	wasted := func(ask, node, victim string, cause outcomes.Cause) api.Event {
		return &outcomes.VictimsWasted{For: api.AllocationKey(ask), Node: api.NodeID(node), Cause: cause, Victims: []api.AllocationKey{api.AllocationKey(victim)}}
	}
	chosen := func(victim string) api.Event {
		plan := &preemptor.Decision{Reason: preemptor.Chosen, Victims: []preemptor.Victim{{Candidate: preemptor.Candidate{Key: victim}}}}
		return &api.Claimed{Allocation: ask("w/1"), Node: "n", Plan: plan}
	}
	placed := func(key, node string) api.Event {
		a := ask(key)
		a.Node = api.NodeID(node)
		return api.Placed{Allocation: a}
	}
	evicted := func(key string) api.Event { return &api.EvictionRequested{Allocation: ask(key)} }
	ended := func(key string, cause api.EndCause) api.Event {
		return &api.Ended{Allocation: ask(key), Cause: cause, Message: "why"}
	}
	foreign := &api.EvictionRequested{Allocation: &api.Allocation{Key: "other/n", Origin: api.Foreign}}
	for _, c := range []struct {
		name    string
		effects api.Effects
		want    string // empty where all is well
	}{
		{"evicted once", api.Effects{placed("w/1", "n"), evicted("w/1")}, ""},
		{"evicted twice", api.Effects{placed("w/1", "n"), evicted("w/1"), evicted("w/1")}, "at 0s: the pod w/1 was evicted twice"},
		{"a stubborn one evicted twice", api.Effects{placed("s/1", "n"), evicted("s/1"), evicted("s/1")}, "at 0s: the pod s/1 was evicted twice"},
		{"a foreign one evicted twice", api.Effects{foreign, foreign}, "at 0s: the foreign pod other/n was evicted twice"},
		{"placed where nominated", api.Effects{nominated("w/1", "n"), placed("w/1", "n")}, ""},
		{"placed elsewhere", api.Effects{nominated("w/1", "n"), placed("w/1", "m")}, ""},
		{"nominated again", api.Effects{nominated("w/1", "n"), notNominated("w/1", "n", api.EndOfRoom), nominated("w/1", "m")}, ""},
		{"placed, and nominated no more", api.Effects{nominated("w/1", "n"), notNominated("w/1", "n", api.EndPlaced), placed("w/1", "n")}, ""},
		{"nominated no more elsewhere", api.Effects{nominated("w/1", "n"), notNominated("w/1", "m", api.EndOfRoom)}, "at 0s: the nomination of the pod w/1 to m ended while n makes room for it"},
		{"nominated twice", api.Effects{nominated("w/1", "n"), nominated("w/1", "m")}, "at 0s: the pod w/1 was nominated to m while n makes room for it"},
		{"chosen and evicted", api.Effects{placed("s/1", "n"), chosen("s/1"), evicted("s/1")}, ""},
		{"chosen and not evicted", api.Effects{placed("s/1", "n"), chosen("s/1")}, "at 0s: the pod s/1 was chosen to make room and was not evicted"},
		{"nominated when placed", api.Effects{placed("w/1", "n"), nominated("w/1", "m")}, "at 0s: the pod w/1 was nominated to m and does not wait"},
		{"nominated and not known", api.Effects{nominated("w/9", "n")}, "at 0s: the pod w/9 was nominated to n and does not wait"},
		{"nominated to no node", api.Effects{nominated("w/1", "x")}, "at 0s: the pod w/1 was nominated to x, which is not there"},
		{"ended without a request", api.Effects{placed("w/1", "n"), ended("w/1", api.CauseReleased)}, "at 0s: pod w/1 was released without a request: why"},
		{"preempted without a confirmation", api.Effects{placed("w/1", "n"), evicted("s/1"), ended("w/1", api.CausePreempted)}, "at 0s: pod w/1 was released without a request: why"},
		{"wasted", api.Effects{placed("s/1", "n"), evicted("s/1"), wasted("w/1", "n", "w/9", outcomes.AskRemoved)}, ""},
		{"wasted and runs", api.Effects{placed("s/1", "n"), evicted("s/1"), wasted("w/1", "n", "s/1", outcomes.AskRemoved)}, "at 0s: the pod s/1 is wasted, and has not ended"},
		{"wasted for one that runs there", api.Effects{placed("w/1", "n"), wasted("w/1", "n", "w/9", outcomes.NodeChanged)}, "at 0s: victims for the pod w/1 are wasted, by node changed, and it runs on n"},
		{"not bound", api.Effects{placed("w/1", "n"), ended("w/1", api.CauseBindFailed)}, ""},
		{"adopted", api.Effects{api.Adopted{Allocation: ask("w/1")}}, "at 0s: pod w/1 was adopted on  and was not reported there"},
		{"nominated and bound to a node", api.Effects{nominated("d/n", "m")}, "at 0s: the pod d/n was nominated to m and may run on n only"},
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
			for _, p := range cluster.pods.byKey {
				if p.nominated != "" {
					nominees++
				}
			}
			assert.Equal(t, cluster.books.nominated.value, nominees)
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
	for _, e := range c.events.take(0) {
		e.do()
	}
	c.inbox = nil // it was told
	return c
}

// A pod that is taken back has no node in view any more, and the core may say so
// later.
func TestNominationEndsWithThePod(t *testing.T) {
	c := lawsCluster(t)
	w := &api.Allocation{Key: "w/1"}
	c.deliver(api.Effects{&api.Claimed{Allocation: w, Node: "n", Plan: &preemptor.Decision{}}})
	assert.Equal(t, c.books.nominated.value, int64(1))
	c.pods.cancel(c.pods.byKey["w/1"])
	c.deliver(api.Effects{&api.ClaimEnded{Allocation: w, Node: "n", Nominated: true}})
	assert.Equal(t, c.books.nominated.value, int64(0))
	assert.NilError(t, c.broken)
}

// The first members of a group are placed in one step, as many as must: of subgroups that count so many, with as many of their parts.
func TestGroupsStartWhole(t *testing.T) {
	member := func(name, least, subgroup, each string) api.Event {
		return api.Placed{Allocation: &api.Allocation{Tags: map[string]string{
			api.TagQuorum: name, api.TagQuorumLeast: least, api.TagQuorumSubgroup: subgroup, api.TagQuorumSubgroupLeast: each,
		}}}
	}
	flat, pair := member("flat", "2", "", ""), func(subgroup string) api.Event { return member("pairs", "2", subgroup, "2") }
	leader, worker := member("tree", "1", "a/leaders", "2/1"), member("tree", "1", "a/workers", "2/2")
	for _, c := range []struct {
		name  string
		steps []api.Effects
		want  []string
	}{
		{"enough", []api.Effects{{flat, flat}, {flat}}, nil},
		{"one after the other", []api.Effects{{flat}, {flat}}, []string{"flat"}},
		{"by itself", []api.Effects{{member("", "", "", "")}}, nil},
		{"again after a restart", []api.Effects{{api.Adopted{Allocation: flat.(api.Placed).Allocation}}, {flat}}, nil},
		{"two subgroups", []api.Effects{{pair("a"), pair("b"), pair("b"), pair("a")}}, nil},
		{"one and a half", []api.Effects{{pair("a"), pair("b"), pair("b")}}, []string{"pairs"}},
		{"a replica", []api.Effects{{leader, worker, worker}}, nil},
		{"a part without the other", []api.Effects{{worker, worker}}, []string{"tree"}},
		{"too little of a part", []api.Effects{{leader, worker}}, []string{"tree"}},
	} {
		s, broken := starts{}, []string(nil)
		for _, effects := range c.steps {
			broken = append(broken, s.check(effects)...)
		}
		assert.DeepEqual(t, broken, c.want)
	}
}
