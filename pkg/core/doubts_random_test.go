package core_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A sceptic is a partition whose resource manager refuses many asks, by class and node,
// answers for one node or for several, and is asked a few times at a stretch only.
type sceptic struct {
	*rand.Rand
	t     *testing.T
	p     *core.Partition
	now   time.Time
	left  int // questions of this stretch
	calls int
}

func (s *sceptic) class(key api.AllocationKey) string {
	if n := key[len(key)-1]; n < '5' {
		return fmt.Sprint("class ", string(n))
	}
	return ""
}

func (s *sceptic) agrees(key api.AllocationKey, node api.NodeID) bool {
	name := s.class(key)
	if name == "" {
		name = string(key)
	}
	hash := fnv.New32a()
	hash.Write([]byte(name + " " + string(node)))
	return hash.Sum32()%5 == 0
}

func (s *sceptic) feasible(key api.AllocationKey, node api.NodeID, _ bool) error {
	s.left--
	s.calls++
	if s.agrees(key, node) {
		return nil
	}
	return errors.New("no")
}

func (s *sceptic) feasibleOn(key api.AllocationKey, nodes []api.NodeID, allocate bool) (answers []error) {
	for _, node := range nodes {
		answers = append(answers, s.feasible(key, node, allocate))
	}
	return answers
}

func (s *sceptic) pace(q api.Question) time.Duration {
	if q == api.FirstQuestion || s.left > 0 {
		return 0
	}
	return time.Duration(1+s.IntN(20)) * time.Millisecond
}

func (s *sceptic) config() api.Config {
	root := api.QueueConfig{Name: "root", Parent: true}
	flat := s.IntN(2) == 0 // nothing but priorities counts
	for i := range 3 {
		q := api.QueueConfig{Name: fmt.Sprint("q", i)}
		if s.IntN(3) == 0 {
			q.Max = resources.Limits{int64(10_000 + s.IntN(30_000))}
		}
		if !flat {
			q.Properties.PriorityOffset = int32(s.IntN(3))
		}
		root.Queues = append(root.Queues, q)
	}
	return api.Config{Name: "default", Root: root, Preemption: api.PreemptionConfig{Disabled: s.IntN(4) == 0, LoopMax: 1 << 20}}
}

func (s *sceptic) node() api.NodeID       { return api.NodeID(fmt.Sprint("n", s.IntN(30))) }
func (s *sceptic) key() api.AllocationKey { return api.AllocationKey(fmt.Sprint("k", s.IntN(200))) }

func (s *sceptic) application(i int) api.ApplicationID {
	return api.ApplicationID(fmt.Sprint("a", i))
}

// command is anything.
func (s *sceptic) command() api.Command {
	switch s.IntN(12) {
	case 0, 1:
		return api.AddNode{ID: s.node(), Capacity: resources.Amounts{4000, 16 << 30, 10}}
	case 2:
		return api.RemoveNode{ID: s.node()}
	case 3:
		if s.IntN(2) == 0 {
			return api.DrainNode{ID: s.node()}
		}
		return api.UndrainNode{ID: s.node()}
	case 4:
		if s.IntN(20) == 0 {
			return api.Reconfigure{Config: s.config()}
		}
		return api.AddApplication{ID: s.application(s.IntN(3)), Queue: api.QueuePath(fmt.Sprint("root.q", s.IntN(3)))}
	case 5, 6:
		key := s.key()
		return api.ReleaseAllocation{Application: s.application(int(key[1]) % 3), Key: key}
	case 7:
		if s.IntN(20) == 0 {
			return api.RemoveApplication{ID: s.application(s.IntN(3))}
		}
		key := s.key()
		return api.ReleaseAllocation{Application: s.application(int(key[1]) % 3), Key: key, Termination: api.SchedulingFailed}
	default:
		key := s.key()
		a := ask(s.application(int(key[1])%3), string(key), int64(1+s.IntN(3))*500, 1<<30, 1)
		a.Allocation.Priority = int32(s.IntN(5))
		return a
	}
}

// run schedules, and confirms evictions.
func (s *sceptic) run(stretch int) {
	s.left = stretch
	for more := true; more; {
		var fx api.Effects
		fx, more = s.p.Schedule(s.now)
		for _, e := range fx {
			if gone, ok := e.(*api.EvictionRequested); ok {
				s.p.Apply(s.now, api.ReleaseAllocation{Application: gone.Allocation.Application, Key: gone.Allocation.Key})
				more = true
			}
		}
	}
	s.now = s.now.Add(time.Duration(s.IntN(10)) * time.Millisecond)
}

// Whatever happens while questions are broken off, refused and asked again: in the end no
// ask waits that has quota and room on a node which takes it, or would have room if less
// important allocations ended.
func TestNoAskIsForgottenAmongRefusals(t *testing.T) {
	for seed := range seeds.Of(t, 60) {
		s := &sceptic{Rand: rand.New(rand.NewPCG(seed, 0)), t: t, now: start}
		options := api.Options{Kinds: testKinds(), Feasible: s.feasible, Pace: s.pace, BatchMax: 1 + s.IntN(20), ReserveDelay: -1, RetryMax: time.Hour}
		if s.IntN(2) == 0 {
			options.FeasibleOn = s.feasibleOn
		}
		if s.IntN(2) == 0 {
			options.Constraints = s.class
		}
		s.p = core.NewPartition(options, s.config())
		for range 20 {
			for range 20 {
				for range 1 + s.IntN(4) {
					s.p.Apply(s.now, s.command())
				}
				s.run(s.IntN(12))
				assert.NilError(t, s.p.Verify())
			}
			for range 60 { // less than RetryMax: what was refused stays so
				s.now = s.now.Add(time.Second)
				s.run(1000)
			}
			assert.NilError(t, s.p.Verify())
			s.checkWaiting(seed)
		}
	}
}

func (s *sceptic) checkWaiting(seed uint64) {
	v := s.p.View()
	queues := map[api.QueuePath]*api.QueueView{v.Root.Path: v.Root}
	for _, q := range v.Root.Queues {
		queues[q.Path] = q
	}
	running := map[api.NodeID][]*api.Allocation{}
	queueOf := map[api.AllocationKey]*api.QueueView{}
	for _, app := range v.Applications {
		for _, a := range app.Allocations {
			running[a.Node] = append(running[a.Node], a)
			queueOf[a.Key] = queues[app.Queue]
		}
	}
	seen := func(q *api.QueueView, a *api.Allocation) int32 { return a.Priority + q.Properties.PriorityOffset }
	for _, app := range v.Applications {
		for _, ask := range app.Asks {
			q := queues[app.Queue]
			if !q.Max.Room(q.Used, ask.Amounts) || ask.Waiting.Reason == api.BindFailed {
				continue
			}
			for _, n := range v.Nodes {
				if !n.Schedulable || !s.agrees(ask.Key, n.ID) || len(n.Reservations)+len(n.Nominated) > 0 {
					continue
				}
				room := n.Available.Clone()
				for _, other := range running[n.ID] {
					if !v.Config.Preemption.Disabled && seen(queueOf[other.Key], other) < seen(q, ask.Allocation) {
						room.Add(other.Amounts)
					}
				}
				if ask.Amounts.FitsIn(room) {
					s.t.Fatalf("seed %d: %s waits (%v) and %s takes it", seed, ask.Key, ask.Waiting, n.ID)
				}
			}
		}
	}
}
