package shimtest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// A counted checker counts what the shim calls.
type countedChecker struct {
	*feasibility.Checker
	mu    sync.Mutex
	calls map[string]int
}

func (c *countedChecker) count(call string, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[call] += by
}

func (c *countedChecker) SetPod(pod *v1.Pod) {
	c.count("SetPod", 1)
	c.Checker.SetPod(pod)
}

func (c *countedChecker) RemovePod(pod *v1.Pod) {
	c.count("RemovePod", 1)
	c.Checker.RemovePod(pod)
}

func (c *countedChecker) CheckNodes(pod *v1.Pod, nodes []string) []error {
	c.count("CheckNodes", 1)
	c.count("nodes", len(nodes))
	return c.Checker.CheckNodes(pod, nodes)
}

func (c *countedChecker) Check(pod *v1.Pod, node string) error {
	c.count("Check", 1)
	return c.Checker.Check(pod, node)
}

func (c *countedChecker) Reserve(ctx context.Context, pod *v1.Pod, node string) error {
	c.count("Reserve", 1)
	return c.Checker.Reserve(ctx, pod, node)
}

func (c *countedChecker) Unreserve(ctx context.Context, pod *v1.Pod, node string) {
	c.count("Unreserve", 1)
	c.Checker.Unreserve(ctx, pod, node)
}

func (c *countedChecker) PreBind(ctx context.Context, pod *v1.Pod, node string) error {
	c.count("PreBind", 1)
	return c.Checker.PreBind(ctx, pod, node)
}

func (c *countedChecker) Permit(ctx context.Context, pod *v1.Pod, node string) (func(context.Context) error, error) {
	c.count("Permit", 1)
	return c.Checker.Permit(ctx, pod, node)
}

func (c *countedChecker) PostBind(ctx context.Context, pod *v1.Pod, node string) {
	c.count("PostBind", 1)
	c.Checker.PostBind(ctx, pod, node)
}

// With a plugin compiled in that the profile does not enable, the filters are called as often as without it, and never about
// permits. Pods come, are placed, wait, and end.
func TestNoCallsWithoutPlugins(t *testing.T) {
	calls := func(o shimtest.Options) (made map[string]int) {
		synctest.Test(t, func(t *testing.T) {
			c := &countedChecker{calls: map[string]int{}}
			inner := o.Feasibility
			o.Feasibility = func(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) (shim.Feasibility, error) {
				of, err := inner(ctx, client, factory)
				c.Checker, _ = of.(*feasibility.Checker)
				return c, err
			}
			m := shimtest.New(t, o)
			for i := range 4 {
				m.AddNode(fmt.Sprint("node-", i), "cpu=3")
			}
			m.Start()
			for i := range 14 { // two more than there is room for
				m.AddPod(fmt.Sprint("web-", i), "cpu=1", shimtest.Labelled("app", "web"))
			}
			for i := range 3 {
				m.EndPod(fmt.Sprint("web-", i))
				m.Settle()
			}
			assert.Equal(t, len(m.API.Bindings()), 14)
			made = maps.Clone(c.calls)
		})
		return made
	}
	without := calls(shimtest.Options{Feasibility: filters, Preferences: scores})
	compiled, _ := compiledIn(t, "profiles: [{}]", thePlugin)
	assert.DeepEqual(t, calls(compiled), without)
	assert.Equal(t, without["Permit"]+without["PostBind"], 0)
	assert.Equal(t, without["SetPod"], 14, "a pod that gets the node where it is assumed is nothing new")
	enabled, _ := compiledIn(t, threeLicences, thePlugin)
	assert.Assert(t, calls(enabled)["Permit"] == 0 && calls(enabled)["SetPod"] > without["SetPod"], "a plugin that filters sees placements early")
}

// A plugin that does not answer before the nodes are looked at holds up nothing but questions: what happens meanwhile is taken in at
// once. The pod is told which plugin it waits for.
func TestPreFilterThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer, asked := make(chan struct{}), false
		p := &preparer{name: "Preparer", prepare: func(*v1.Pod, []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
			asked = true
			<-answer
			return nil, nil
		}}
		o, _ := compiledIn(t, everywhere("Preparer"), of(p))
		m := shimtest.New(t, o)
		m.AddNode("node-1", "cpu=8")
		m.Start()
		m.Create(shimtest.NewPod("web", "cpu=1"))
		for !asked {
			m.Advance(10 * time.Millisecond)
		}
		m.Put(shimtest.NewPod("system", "cpu=1", shimtest.Foreign, shimtest.On("node-1")))
		m.Settle()
		_, err := m.StateDump(shim.DefaultClusterID) // which looks at all that is known
		assert.NilError(t, err)
		m.Advance(2 * time.Second)
		assert.Equal(t, conditionOf(t, m, "web").Message, "plugin Preparer failed: no answer within 1s; it is asked about the pod again after a while")
		close(answer)
		m.Advance(2 * time.Minute)
		assert.DeepEqual(t, m.Booked(), []string{"system node-1 foreign", "web node-1"})
	})
}

// Plugins may choose nodes before any is looked at, or leave their filters out for a pod. A pod runs where all of them want it.
func TestPreFilterThatChoosesNodes(t *testing.T) {
	onlyOn := func(nodes ...string) func(*v1.Pod, []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
		return func(pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
			if pod.Name == "free" {
				return nil, fwk.NewStatus(fwk.Skip)
			}
			return &fwk.PreFilterResult{NodeNames: sets.New(nodes...)}, nil
		}
	}
	synctest.Test(t, func(t *testing.T) {
		first, second := &preparer{name: "First", prepare: onlyOn("node-1", "node-2")}, &preparer{name: "Second", prepare: onlyOn("node-2", "node-3")}
		o, _ := compiledIn(t, everywhere("First", "Second"), of(first), of(second))
		m := shimtest.New(t, o)
		for i := range 3 {
			m.AddNode(fmt.Sprint("node-", i+1), "cpu=1")
		}
		m.Start()
		m.AddPod("web", "cpu=1")
		assert.Equal(t, m.Pod("web").Spec.NodeName, "node-2")
		m.AddPod("late", "cpu=1")
		assert.Equal(t, m.Pod("late").Spec.NodeName, "", "its only node is full")
		m.AddPod("free", "cpu=1")
		assert.Assert(t, m.Pod("free").Spec.NodeName != "")
		for _, p := range []*preparer{first, second} {
			assert.Assert(t, p.times("web node-2") > 0 && p.times("web node-1")+p.times("web node-3") == 0, "%v", p.all())
			assert.Assert(t, !slices.ContainsFunc(p.all(), func(line string) bool { return strings.HasPrefix(line, "free ") }), "%v", p.all())
		}
	})
}
