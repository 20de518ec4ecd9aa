package webservice

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// TestSort: a list is in the order that is asked for, and paged after that.
func TestSort(t *testing.T) {
	h := newWorld(t).service(t).Handler()
	for target, want := range map[string][]string{
		"nodes?sort=nodeID&fields=nodeID":                                   {"node-1", "node-2"},
		"nodes?sort=-nodeID&fields=nodeID":                                  {"node-2", "node-1"},
		"nodes?sort=-nodeID&limit=1&offset=1&fields=nodeID":                 {"node-1"},
		"nodes?sort=-nodeID&offset=5&fields=nodeID":                         nil,
		"nodes?sort=allocated.vcore&fields=nodeID":                          {"node-2", "node-1"},
		"nodes?sort=-allocated.vcore&fields=nodeID":                         {"node-1", "node-2"},
		"nodes?sort=-allocations&fields=nodeID":                             {"node-1", "node-2"},
		"nodes?sort=schedulable&fields=nodeID":                              {"node-2", "node-1"},
		"applications/active?sort=-usedResource.vcore&fields=applicationID": {"filler-app", "agents-app"},
		"applications/active?sort=usedResource.vcore&fields=applicationID":  {"agents-app", "filler-app"},
		"applications/active?sort=-submissionTime&fields=applicationID":     {"agents-app", "filler-app"},
		"preemptions?sort=time&fields=allocationKey":                        {"agent-0", "agent-1"},
		"preemptions?sort=-time&fields=allocationKey":                       {"agent-1", "agent-0"},
		"preemptions?victims=false&fields=allocationKey":                    nil,
		"preemptions?victims=true&sort=time&fields=allocationKey":           {"agent-0", "agent-1"},
		"asks?priority=100&fields=allocationKey":                            {"agent-1"},
		"asks?guaranteeState=over&fields=allocationKey":                     nil,
		"asks?priority=1&fields=allocationKey":                              nil,
		"asks?class=daemonset&fields=allocationKey":                         {"agent-1"},
		"asks?class=regular&fields=allocationKey":                           nil,
		"preemptions?user=anna&fields=allocationKey":                        {"agent-1", "agent-0"},
		"preemptions?user=roo*&limit=1&fields=allocationKey":                {"agent-1"},
		"preemptions?user=bob&fields=allocationKey":                         nil,
		"preemptions?class=regular&fields=allocationKey":                    {"agent-1", "agent-0"},
		"preemptions?class=owner&fields=allocationKey":                      nil,
		"victims?user=anna&class=regular&fields=podName":                    {"default/filler"},
		"victims?user=root&fields=podName":                                  nil,
		"victims?class=foreign&fields=podName":                              nil,
	} {
		w := ask(h, http.MethodGet, "/ws/v1/partition/default/"+target)
		assert.Equal(t, w.Code, http.StatusOK, "%s: %s", target, w.Body)
		var answer []map[string]string
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		var got []string
		for _, one := range answer {
			for _, value := range one {
				got = append(got, value)
			}
		}
		assert.DeepEqual(t, got, want)
	}
	for target, message := range map[string]string{
		"nodes?sort=allocated":         `Parameter sort is "allocated": a kind after a dot is needed for quantities, as in allocated.vcore, and for nothing else`,
		"nodes?sort=nodeID.vcore":      `Parameter sort is "nodeID.vcore": a kind after a dot is needed for quantities, as in allocated.vcore, and for nothing else`,
		"nodes?sort=allocated.unicorn": `Parameter sort names the kind "unicorn", which there is not`,
		"nodes?sort=attributes":        `Parameter sort is "attributes": there is no order of that field`,
		"asks?guaranteeState=low":      `Parameter guaranteeState is "low": one of under and waiting, over, within is needed`,
		"asks?class=foreign":           `Parameter class is "foreign": one of daemonset, placeholder, opted out, owner, regular is needed`,
		"preemptions?class=daemonset":  `Parameter class is "daemonset": one of regular, owner, foreign, opted out is needed`,
		"asks?priority=high":           `Parameter priority is "high": a whole number is needed`,
	} {
		w := ask(h, http.MethodGet, "/ws/v1/partition/default/"+target)
		assert.Equal(t, w.Code, http.StatusBadRequest, target)
		var answer failureJSON
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		assert.Equal(t, answer.Message, message)
	}
}

// TestSortAsks compares pages of sorted asks with a sort of all that were read. Asks that
// are alike stay in the order of the plain list.
func TestSortAsks(t *testing.T) {
	h := waiting(t, 40, 25, rand.New(rand.NewPCG(3, 4))).service(t).Handler()
	plain, total := readAsks(t, h, "")
	oldest := func(a, b askShown) int { return int(a.RequestTime - b.RequestTime) }
	priority := func(a, b askShown) int { return int(b.Priority - a.Priority) }
	for query, compare := range map[string]func(a, b askShown) int{"sort=requestTime": oldest, "sort=-priority": priority} {
		want := slices.Clone(plain)
		slices.SortStableFunc(want, compare)
		got, all := readAsks(t, h, query+"&limit=70&offset=30")
		assert.Equal(t, all, total)
		assert.DeepEqual(t, got, want[30:100])
	}
}

// TestSortIsQuick: the longest wait of very many asks is found while an operator
// waits for it.
func TestSortIsQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	h := waiting(t, 100, 500, rand.New(rand.NewPCG(5, 6))).service(t).Handler()
	began := time.Now()
	got, total := readAsks(t, h, "sort=requestTime&limit=50")
	assert.Equal(t, total, "50000")
	assert.Equal(t, len(got), 50)
	t.Logf("50,000 asks in %s", time.Since(began))
	assert.Assert(t, time.Since(began) < 20*time.Second)
}

// TestAsksByGuaranteeState: asks of a queue that is under and waiting are found below it, and no
// others.
func TestAsksByGuaranteeState(t *testing.T) {
	w := waiting(t, 30, 4, rand.New(rand.NewPCG(7, 8)))
	under := &api.QueueView{Path: "root.q3", Guaranteed: w.Amounts(t, 5000, 0, 0), Used: w.Amounts(t, 1000, 0, 0), Pending: w.Amounts(t, 1000, 0, 0)}
	w.Views["default"].Root.Queues = []*api.QueueView{under}
	h := w.service(t).Handler()
	got, _ := readAsks(t, h, "guaranteeState=under+and+waiting")
	want, _ := readAsks(t, h, "queue=root.q3")
	assert.Assert(t, len(want) > 0)
	assert.DeepEqual(t, got, want)
}
