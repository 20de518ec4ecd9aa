package scheduler_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// What the storm consists of: so many equal asks, which so many nodes refuse, at so much
// time a question. With the race detector there are a tenth of the asks.
const (
	stormNodes    = 500
	stormQuestion = 20 * time.Microsecond
)

var stormAsks = map[bool]int{false: 1000, true: 100}[raced]

const twoLeaves = `
partitions:
- name: default
  queues:
  - name: root
    queues:
    - name: stormy
    - name: calm
`

var errStorm = errors.New("the label does not match")

// A question is one call of Predicates: when it began, and how long it took.
type question struct {
	at   time.Time
	took time.Duration
}

// A storm is a resource manager that refuses the asks of the storm on every node and
// agrees to all others. Each question takes virtual time.
type storm struct {
	*schedulertest.MockScheduler
	began time.Time

	mu        sync.Mutex
	questions []question // about asks of the storm
}

// asked is how many questions there were.
func (s *storm) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.questions)
}

func (s *storm) answer(key string) error {
	time.Sleep(stormQuestion)
	if strings.HasPrefix(key, "calm") {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.questions = append(s.questions, question{time.Now().Add(-stormQuestion), stormQuestion})
	return errStorm
}

// begin sends the asks of the storm.
func (s *storm) begin(t *testing.T) {
	t.Helper()
	s.addNodes(t)
	s.began = time.Now()
	assert.NilError(t, s.Send(s.asks("stormy", "storm", stormAsks)...))
}

func (s *storm) addNodes(t *testing.T) {
	t.Helper()
	s.AddApplication("stormy", "root.stormy")
	s.AddApplication("calm", "root.calm")
	request := &si.NodeRequest{RmID: "rm"}
	for i := range stormNodes {
		request.Nodes = append(request.Nodes, node(fmt.Sprintf("node-%03d", i), si.NodeInfo_CREATE, "vcore=100 pods=10"))
	}
	assert.NilError(t, s.UpdateNode(request))
	s.Settle()
}

func (s *storm) asks(app, prefix string, n int) (list []*si.Allocation) {
	for i := range n {
		list = append(list, &si.Allocation{
			AllocationKey: fmt.Sprint(prefix, "-", i), ApplicationID: app, PartitionName: "default",
			ResourcePerAlloc: schedulertest.Resource("vcore=1"),
		})
	}
	return list
}

// latency is how long an ask waits that the predicates agree to.
func (s *storm) latency(t *testing.T, app, key string) time.Duration {
	t.Helper()
	sent := time.Now()
	a := s.asks(app, key, 1)
	assert.NilError(t, s.Send(a...))
	s.WaitPlaced(a[0].AllocationKey)
	return time.Since(sent)
}

// questionTime is the most time that questions took in any window of a length, of those that
// began at a time or later.
func (s *storm) questionTime(from time.Time, window time.Duration) (most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum time.Duration
	first := 0
	for i, q := range s.questions {
		if q.at.Before(from) {
			first = i + 1
			continue
		}
		sum += q.took
		for !s.questions[first].at.After(q.at.Add(-window)) {
			sum -= s.questions[first].took
			first++
		}
		most = max(most, sum)
	}
	return most
}

// options are those of a resource manager that answers question by question and
// does not say which asks are alike.
func (s *storm) options() schedulertest.Options {
	return schedulertest.Options{
		Config: twoLeaves, Plain: true,
		Predicates: func(args *si.PredicatesArgs) error { return s.answer(args.AllocationKey) },
	}
}

// A thousand equal asks are refused on every node, question by question. At any moment of
// that an ask of another queue is placed within ten milliseconds. All nodes are asked
// about each ask, once. A minute later they are asked again, in a tenth of the time, and
// that holds up nothing either.
func TestAStormOfRefusedAsks(t *testing.T) {
	if testing.Short() {
		t.Skip("large, and played without the race detector")
	}
	s := new(storm)
	bubble(t, s.options(), func(t *testing.T, m *schedulertest.MockScheduler) {
		s.MockScheduler = m
		s.begin(t)
		var other, same time.Duration
		for i := 0; s.asked() < stormAsks*stormNodes; i++ {
			other = max(other, s.latency(t, "calm", fmt.Sprint("calm-other-", i)))
			same = max(same, s.latency(t, "stormy", fmt.Sprint("calm-same-", i)))
			time.Sleep(time.Duration(i%97) * time.Millisecond / 7)
			assert.Assert(t, time.Since(s.began) < 30*time.Second, "%d questions", s.asked())
		}
		took := time.Since(s.began)
		t.Logf("first round: %v, other queue at most %v, same leaf at most %v", took, other, same)
		assert.Assert(t, other <= 10*time.Millisecond, "%v", other)
		first := time.Duration(stormAsks) * stormQuestion // each older ask of the leaf is asked about once before
		assert.Assert(t, same <= max(first, 10*time.Millisecond), "%v", same)
		assert.Equal(t, s.asked(), stormAsks*stormNodes)

		// The second round.
		m.Advance(time.Until(s.began.Add(time.Minute)) - time.Second)
		again := time.Now()
		assert.Equal(t, s.asked(), stormAsks*stormNodes)
		other = 0
		for i := 0; time.Since(again) < 5*time.Second; i++ {
			other = max(other, s.latency(t, "calm", fmt.Sprint("calm-again-", i)))
			time.Sleep(time.Duration(i%89) * time.Millisecond)
		}
		asked := s.asked() - stormAsks*stormNodes
		most := s.questionTime(again, time.Second)
		t.Logf("repeated: %d questions in 5s, at most %v in a second, other queue at most %v", asked, most, other)
		assert.Assert(t, other <= 10*time.Millisecond, "%v", other)
		assert.Assert(t, asked > 15_000, "%d", asked)
		assert.Assert(t, most <= 110*time.Millisecond, "%v", most)
	})
}

// Where the resource manager says that the asks are alike, one of them is asked about.
func TestAStormOfAlikeAsks(t *testing.T) {
	s := new(storm)
	options := s.options()
	options.Plain = false
	options.PredicateClass = func(key string) string { return key[:4] }
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		s.MockScheduler = m
		s.begin(t)
		assert.Assert(t, s.latency(t, "stormy", "calm") <= 10*time.Millisecond)
		m.Advance(30 * time.Second)
		assert.Equal(t, s.asked(), stormNodes)
		m.Advance(time.Minute)
		assert.Equal(t, s.asked(), 2*stormNodes)
	})
}

// Where it can be asked about several nodes at once, up to 64 are: after calls with 1,
// 4 and 16 nodes eight more are needed.
func TestAStormAskedAboutManyNodesAtOnce(t *testing.T) {
	s := new(storm)
	options := s.options()
	options.Plain = false
	options.PredicateClass = func(key string) string { return key[:4] }
	var calls atomic.Int32
	var nodes sync.Map
	options.PredicatesOnNodes = func(args *scheduler.PredicatesOnNodesArgs) []error {
		calls.Add(1)
		answers := make([]error, len(args.NodeIDs))
		for i, id := range args.NodeIDs {
			nodes.Store(id, true)
			answers[i] = s.answer(args.AllocationKey)
		}
		return answers
	}
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		s.MockScheduler = m
		s.begin(t)
		m.Advance(30 * time.Second)
		assert.Equal(t, s.asked(), stormNodes)
		assert.Equal(t, len(maps.Collect(nodes.Range)), stormNodes)
		assert.Assert(t, calls.Load() <= stormNodes/64+4, "%d calls", calls.Load())
		m.Advance(time.Minute)
		assert.Equal(t, s.asked(), 2*stormNodes)
	})
}
