package shimtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

var (
	errNever   = errors.New("never")
	errForbids = apierrors.NewForbidden(schema.GroupResource{Resource: "pods/binding"}, "web", errors.New("a webhook refuses it"))
	errBusy    = apierrors.NewTooManyRequests("busy", 1)
	errTimeout = context.DeadlineExceeded
	errServer  = apierrors.NewInternalError(errors.New("the server broke"))
)

// failing lets bindings fail so many times for each pod.
func failing(times int, carriedOut bool, err error) func(*v1.Pod, string) (bool, error) {
	seen := map[string]int{}
	return func(pod *v1.Pod, _ string) (bool, error) {
		seen[pod.Name]++
		if seen[pod.Name] <= times {
			return carriedOut, err
		}
		return true, nil
	}
}

// A binding that fails is tried again where that may help, and elsewhere after that. Whatever
// happens, the pod is counted once and runs once.
func TestBindingsThatFail(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault func(*v1.Pod, string) (bool, error)
		// how often the API server was asked, and whether the pod ran without waiting
		binds, reads int
		atOnce       bool
	}{
		{"at first busy", failing(1, false, errBusy), 2, 0, false},
		{"timed out and was not carried out", failing(1, false, errTimeout), 2, 1, false},
		{"timed out and was carried out", failing(1, true, errTimeout), 1, 1, true},
		{"the server broke after it was carried out", failing(1, true, errServer), 1, 1, true},
		{"timed out again and again, then elsewhere", failing(4, false, errTimeout), 5, 4, false},
		{"refused, then elsewhere", failing(1, false, errForbids), 2, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := shimtest.New(t, shimtest.Options{})
				m.Create(shimtest.NewNode("node-1", "cpu=4"), shimtest.NewNode("node-2", "cpu=4"))
				m.Start()
				m.API.Fail(shimtest.Faults{Bind: c.fault})
				m.AddPod("web", "cpu=1")
				assert.Equal(t, m.Pod("web").Spec.NodeName != "", c.atOnce)
				m.Advance(5 * time.Second)
				assert.DeepEqual(t, m.Booked(), m.Expected())
				assert.Equal(t, len(m.API.Bindings()), 1)
				assert.Equal(t, m.API.Requests("bind"), c.binds)
				assert.Equal(t, m.API.Requests("get"), c.reads)
				node := m.Pod("web").Spec.NodeName
				assert.DeepEqual(t, m.Feasibility.PodsOn(node), []string{"web"})
				assert.Equal(t, m.Feasibility.Reserved("web"), node)
			})
		})
	}
}

// A pod that can never be bound stays an ask with the reason, is tried on other nodes, and
// takes nothing. Its event says why.
func TestBindingThatNeverSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.Create(shimtest.NewNode("node-1", "cpu=4"), shimtest.NewNode("node-2", "cpu=4"))
		m.Start()
		tried := map[string]int{}
		m.API.Fail(shimtest.Faults{Bind: func(_ *v1.Pod, node string) (bool, error) {
			tried[node]++
			return false, errForbids
		}})
		m.AddPod("web", "cpu=1")
		m.Advance(10 * time.Minute)
		assert.DeepEqual(t, m.Booked(), []string{"web -"})
		assert.Equal(t, m.Node("node-1").Allocated+m.Node("node-2").Allocated, "nothingnothing")
		assert.Assert(t, tried["node-1"] > 1 && tried["node-2"] > 1, "%v", tried)
		assert.Assert(t, tried["node-1"]+tried["node-2"] < 40, "it waits longer each time: %v", tried)
		assert.Equal(t, len(m.Feasibility.PodsOn("node-1"))+len(m.Feasibility.PodsOn("node-2")), 0)
		assert.Equal(t, m.Feasibility.Reserved("web"), "")
		assert.Assert(t, strings.Contains(strings.Join(m.Events(), "\n"), "web FailedBinding: "+errForbids.Error()), "%q", m.Events())
	})
}

// Nothing is tried with a pod as long as the API server does not say what came of a binding.
func TestUnknownOutcomeIsResolvedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=4")
		m.Start()
		down := errors.New("connection refused")
		m.API.Fail(shimtest.Faults{
			Bind: failing(1000, false, errTimeout),
			Get:  func(string) error { return down },
		})
		m.AddPod("web", "cpu=1")
		m.Advance(10 * time.Minute)
		assert.Equal(t, m.API.Requests("bind"), 1)
		assert.DeepEqual(t, m.Booked(), []string{"web node-1"})
		m.API.Fail(shimtest.Faults{})
		m.Advance(time.Minute)
		assert.DeepEqual(t, m.API.Bindings(), []string{"web node-1"})
		assert.DeepEqual(t, m.Booked(), m.Expected())
	})
}

// While the API server answers no question about a pod, an informer may say which node it has.
// Then nothing more is asked, and a pod that was bound elsewhere is counted there.
func TestInformerKnowsTheOutcome(t *testing.T) {
	for _, node := range []string{"node-1", "node-2"} {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{})
			m.Create(shimtest.NewNode("node-1", "cpu=4"), shimtest.NewNode("node-2", "cpu=1"))
			m.Start()
			m.API.Fail(shimtest.Faults{
				Bind: failing(1, false, errTimeout),
				Get:  func(string) error { return errors.New("connection refused") },
			})
			m.AddPod("web", "cpu=1", shimtest.Selects("node-1"))
			m.Advance(time.Second)
			asked := m.API.Requests("get")
			assert.Assert(t, asked > 1)
			assert.NilError(t, m.API.Bind(m.Pod("web"), "", node))
			m.Settle()
			state, err := m.Scheduler.StateDump(shim.DefaultClusterID)
			assert.NilError(t, err)
			assert.Assert(t, !strings.Contains(state, `"binding":true`), "it is known at once")
			m.Advance(10 * time.Minute)
			assert.Equal(t, m.API.Requests("get"), asked)
			assert.Equal(t, m.API.Requests("bind"), 1)
			assert.DeepEqual(t, m.Booked(), []string{"web " + node})
			assert.DeepEqual(t, m.Feasibility.PodsOn(node), []string{"web"})
		})
	}
}

// A binding that is carried out after the pod was given up there counts: the pod runs where
// the API server says, and nowhere else.
func TestLateBinding(t *testing.T) {
	for _, placedAgain := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{})
			m.Create(shimtest.NewNode("node-1", "cpu=4"), shimtest.NewNode("node-2", "cpu=4"))
			m.Start()
			first := ""
			m.API.Fail(shimtest.Faults{Bind: func(pod *v1.Pod, node string) (bool, error) {
				if first == "" || first == node {
					first = node
					return false, errTimeout
				}
				// The late one is carried out right before this one.
				assert.NilError(t, m.API.Bind(pod, pod.UID, first))
				return true, nil
			}})
			m.AddPod("web", "cpu=1")
			m.Advance(700 * time.Millisecond) // three attempts are over, the core waits for a second
			assert.DeepEqual(t, m.Booked(), []string{"web -"})
			if !placedAgain {
				assert.NilError(t, m.API.Bind(m.Pod("web"), "", first))
			}
			m.Advance(5 * time.Second)
			assert.DeepEqual(t, m.Booked(), []string{"web " + first})
			assert.DeepEqual(t, m.Booked(), m.Expected())
			assert.DeepEqual(t, m.Feasibility.PodsOn(first), []string{"web"})
		})
	}
}

// Another scheduler binds a pod of ours while it waits here.
func TestBoundByAnotherScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=4")
		m.Start()
		m.AddPod("web", "cpu=100")
		assert.NilError(t, m.API.Bind(m.Pod("web"), "", "node-1"))
		m.Settle()
		assert.DeepEqual(t, m.Booked(), []string{"web node-1"})
	})
}

// A pod ends while it is being bound: nothing of it stays.
func TestPodEndsWhileItIsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=4")
		m.Start()
		m.API.Fail(shimtest.Faults{Bind: failing(1000, false, errTimeout), Get: func(string) error { return errServer }})
		m.AddPod("web", "cpu=1")
		m.EndPod("web")
		m.Advance(time.Minute)
		assert.DeepEqual(t, m.Booked(), []string{})
		assert.Equal(t, m.Feasibility.Reserved("web"), "")
		assert.Equal(t, len(m.Feasibility.PodsOn("node-1")), 0)
	})
}

// The node of a pod goes while the pod is being bound, and comes back: the pod waits, and
// nothing is counted twice.
func TestNodeGoesWhileAPodIsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=4")
		m.Start()
		m.API.Fail(shimtest.Faults{Bind: failing(1000, false, errBusy)})
		m.AddPod("web", "cpu=1")
		m.RemoveNode("node-1")
		m.Advance(time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"web -"})
		m.AddNode("node-1", "cpu=4")
		assert.DeepEqual(t, m.Booked(), []string{"web node-1"}) // it is tried again
		assert.Equal(t, m.Node("node-1").Allocated, "pods=1 vcore=1000")
		m.RemoveNode("node-1")
		m.API.Fail(shimtest.Faults{})
		m.AddNode("node-1", "cpu=4")
		m.Advance(time.Second)
		assert.DeepEqual(t, m.Booked(), m.Expected())
		assert.DeepEqual(t, m.API.Bindings(), []string{"web node-1"})
	})
}

// A node goes while something is made ready for a pod there: the pod is not bound to it any more.
func TestNodeGoesBeforeAPodIsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.Feasibility.OnPreBind = func(*v1.Pod, string) error {
			time.Sleep(time.Second / 2)
			return nil
		}
		m.AddNode("node-1", "cpu=4")
		m.Start()
		m.AddPod("web", "cpu=1")
		m.RemoveNode("node-1")
		m.Advance(time.Second)
		assert.Equal(t, len(m.API.Bindings()), 0, "%v", m.API.Bindings())
		m.AddNode("node-2", "cpu=4")
		m.Advance(time.Second)
		assert.DeepEqual(t, m.API.Bindings(), []string{"web node-2"})
	})
}

// Volumes that are not ready, and those that cannot be reserved, have the pod tried again.
func TestVolumesThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=4")
		reserves, prepares := 0, 0
		m.Feasibility.OnReserve = func(*v1.Pod, string) error {
			if reserves++; reserves == 1 {
				return errNever
			}
			return nil
		}
		m.Feasibility.OnPreBind = func(*v1.Pod, string) error {
			if prepares++; prepares == 1 {
				return errNever
			}
			return nil
		}
		m.Start()
		m.AddPod("db", "cpu=1", func(pod *v1.Pod) {
			pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
				PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
			}}}
		})
		assert.DeepEqual(t, m.Booked(), []string{"db -"})
		m.Advance(10 * time.Second)
		assert.DeepEqual(t, m.Booked(), m.Expected())
		assert.Equal(t, reserves, 3)
		assert.Equal(t, prepares, 2)
		assert.Equal(t, m.Feasibility.Reserved("db"), "node-1")
	})
}

// Five thousand pods pile up while the scheduler does not run, and then one binding in
// seven times out, half of them carried out. Each pod is bound once and counted.
func TestPodsPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		const count, nodes = 5000, 100
		for i := range nodes {
			m.Create(shimtest.NewNode(fmt.Sprintf("node-%d", i), "cpu=100 pods=200"))
		}
		for i := range count {
			m.Create(shimtest.NewPod(fmt.Sprintf("pod-%d", i), "cpu=1", shimtest.Application(fmt.Sprintf("app-%d", i%10))))
		}
		most, under, n := 0, 0, 0
		m.API.Fail(shimtest.Faults{Bind: func(*v1.Pod, string) (bool, error) {
			under++
			most = max(most, under)
			under--
			n++
			return n%14 != 0, map[bool]error{true: errTimeout}[n%7 == 0]
		}})
		m.Start()
		m.Advance(5 * time.Minute)
		assert.Equal(t, len(m.API.Bindings()), count)
		bound := slices.Compact(slices.Sorted(slices.Values(m.API.Bindings())))
		assert.Equal(t, len(bound), count, "each once")
		assert.DeepEqual(t, m.Booked(), m.Expected())
	})
}

// No more pods are bound at once than there are workers, 32 by default.
func TestBindingsAreBounded(t *testing.T) {
	for option, workers := range map[int]int{4: 4, 0: 32} {
		synctest.Test(t, func(t *testing.T) {
			var under, most atomic.Int32
			gate := make(chan struct{})
			f := shimtest.NewFeasibility()
			f.OnPreBind = func(*v1.Pod, string) error {
				if now := under.Add(1); now > most.Load() {
					most.Store(now)
				}
				<-gate
				under.Add(-1)
				return nil
			}
			m := shimtest.New(t, shimtest.Options{Shim: shim.Options{BindWorkers: option, Feasibility: f}})
			m.AddNode("node-1", "cpu=100")
			m.Start()
			for i := range 80 {
				m.Create(shimtest.NewPod(fmt.Sprintf("pod-%d", i), "cpu=1"))
			}
			assert.Equal(t, int(under.Load()), workers)
			close(gate)
			m.Settle()
			assert.Assert(t, int(most.Load()) <= workers, "%d", most.Load())
			assert.Equal(t, len(m.API.Bindings()), 80)
			assert.DeepEqual(t, m.Booked(), m.Expected())
		})
	}
}
