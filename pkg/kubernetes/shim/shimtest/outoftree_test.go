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
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/outoftree"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/outoftree/example/licences"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// threeLicences is a profile with the plugin of the example, and aLicence its word for pods that take one.
const threeLicences = "profiles: [{plugins: {multiPoint: {enabled: [{name: Licences, weight: 2}]}}, pluginConfig: [{name: Licences, args: {pools: {simulator: 3}}}]}]"

var thePlugin = outoftree.Plugin{Name: licences.Name, New: licences.New}

var aLicence = shimtest.Labelled(licences.PoolLabel, "simulator")

// said reports whether an event says something about a pod.
func said(m *shimtest.MockScheduler, text string) bool {
	return slices.ContainsFunc(m.Events(), func(e string) bool { return strings.Contains(e, text) })
}

// A filter plugin that is compiled in keeps pods from all nodes, with its arguments and in its words, and the end of a pod for which
// it registered has them tried at once, on other nodes than that one too.
func TestFilterPluginThatIsCompiledIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, _ := compiledIn(t, threeLicences, thePlugin)
		m := shimtest.New(t, o)
		m.AddNode("node-1", "cpu=8")
		m.AddNode("node-2", "cpu=8")
		m.Start()
		for i := range 5 { // at once, so that the core decides about them before it announces the first
			m.Put(shimtest.NewPod(fmt.Sprint("web-", i), "cpu=1", aLicence))
		}
		m.AddPod("free", "cpu=1")
		m.Advance(5 * time.Second)
		assert.Equal(t, len(m.API.Bindings()), 4)
		assert.Assert(t, !said(m, "reserving"), "%v", m.Events())
		nodes := map[string]bool{}
		for i := range 3 {
			nodes[m.Pod(fmt.Sprint("web-", i)).Spec.NodeName] = true
		}
		assert.Equal(t, len(nodes), 1, "the plugin prefers one node: %v", nodes)
		condition := conditionOf(t, m, "web-4")
		assert.Equal(t, condition.Reason, string(v1.PodReasonUnschedulable))
		assert.Assert(t, strings.Contains(condition.Message, "plugin Licences: all 3 licences of simulator are in use (2 nodes)"), condition.Message)

		m.EndPod("web-0")
		m.Advance(1500 * time.Millisecond)
		assert.Equal(t, len(m.API.Bindings()), 5)
		assert.DeepEqual(t, m.Booked(), m.Expected())
	})
}

// conditionOf is the condition that says why a pod waits.
func conditionOf(t *testing.T, m *shimtest.MockScheduler, name string) v1.PodCondition {
	t.Helper()
	for _, c := range m.Pod(name).Status.Conditions {
		if c.Type == v1.PodScheduled {
			return c
		}
	}
	t.Fatalf("pod %s has no condition", name)
	return v1.PodCondition{}
}

// A more important pod takes the licence of another one: the plugin is asked what would be without the victim, on a copy of its state.
func TestPreemptionAsksAFilterPlugin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, _ := compiledIn(t, threeLicences, thePlugin)
		m := shimtest.New(t, o)
		m.AddNode("node-1", "cpu=8")
		m.Start()
		m.AddPod("plain", "cpu=1")
		for i := range 3 {
			m.AddPod(fmt.Sprint("low-", i), "cpu=1", aLicence)
		}
		m.Advance(time.Second)
		m.AddPod("high", "cpu=1", aLicence, shimtest.Priority(10))
		m.Advance(5 * time.Second)
		deleted := m.API.Deleted()
		assert.Equal(t, len(deleted), 1, "%v", deleted)
		assert.Assert(t, strings.HasPrefix(deleted[0], "low-"))
		m.EndPod(deleted[0])
		m.Advance(5 * time.Second)
		assert.Equal(t, m.Pod("high").Spec.NodeName, "node-1")
		assert.DeepEqual(t, m.Booked(), m.Expected())
	})
}

// A plugin that scores decides which node is best, by its weight beside other scores, also where it brings its scores into the
// range by itself. Pods that it skips go where they would go without.
func TestScorePluginThatIsCompiledIn(t *testing.T) {
	for name, c := range map[string]*chooser{
		"in range":   {score: func(n *v1.Node) (int64, *fwk.Status) { return int64(100 * len(n.Labels["liked"])), nil }},
		"normalized": {score: func(n *v1.Node) (int64, *fwk.Status) { return int64(len(n.Labels["liked"])) - 1, nil }, normalize: shifted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, logged := compiledIn(t, "profiles: [{plugins: {multiPoint: {enabled: [{name: Chooser, weight: 10}]}}}]", of(c))
				m := shimtest.New(t, o)
				for i := range 4 {
					node := shimtest.NewNode(fmt.Sprint("node-", i), "cpu=8")
					if i == 2 {
						node.Labels["liked"] = "x"
					}
					m.Create(node)
				}
				m.Start()
				for i := range 4 {
					m.AddPod(fmt.Sprint("web-", i), "cpu=1")
					assert.Equal(t, m.Pod(fmt.Sprint("web-", i)).Spec.NodeName, "node-2")
				}
				m.AddPod("other", "cpu=1", shimtest.Labelled("indifferent", "yes"))
				assert.Assert(t, m.Pod("other").Spec.NodeName != "node-2")
				assert.Equal(t, logged.Len(), 0, "%v", logged.All())
			})
		})
	}
}

// shifted makes scores from -1 to 0 such from 0 to 100.
func shifted(scores fwk.NodeScoreList) *fwk.Status {
	for i := range scores {
		scores[i].Score = 100 * (scores[i].Score + 1)
	}
	return nil
}

// A score plugin that fails or panics, or gives more points than there are, counts for nothing; others do, and pods run.
func TestScorePluginThatFails(t *testing.T) {
	for name, c := range map[string]*chooser{
		"fails":            {score: func(*v1.Node) (int64, *fwk.Status) { return 0, fwk.AsStatus(errNever) }},
		"panics":           {score: func(n *v1.Node) (int64, *fwk.Status) { panic(n.Name) }},
		"out of range":     {score: func(*v1.Node) (int64, *fwk.Status) { return 101, nil }},
		"fails afterwards": {score: func(*v1.Node) (int64, *fwk.Status) { return 7, nil }, normalize: func(fwk.NodeScoreList) *fwk.Status { return fwk.AsStatus(errNever) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, logged := compiledIn(t, everywhere("Chooser"), of(c))
				m := shimtest.New(t, o)
				m.AddNode("node-1", "cpu=8")
				m.AddNode("node-2", "cpu=8")
				m.Start()
				m.AddPod("web", "cpu=1")
				assert.Assert(t, m.Pod("web").Spec.NodeName != "")
				assert.Equal(t, logged.All()[0].ContextMap()["plugin"], "Chooser")
				assert.Equal(t, logged.All()[0].ContextMap()["pod"], "default/web")
			})
		})
	}
}

// A score plugin that does not return for one node has the pod wait a second, and another time not at all.
func TestScorePluginThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		o, logged := compiledIn(t, everywhere("Chooser"), of(&chooser{score: func(n *v1.Node) (int64, *fwk.Status) {
			if n.Name == "node-2" {
				<-hang
			}
			return 0, nil
		}}))
		m := shimtest.New(t, o)
		m.AddNode("node-1", "cpu=1")
		m.AddNode("node-2", "cpu=1")
		m.Start()
		for i := range 4 {
			m.AddPod(fmt.Sprint("web-", i), "cpu=2")
		}
		for i := range 2 {
			m.AddPod(fmt.Sprint("small-", i), "cpu=1")
		}
		m.Advance(3 * time.Second)
		assert.Equal(t, len(m.API.Bindings()), 2)
		assert.Equal(t, logged.All()[0].ContextMap()["plugin"], "Chooser")
		assert.Equal(t, logged.All()[0].ContextMap()["error"], "no answer within 1s; it is asked about the pod again after a while")
		close(hang)
	})
}

// What follows the choice of a node comes in the order of the framework, once for each pod.
func TestPointsAfterTheChoiceOfANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gatekeeper{}
		o, _ := compiledIn(t, everywhere("Gatekeeper"), of(g))
		m := shimtest.New(t, o)
		m.AddNode("node-1", "cpu=8")
		m.Start()
		m.AddPod("web", "cpu=1")
		assert.DeepEqual(t, g.all(), []string{"reserve web node-1", "permit web node-1", "preBind web node-1", "postBind web node-1"})
		assert.DeepEqual(t, m.API.Bindings(), []string{"web node-1"})
	})
}

// A plugin that does not answer when a node is to be reserved holds up what is placed after the pod, and nothing else: what
// happens meanwhile to the pod, and to others, is taken in at once.
func TestReserveThatHangs(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(m *shimtest.MockScheduler)
		booked    []string
		notes     []string // of the plugin
	}{
		"another pod comes": {
			func(m *shimtest.MockScheduler) {
				m.Put(shimtest.NewPod("system", "cpu=1", shimtest.Foreign, shimtest.On("node-1")))
			},
			[]string{"system node-1 foreign", "web node-1"},
			[]string{"reserve web node-1", "permit web node-1", "preBind web node-1", "postBind web node-1"},
		},
		"the pod ends": {
			func(m *shimtest.MockScheduler) { m.EndPod("web") },
			[]string{},
			[]string{"reserve web node-1", "unreserve web node-1"},
		},
		"the pod is bound elsewhere": {
			func(m *shimtest.MockScheduler) { m.ChangePod("web", func(p *v1.Pod) { p.Spec.NodeName = "node-2" }) },
			[]string{"web node-2"},
			[]string{"reserve web node-1", "unreserve web node-1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer := make(chan struct{})
				g := &gatekeeper{gatekeeping: gatekeeping{reserve: func(*v1.Pod) *fwk.Status { <-answer; return nil }}}
				o, _ := compiledIn(t, everywhere("Gatekeeper"), of(g))
				m := shimtest.New(t, o)
				m.AddNode("node-1", "cpu=8")
				m.Start()
				m.AddPod("web", "cpu=1")
				if name == "the pod is bound elsewhere" {
					m.AddNode("node-2", "cpu=8")
				}
				c.meanwhile(m)
				m.Settle()
				_, err := m.StateDump(shim.DefaultClusterID) // which looks at all that is known
				assert.NilError(t, err)
				close(answer)
				m.Advance(time.Second / 2)
				assert.DeepEqual(t, m.Booked(), c.booked)
				assert.DeepEqual(t, g.all(), c.notes)
			})
		})
	}
}

// A pod that is not permitted waits with the reason, and room and reservation are free. It is tried again after a while, or sooner
// when something happens for which the plugin registered. The same holds where the plugin refuses it before or after that.
func TestRefusedAfterTheChoiceOfANode(t *testing.T) {
	no := fwk.NewStatus(fwk.Unschedulable, "not today")
	for point, refuse := range map[string]func(*gatekeeper, *fwk.Status){
		"reserve": func(g *gatekeeper, s *fwk.Status) { g.reserve = func(*v1.Pod) *fwk.Status { return s } },
		"permit": func(g *gatekeeper, s *fwk.Status) {
			g.permit = func(*v1.Pod) (*fwk.Status, time.Duration) { return s, 0 }
		},
		"preBind": func(g *gatekeeper, s *fwk.Status) {
			g.preBind = func(context.Context, *v1.Pod) *fwk.Status { return s }
		},
	} {
		t.Run(point, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &gatekeeper{}
				refuse(g, no)
				o, _ := compiledIn(t, everywhere("Gatekeeper"), of(g))
				m := shimtest.New(t, o)
				m.AddNode("node-1", "cpu=8")
				m.Start()
				m.AddPod("web", "cpu=8")
				m.Advance(time.Minute) // it is refused at 0, 1, 3, 7, 15 and 31 seconds
				assert.Equal(t, g.times("reserve web node-1"), 6)
				assert.Equal(t, g.times("unreserve web node-1"), 6)
				assert.DeepEqual(t, m.Booked(), []string{"web -"})
				assert.Equal(t, m.Node("node-1").Allocations, 0)
				assert.Assert(t, said(m, "plugin Gatekeeper: not today"), "%v", m.Events())
				condition := conditionOf(t, m, "web")
				assert.Equal(t, condition.Reason, "BindingFailed")
				assert.Assert(t, strings.Contains(condition.Message, "plugin Gatekeeper: not today"), condition.Message)

				g.change(func() { refuse(g, nil) })
				m.ChangeNode("node-1", func(n *v1.Node) { n.Labels["door"] = "open" })
				m.Advance(time.Second)
				assert.DeepEqual(t, m.Booked(), []string{"web node-1"})
				assert.Equal(t, g.times("postBind web node-1"), 1)
			})
		})
	}
}

// Events do not have a pod tried without end that is refused each time: there is a pause as with kube-scheduler.
func TestEventsDoNotHurryWhatIsRefusedEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gatekeeper{gatekeeping: gatekeeping{permit: func(*v1.Pod) (*fwk.Status, time.Duration) { return fwk.NewStatus(fwk.Unschedulable, "no"), 0 }}}
		o, _ := compiledIn(t, everywhere("Gatekeeper"), of(g))
		m := shimtest.New(t, o)
		m.AddNode("node-1", "cpu=8")
		m.Start()
		m.AddPod("web", "cpu=1")
		for i := range 600 {
			m.ChangeNode("node-1", func(n *v1.Node) { n.Labels["turn"] = fmt.Sprint(i) })
			m.Advance(100 * time.Millisecond)
		}
		tried := g.times("permit web node-1")
		assert.Assert(t, tried >= 7 && tried <= 10, "%d", tried) // after 1, 3, 7, 15, 25, 35, 45, 55 s
	})
}

// Pods wait until a plugin allows or rejects them, or until their time is over. They hold up no other pod meanwhile.
func TestPodsWaitForAPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gatekeeper{}
		g.permit = func(pod *v1.Pod) (*fwk.Status, time.Duration) {
			if pod.Labels["patient"] == "" {
				return nil, 0
			}
			return fwk.NewStatus(fwk.Wait), time.Minute
		}
		o, _ := compiledIn(t, everywhere("Gatekeeper"), of(g))
		m := shimtest.New(t, o)
		m.AddNode("node-1", "cpu=500")
		m.Start()
		for i := range 100 { // more than there are workers
			m.Create(shimtest.NewPod(fmt.Sprint("web-", i), "cpu=1", shimtest.Labelled("patient", "yes")))
		}
		m.AddPod("other", "cpu=1")
		assert.Equal(t, m.Pod("other").Spec.NodeName, "node-1")
		assert.Equal(t, len(g.waiting()), 100)
		assert.Equal(t, m.Node("node-1").Allocations, 101)
		m.Advance(5 * time.Second) // so many events are written in a second
		assert.Assert(t, said(m, "web-0 AwaitsPermit"), "%v", m.Events())

		g.handle.GetWaitingPod("uid-web-0").Allow("Gatekeeper")
		g.handle.GetWaitingPod("uid-web-1").Reject("Gatekeeper", "too late")
		m.Advance(5 * time.Second)
		assert.Equal(t, m.Pod("web-0").Spec.NodeName, "node-1")
		assert.Equal(t, g.times("unreserve web-1 node-1"), 1)
		assert.Assert(t, said(m, "web-1 FailedScheduling: not permitted on node node-1: plugin Gatekeeper: too late"), "%v", m.Events())

		g.change(func() { g.permit = nil })
		m.Advance(2 * time.Minute)
		assert.Assert(t, said(m, "web-2 FailedScheduling: not permitted on node node-1: plugin Gatekeeper: rejected due to timeout"), "%v", m.Events())
		assert.Equal(t, len(g.waiting()), 0)
		assert.Equal(t, len(m.API.Bindings()), 101)
		assert.DeepEqual(t, m.Booked(), m.Expected())
	})
}

// A pod that ends while it waits for its permit is given up, and so is one whose room a more important pod needs; that one does not
// have to wait for the permit of the other.
func TestPodsThatWaitForAPermitMayEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gatekeeper{}
		g.permit = func(pod *v1.Pod) (*fwk.Status, time.Duration) {
			if strings.HasPrefix(pod.Name, "high") {
				return nil, 0
			}
			return fwk.NewStatus(fwk.Wait), 10 * time.Minute
		}
		o, _ := compiledIn(t, everywhere("Gatekeeper"), of(g))
		m := shimtest.New(t, o)
		m.AddNode("node-1", "cpu=2")
		m.Start()
		m.AddPod("low-1", "cpu=1")
		m.AddPod("low-2", "cpu=1")
		assert.DeepEqual(t, g.waiting(), []string{"low-1", "low-2"})
		m.EndPod("low-1")
		m.Advance(time.Second)
		assert.DeepEqual(t, g.waiting(), []string{"low-2"})
		assert.Equal(t, g.times("unreserve low-1 node-1"), 1)

		m.AddPod("high", "cpu=2", shimtest.Priority(10))
		m.Advance(10 * time.Second)
		assert.Equal(t, m.Pod("high").Spec.NodeName, "node-1")
		assert.Equal(t, len(m.API.Deleted()), 0, "it never ran, so it waits again")
		assert.Equal(t, g.times("unreserve low-2 node-1"), 1)
		assert.DeepEqual(t, m.Booked(), m.Expected())
	})
}

// After a binding that failed, also one that another scheduler was faster with, what was reserved is given back.
func TestUnreserveAfterAFailedBinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gatekeeper{}
		o, _ := compiledIn(t, everywhere("Gatekeeper"), of(g))
		m := shimtest.New(t, o)
		m.AddNode("node-1", "cpu=8")
		m.AddNode("node-2", "cpu=8")
		m.API.Fail(shimtest.Faults{Bind: failing(1, false, errForbids)})
		m.Start()
		m.AddPod("web", "cpu=1")
		m.Advance(5 * time.Second)
		node := m.Pod("web").Spec.NodeName
		assert.Assert(t, node != "")
		first := strings.Fields(g.all()[0])[2]
		assert.Equal(t, g.times("unreserve web "+first), 1)
		assert.Equal(t, g.times("postBind web "+node), 1)
		assert.Equal(t, g.times("unreserve web "+node), 0)
	})
}

// The members of a pod group wait for each other's permits, as with plugins that schedule groups: the last one lets the others run.
// One that is refused is tried again by itself, since the others run.
func TestPodGroupsAndPermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gatekeeper{}
		var refused atomic.Bool
		g.permit = func(pod *v1.Pod) (*fwk.Status, time.Duration) {
			if pod.Name == "train-1" && !refused.Swap(true) {
				return fwk.NewStatus(fwk.Unschedulable, "not yet"), 0
			}
			if len(g.waiting()) < 2 {
				return fwk.NewStatus(fwk.Wait), time.Minute
			}
			g.handle.IterateOverWaitingPods(func(p fwk.WaitingPod) { p.Allow("Gatekeeper") })
			return nil, 0
		}
		o, _ := compiledIn(t, everywhere("Gatekeeper"), of(g))
		m := shimtest.New(t, o)
		m.API.Serve(shimtest.PodGroupResource.GroupVersion(), shimtest.PodGroupResource.Resource)
		m.AddNode("node-1", "cpu=8")
		m.Start()
		m.Create(shimtest.NewPodGroup("train", 3))
		for i := range 3 {
			m.AddPod(fmt.Sprint("train-", i), "cpu=1", inGroup("train"))
		}
		assert.Equal(t, len(m.API.Bindings()), 0)
		assert.DeepEqual(t, g.waiting(), []string{"train-0", "train-2"})
		m.Advance(10 * time.Second)
		assert.Equal(t, len(m.API.Bindings()), 3)
		assert.DeepEqual(t, m.Booked(), m.Expected())
	})
}

// Placeholders of a gang are pods like others for plugins. Those that still wait for their permits when the gang has its room never
// run: the pods of the gang have it, and wait for permits of their own.
func TestGangsAndPermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gatekeeper{gatekeeping: gatekeeping{permit: waits(time.Minute)}}
		o, _ := compiledIn(t, everywhere("Gatekeeper"), of(g))
		w := gangWorld{shimtest.New(t, o)}
		w.AddNode("node-1", "cpu=2")
		w.Start()
		w.gang(2, "", "one", "two")
		w.Advance(5 * time.Second)
		assert.DeepEqual(t, g.waiting(), []string{"one", "two"})
		assert.Equal(t, g.times("permit "+holder(0)+" node-1"), 1)
		assert.Equal(t, g.times("unreserve "+holder(0)+" node-1"), 1)
		assert.Equal(t, len(w.API.Bindings()), 0)
		g.handle.IterateOverWaitingPods(func(p fwk.WaitingPod) { p.Allow("Gatekeeper") })
		w.Advance(5 * time.Second)
		assert.DeepEqual(t, w.Booked(), []string{"one node-1", "two node-1"})
		assert.DeepEqual(t, w.Booked(), w.Expected())
	})
}

// A scheduler that is stopped gives up pods that wait for their permits, without an end of its own for them. The next one
// schedules them anew.
func TestRestartWhilePodsWaitForAPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gatekeeper{gatekeeping: gatekeeping{permit: waits(10 * time.Minute)}}
		o, _ := compiledIn(t, everywhere("Gatekeeper"), of(g))
		m := shimtest.New(t, o)
		m.AddNode("node-1", "cpu=8")
		m.Start()
		m.AddPod("web", "cpu=1")
		assert.DeepEqual(t, g.waiting(), []string{"web"})
		began := time.Now()
		m.Stop()
		assert.Assert(t, time.Since(began) < time.Second, "it does not wait for permits")
		assert.Equal(t, g.times("unreserve web node-1"), 1)
		assert.Equal(t, len(m.API.Bindings()), 0)

		next := &gatekeeper{}
		o, _ = compiledIn(t, everywhere("Gatekeeper"), of(next))
		o.API = m.API
		m = shimtest.New(t, o)
		m.Start()
		assert.DeepEqual(t, m.API.Bindings(), []string{"web node-1"})
		assert.Equal(t, next.times("permit web node-1"), 1)
	})
}

// A filter plugin that panics, fails or does not return keeps the pod from running that it was asked about, with a reason that
// names the plugin, and disturbs no other pod. When it is well again the pod runs.
func TestFilterPluginThatFails(t *testing.T) {
	hang := make(chan struct{})
	for name, c := range map[string]struct {
		fails func() *fwk.Status
		says  string
	}{
		"panics":  {func() *fwk.Status { panic("oh") }, "plugin Broken failed: Filter: panic: oh"},
		"fails":   {func() *fwk.Status { return fwk.AsStatus(errors.New("no connection")) }, "plugin Broken failed: no connection"},
		"hangs":   {func() *fwk.Status { <-hang; return nil }, "plugin Broken failed: no answer within 1s"},
		"nothing": {func() *fwk.Status { return fwk.NewStatus(fwk.Unschedulable) }, "plugin Broken: plugin Broken refuses the pod"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hang = make(chan struct{})
				var well atomic.Bool
				p := &filterer{"Broken", func(pod *v1.Pod, _ *v1.Node) *fwk.Status {
					if !well.Load() && pod.Name == "bad" {
						return c.fails()
					}
					return nil
				}}
				o, logged := compiledIn(t, everywhere("Broken"), of(p))
				m := shimtest.New(t, o)
				m.AddNode("node-1", "cpu=8")
				m.Start()
				m.AddPod("bad", "cpu=1")
				m.Advance(5 * time.Second)
				m.AddPod("good", "cpu=1")
				assert.Equal(t, m.Pod("good").Spec.NodeName, "node-1")
				condition := conditionOf(t, m, "bad")
				assert.Assert(t, strings.Contains(condition.Message, c.says), condition.Message)
				if name != "nothing" {
					fields := logged.FilterFieldKey("plugin").All()[0].ContextMap()
					assert.Equal(t, fields["plugin"], "Broken")
					assert.Equal(t, fields["pod"], "default/bad")
				}
				well.Store(true)
				close(hang)
				m.Advance(2 * time.Minute) // it registers no events, and is asked again after a minute at the latest
				assert.Equal(t, m.Pod("bad").Spec.NodeName, "node-1")
			})
		})
	}
}

// A plugin that panics after the choice of a node has the pod tried again, and what was reserved given back.
func TestPluginThatPanicsAfterTheChoiceOfANode(t *testing.T) {
	once := func() (panics func()) {
		var done atomic.Bool
		return func() {
			if !done.Swap(true) {
				panic("oh")
			}
		}
	}
	for point, set := range map[string]func(*gatekeeper, func()){
		"Reserve": func(g *gatekeeper, p func()) { g.reserve = func(*v1.Pod) *fwk.Status { p(); return nil } },
		"Permit": func(g *gatekeeper, p func()) {
			g.permit = func(*v1.Pod) (*fwk.Status, time.Duration) { p(); return nil, 0 }
		},
		"PreBind": func(g *gatekeeper, p func()) {
			g.preBind = func(context.Context, *v1.Pod) *fwk.Status { p(); return nil }
		},
		"PostBind": func(g *gatekeeper, p func()) { g.postBind = func(*v1.Pod) { p() } },
	} {
		t.Run(point, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &gatekeeper{}
				set(g, once())
				o, logged := compiledIn(t, everywhere("Gatekeeper"), of(g))
				m := shimtest.New(t, o)
				m.AddNode("node-1", "cpu=8")
				m.Start()
				m.AddPod("web", "cpu=1")
				m.Advance(5 * time.Second)
				assert.Equal(t, m.Pod("web").Spec.NodeName, "node-1")
				assert.Equal(t, logged.All()[0].ContextMap()["at"], point)
				assert.Equal(t, g.times("unreserve web node-1"), map[bool]int{true: 0, false: 1}[point == "PostBind"])
				assert.Equal(t, said(m, "plugin Gatekeeper failed: "+point+": panic: oh"), point != "PostBind")
			})
		})
	}
}

// A pod that a plugin without events has refused is tried again with any event, as with kube-scheduler.
func TestPluginWithoutEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open atomic.Bool
		p := &filterer{"Door", func(*v1.Pod, *v1.Node) *fwk.Status {
			if open.Load() {
				return nil
			}
			return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "closed")
		}}
		o, _ := compiledIn(t, everywhere("Door"), of(p))
		m := shimtest.New(t, o)
		m.AddNode("node-1", "cpu=8")
		m.Start()
		m.AddPod("web", "cpu=1")
		m.Advance(5 * time.Second)
		open.Store(true)
		m.Create(service("any"), volume("any")[0])
		m.Advance(1500 * time.Millisecond)
		assert.Equal(t, m.Pod("web").Spec.NodeName, "node-1")
	})
}

// Pods are asked about one by one, as a plugin may look at anything in a pod; those which a plugin says are alike, once.
func TestPodsThatAPluginSaysAreAlike(t *testing.T) {
	for _, signs := range []bool{false, true} {
		t.Run(fmt.Sprint(signs), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := map[string]int{}
				f := &filterer{"Kinds", func(pod *v1.Pod, _ *v1.Node) *fwk.Status {
					asked[pod.Labels["kind"]]++
					return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "never")
				}}
				var p fwk.Plugin = f
				if signs {
					p = &signer{f}
				}
				o, _ := compiledIn(t, everywhere("Kinds"), of(p))
				m := shimtest.New(t, o)
				m.AddNode("node-1", "cpu=80")
				m.Start()
				for i := range 20 {
					m.Put(shimtest.NewPod(fmt.Sprint("web-", i), "cpu=1", shimtest.Labelled("kind", fmt.Sprint(i%2))))
				}
				m.Advance(5 * time.Second)
				if signs {
					assert.Assert(t, asked["0"] < 10 && asked["1"] < 10, "%v", asked)
				} else {
					assert.Assert(t, asked["0"] >= 10 && asked["1"] >= 10, "%v", asked)
				}
			})
		})
	}
}
