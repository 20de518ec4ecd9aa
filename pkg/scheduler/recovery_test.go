package scheduler_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// recovered is a configuration with access lists, templates and rules of all kinds. What a
// user may not do sends an application on to the next rule.
const recovered = `
partitions:
  - preemption: {enabled: false}
    placementrules:
      - {name: provided}
      - {name: user, create: true, filter: {users: [ann]}, parent: {name: tag, value: namespace, create: true}}
      - {name: tag, value: namespace, create: true, parent: {name: fixed, value: spaces}}
    queues:
      - name: root
        submitacl: "ann,bob"
        limits: [{limit: bob, users: [bob], maxresources: {vcore: 2}, maxapplications: 3}, {limit: all, groups: [all], maxresources: {vcore: 7}, maxapplications: 7}]
        queues:
          - {name: default, submitacl: "*", limits: [{limit: eve, users: [eve], maxresources: {vcore: 1}}]}
          - {name: batch, maxapplications: 2, resources: {max: {vcore: 3}}}
          - name: spaces
            parent: true
            submitacl: "*"
            childtemplate: {resources: {max: {vcore: 4}}, properties: {application.sort.policy: fair}}
`

// A restarting shim remembers what it has sent, as pods do.
type restarting struct {
	*schedulertest.MockScheduler
	t *testing.T
	*rand.Rand
	apps map[string]*si.AddApplicationRequest
	pods map[string]*si.Allocation
}

func (s *restarting) pick(texts ...string) string { return texts[s.IntN(len(texts))] }

// step does one random thing.
func (s *restarting) step(i int) {
	now := strconv.FormatInt(time.Now().Unix(), 10)
	ids := slices.Sorted(maps.Keys(s.apps))
	keys := slices.Sorted(maps.Keys(s.pods))
	switch chance := s.IntN(10); {
	case chance < 3 || len(ids) == 0:
		namespace := s.pick("one", "two", "three")
		app := &si.AddApplicationRequest{
			ApplicationID: fmt.Sprint("app", i), PartitionName: "default", QueueName: s.pick("", "", "root.batch", "root.default", "batch"),
			Ugi:  &si.UserGroupInformation{User: s.pick("ann", "bob", "eve"), Groups: []string{"all"}},
			Tags: map[string]string{common.CreationTime: now},
		}
		if s.IntN(4) > 0 {
			app.Tags["namespace"] = namespace
			if namespace == "two" {
				app.Tags[common.AppTagNamespaceResourceQuota] = `{"resources":{"vcore":{"value":2000}}}`
			}
		}
		if s.IntN(3) == 0 {
			app.PlaceholderAsk, app.ExecutionTimeoutMilliSeconds = schedulertest.Resource(s.pick("vcore=1", "vcore=2")), time.Hour.Milliseconds()
			if s.IntN(2) == 0 {
				app.Tags[api.TagGangStart] = api.GangWhole
			}
		}
		assert.NilError(s.t, s.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{app}}))
		s.Settle()
		s.apps[app.ApplicationID] = app
	case chance < 8 || len(keys) == 0:
		pod := &si.Allocation{
			AllocationKey: fmt.Sprint("pod", i), ApplicationID: ids[s.IntN(len(ids))], PartitionName: "default",
			ResourcePerAlloc: schedulertest.Resource(s.pick("vcore=1", "vcore=500m", "vcore=2")), AllocationTags: map[string]string{common.CreationTime: now},
		}
		if s.apps[pod.ApplicationID].PlaceholderAsk != nil && s.IntN(4) > 0 {
			pod.TaskGroupName, pod.Placeholder = "workers", s.IntN(2) == 0
			if pod.ResourcePerAlloc = schedulertest.Resource("vcore=1"); !pod.Placeholder {
				pod.ResourcePerAlloc = schedulertest.Resource(s.pick("vcore=1", "vcore=500m"))
			}
		}
		assert.NilError(s.t, s.Send(pod))
		s.Settle()
		s.pods[pod.AllocationKey] = pod
	default:
		key := keys[s.IntN(len(keys))]
		if s.isLast(key) {
			return
		}
		s.Release(s.pods[key].ApplicationID, key)
		delete(s.pods, key)
	}
}

// restart begins anew with nothing, and sends nodes, applications, pods that run and pods
// that wait. An application of which a pod runs is forced. Those that wait come in one request:
// a member of a gang that is known before the placeholders is placed without them.
func (s *restarting) restart(view *api.View) {
	runs := map[string]string{}
	forced := map[string]bool{}
	for _, app := range view.Applications {
		for _, a := range app.Allocations {
			runs[string(a.Key)], forced[string(app.ID)] = string(a.Node), true
		}
	}
	s.Register()
	s.foreign(0) // before its node
	s.nodes()
	s.foreign(1)
	for _, app := range view.Applications { // in any order: the tag says when it came
		own := s.apps[string(app.ID)]
		if forced[own.ApplicationID] {
			own.Tags[common.AppTagCreateForce] = "true"
		}
		assert.NilError(s.t, s.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{own}}))
	}
	s.Settle()
	s.foreign(2)
	for _, placed := range []bool{true, false} {
		var pods []*si.Allocation
		for _, key := range slices.Sorted(maps.Keys(s.pods)) {
			pod := s.pods[key]
			if pod.NodeID = runs[key]; (pod.NodeID != "") == placed {
				pods = append(pods, pod)
			}
		}
		assert.NilError(s.t, s.Send(pods...))
		s.Settle()
	}
}

func (s *restarting) nodes() {
	for i := range 3 {
		s.AddNode(fmt.Sprint("node", i), "vcore=3")
	}
}

// foreign sends a pod of another scheduler on a node.
func (s *restarting) foreign(i int) {
	s.Foreign(fmt.Sprint("foreign", i), fmt.Sprint("node", i), "vcore=500m")
}

// isLast reports whether nothing else of an application runs that waits for more. Then it counts as
// one that runs until it has nothing, which is not known after a restart.
func (s *restarting) isLast(key string) bool {
	for _, app := range s.Look().Applications {
		if string(app.ID) == s.pods[key].ApplicationID && len(app.Allocations) == 1 && string(app.Allocations[0].Key) == key {
			return len(app.Asks) > 0
		}
	}
	return false
}

// forgetReplaced drops placeholders that have ended, since asks took their places.
func (s *restarting) forgetReplaced() {
	lives := map[string]bool{}
	for _, app := range s.Look().Applications {
		for _, a := range app.Allocations {
			lives[string(a.Key)] = true
		}
		for _, a := range app.Asks {
			lives[string(a.Key)] = true
		}
	}
	maps.DeleteFunc(s.pods, func(key string, pod *si.Allocation) bool { return pod.Placeholder && !lives[key] })
}

// forget removes applications that have no pods, of which a shim does not know after a
// restart.
func (s *restarting) forget() {
	for _, app := range s.Look().Applications {
		if len(app.Allocations)+len(app.Asks) == 0 {
			s.RemoveApplication(string(app.ID))
		}
	}
}

// standing is what must be as it was: queues with what they use, and applications with their
// queue, age, allocations and asks.
func (s *restarting) standing() string {
	var b strings.Builder
	view := s.Look()
	s.queue(&b, view.Root)
	for _, node := range view.Nodes {
		fmt.Fprintln(&b, node.ID, "foreign", s.Text(node.Occupied), "free", s.Text(node.Available))
	}
	for _, app := range view.Applications {
		fmt.Fprintln(&b, app.ID, app.Queue, app.User, app.Groups, "counts for", app.Group, "runs", app.Counts, "uses", s.Text(app.Used), app.Submitted.Unix())
		var lines []string
		for _, a := range app.Allocations {
			lines = append(lines, fmt.Sprintln(" ", a.Key, "on", a.Node, s.Text(a.Amounts), a.Created.Unix(), a.TaskGroup, a.Placeholder))
		}
		for _, a := range app.Asks {
			why := a.Reason.String()
			if a.Placeholder {
				why = "to hold a place" // a gang that starts whole says what was in its way when it was tried last
			}
			lines = append(lines, fmt.Sprintln(" ", a.Key, "waits", s.Text(a.Amounts), a.Created.Unix(), why))
		}
		slices.Sort(lines)
		b.WriteString(strings.Join(lines, ""))
	}
	return b.String()
}

func (s *restarting) queue(b *strings.Builder, q *api.QueueView) {
	fmt.Fprintln(b, q.Path, q.Leaf, q.Dynamic, q.Draining, "used", s.Text(q.Used), "pending", s.Text(q.Pending),
		"max", s.Kinds().FormatLimits(q.Max), q.Properties.ApplicationSort, q.Applications)
	for _, child := range q.Queues {
		s.queue(b, child)
	}
}

// TestARestartEndsWhereItBegan restarts in the middle of random histories, twice: dynamic
// queues, quotas of namespaces, applications that wait for others, gangs, forced applications and asks are as
// they were.
func TestARestartEndsWhereItBegan(t *testing.T) {
	seen, seeds := "", uint64(100)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			m := schedulertest.New(t, schedulertest.Options{Config: recovered, Scheduler: scheduler.Config{ReserveDelay: -1, SettleDelay: -1}})
			s := &restarting{m, t, rand.New(rand.NewPCG(seed, 40)), map[string]*si.AddApplicationRequest{}, map[string]*si.Allocation{}}
			s.nodes()
			for i := range 50 {
				if i%15 == 5 {
					s.foreign(i / 15)
				}
				s.step(i)
				s.Advance(time.Second)
			}
			s.forgetReplaced()
			s.forget()
			before := s.standing()
			for range 2 {
				s.restart(s.Look())
				assert.Equal(t, s.standing(), before, "seed %d", seed)
			}
			seen += before
		})
	}
	for _, part := range []string{
		"root.spaces.two true true", "root.one.ann true true", " root.default eve", " root.batch bob", "waits", "vcore=2", "quota", "user limit", "group limit", "counts for all", "node2 foreign vcore=500",
		"too many applications of a queue", "too many applications of a user", "too many applications of a group", "workers true", "workers false", "to hold a place", "waits for a placeholder",
	} {
		assert.Assert(t, testing.Short() || strings.Contains(seen, part), part)
	}
}
