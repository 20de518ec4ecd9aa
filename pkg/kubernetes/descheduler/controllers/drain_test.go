package controllers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/drain"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/evictors"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// byLabel has a label open drains, of one node at a time.
var byLabel = NodeProblemArgs{Labels: []string{"drain=yes"}, Taints: []string{"maintenance:NoSchedule"}, MaxNodes: 1}

// node is a node as the API server has it.
func (c *cluster) node(name string) *v1.Node {
	n, err := c.client.CoreV1().Nodes().Get(c.t.Context(), name, metav1.GetOptions{})
	assert.NilError(c.t, err)
	return n
}

// status is what a node says of its drain.
func (c *cluster) status(name string) *drain.Status {
	s := drain.Of(c.node(name))
	assert.Assert(c.t, s != nil, "node %s says nothing of a drain", name)
	return s
}

// label sets the label of a node, or takes it away, and lets it be seen.
func (c *cluster) label(name string, on bool) {
	n := c.node(name)
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	if n.Labels["drain"] = "yes"; !on {
		delete(n.Labels, "drain")
	}
	c.update(n)
	c.wait(0)
}

// events are those of nodes since the last time.
func (c *cluster) events() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	told := c.told
	c.told = nil
	return told
}

func (c *cluster) refuses(name string, refuse bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse[name] = refuse
}

// gauges are the metrics of drains, with the value of their label.
func (c *cluster) gauges() (lines []string) {
	families, err := c.metrics.Gather()
	assert.NilError(c.t, err)
	for _, f := range families {
		if !strings.Contains(f.GetName(), "_drain") {
			continue
		}
		for _, m := range f.GetMetric() {
			lines = append(lines, fmt.Sprint(f.GetName(), " ", m.GetLabel()[0].GetValue(), " ", m.GetGauge().GetValue()))
		}
	}
	return lines
}

// budget is one for all pods of the namespace that have a label.
func budget(name string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

func (c *cluster) allow(name string, allowed int32) {
	assert.NilError(c.t, c.client.Tracker().Update(policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), budget(name, allowed), "team"))
	c.wait(0)
}

// app gives a pod the label app.
func app(name string, p *v1.Pod) *v1.Pod {
	p.Labels = map[string]string{"app": name}
	return p
}

// TestDrainOpensAndEnds: a label opens a drain at once. The node is cordoned before the first pod leaves, says how far its drain is, and
// is as it was before when the label is taken away.
func TestDrainOpensAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		daemon := newPod("daemon", "a")
		daemon.OwnerReferences[0].Kind = "DaemonSet"
		c := startWith(t, byLabel, policy.Limits{}, newNode("a"), newNode("b"), newPod("p1", "a"), newPod("p2", "a"), daemon)
		var closed []bool
		c.client.PrependReactor("create", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
			n, err := c.client.Tracker().Get(v1.SchemeGroupVersion.WithResource("nodes"), "", "a")
			closed = append(closed, err == nil && n.(*v1.Node).Spec.Unschedulable)
			return false, nil, nil
		})
		c.label("a", true)
		assert.DeepEqual(t, c.take(), []string{"1s p1", "1s p2"})
		assert.DeepEqual(t, closed, []bool{true, true})
		c.wait(time.Second)
		s := c.status("a")
		assert.Equal(t, s.State, drain.Drained)
		assert.Equal(t, s.By, "label drain=yes")
		assert.Assert(t, s.Cordoned && s.Left == 0 && len(s.Pods) == 0, "%+v", s)
		assert.DeepEqual(t, c.events(), []string{"a DrainOpened: drain opened by label drain=yes: 2 pods to leave", "a Drained: drained after 0s"})

		done := newPod("done", "a") // it changes nothing
		done.Status.Phase = v1.PodSucceeded
		assert.NilError(t, c.client.Tracker().Add(done))
		c.wait(time.Hour)
		assert.Equal(t, len(c.events()), 0)
		c.label("a", false)
		n := c.node("a")
		assert.Assert(t, !n.Spec.Unschedulable && len(n.Annotations) == 0, "%+v", n)
		assert.DeepEqual(t, c.events(), []string{"a DrainEnded: the label drain=yes is gone after 1h0m1s, with 0 pods left"})
	})
}

// TestDrainCordonsWhatIsOpen: what closes the node itself, or was closed before, is neither cordoned nor opened.
func TestDrainCordonsWhatIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := newNode("b")
		closed.Spec.Unschedulable = true
		c := startWith(t, byLabel, policy.Limits{}, newNode("a"), closed, newNode("c"), newPod("p", "a"))
		n := newNode("a")
		n.Spec.Taints = []v1.Taint{{Key: "maintenance", Effect: v1.TaintEffectNoExecute}}
		c.update(n)
		c.wait(time.Minute)
		assert.Equal(t, len(c.take()), 0) // another effect
		n.Spec.Taints[0].Effect = v1.TaintEffectNoSchedule
		c.update(n)
		c.wait(time.Second)
		assert.Equal(t, len(c.take()), 1)
		assert.Assert(t, !c.node("a").Spec.Unschedulable)
		c.label("b", true)
		assert.Equal(t, c.status("b").State, drain.Drained)
		c.label("b", false)
		assert.Assert(t, c.node("b").Spec.Unschedulable && drain.Of(c.node("b")) == nil)
		// The taint that Kubernetes adds to a cordoned node keeps no drain open, and a node that was opened by hand meanwhile stays so.
		c.args.Taints = append(c.args.Taints, v1.TaintNodeUnschedulable)
		c.label("c", true)
		n = c.node("c")
		n.Spec.Taints = []v1.Taint{{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}}
		c.update(n)
		c.wait(time.Minute)
		assert.Equal(t, c.status("c").By, "label drain=yes")
		n.Spec.Unschedulable = false
		c.update(n)
		assert.NilError(t, c.client.Tracker().Add(newPod("kept", "c")))
		c.wait(time.Hour)
		assert.Equal(t, c.status("c").Left, 1)
		assert.Assert(t, !c.node("c").Spec.Unschedulable)
		c.label("c", false)
		assert.Assert(t, drain.Of(c.node("c")) == nil)
	})
}

// TestDrainSaysWhatBlocksIt: the node says which pods are left, why and since when; an event comes when that changes, and not each time
// that a pod is tried. It closes when they have left.
func TestDrainSaysWhatBlocksIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startWith(t, byLabel, policy.Limits{}, newNode("a"), newNode("b"), budget("web", 0),
			app("web", newPod("web-0", "a")), newPod("kept", "a"), newPod("free", "a"))
		c.refuses("web-0", true)
		c.label("a", true)
		c.wait(time.Second)
		assert.DeepEqual(t, c.take(), []string{"1s free"})
		s := c.status("a")
		assert.Equal(t, s.State, drain.Blocked)
		assert.Equal(t, s.Kept(), "team/kept: Keep: it is kept; team/web-0: budget web allows no eviction now")
		assert.Equal(t, s.Pods[1].Since, s.Since)
		blocked := "a DrainBlocked: 2 pods left: team/kept: Keep: it is kept; team/web-0: budget web allows no eviction now"
		assert.DeepEqual(t, c.events(), []string{"a DrainOpened: drain opened by label drain=yes: 3 pods to leave", blocked})
		for range 60 { // pods come and go elsewhere
			assert.NilError(t, c.client.Tracker().Add(newPod("other", "b")))
			c.wait(30 * time.Second)
			assert.NilError(t, c.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), "team", "other"))
			c.wait(30 * time.Second)
		}
		assert.Equal(t, len(c.events()), 0)
		assert.Equal(t, c.status("a").Pods[1].Since, s.Pods[1].Since)
		assert.DeepEqual(t, c.gauges(), []string{
			"descheduler_drain_pods_left a 2", "descheduler_drain_seconds a 3601",
			"descheduler_draining_nodes Blocked 1", "descheduler_draining_nodes Drained 0",
			"descheduler_draining_nodes Draining 0", "descheduler_draining_nodes Waiting 0",
		})

		c.refuses("web-0", false)
		c.allow("web", 1)
		c.wait(time.Second)
		assert.DeepEqual(t, c.take(), []string{"3602s web-0"})
		assert.DeepEqual(t, c.events(), []string{"a DrainBlocked: 1 pod left: team/kept: Keep: it is kept"})
		assert.NilError(t, c.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), "team", "kept"))
		c.wait(0)
		assert.DeepEqual(t, c.events(), []string{"a Drained: drained after 1h0m2s"})
	})
}

// TestBudgetsWithoutABurst: of many pods that a budget keeps one is asked about in a turn, and when the budget allows one more at once.
func TestBudgetsWithoutABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects := []runtime.Object{newNode("a"), newNode("b"), budget("web", 0)}
		for i := range 50 {
			objects = append(objects, app("web", newPod(fmt.Sprintf("web-%02d", i), "a")))
		}
		c := startWith(t, byLabel, policy.Limits{}, objects...)
		for i := range 50 {
			c.refuses(fmt.Sprintf("web-%02d", i), true)
		}
		asked := 0
		c.client.PrependReactor("create", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
			asked++
			return false, nil, nil
		})
		c.label("a", true)
		assert.Equal(t, asked, 1)
		c.refuses("web-00", false)
		c.allow("web", 1)
		assert.DeepEqual(t, c.take(), []string{"1s web-00"})
		assert.Equal(t, asked, 3)
		c.allow("web", 0)
		c.wait(time.Hour) // in which nothing happens
		assert.Assert(t, asked <= 4, "%d", asked)
		for range 60 {
			c.update(c.node("b"))
			c.wait(time.Minute)
		}
		assert.Assert(t, asked > 10 && asked < 20, "%d", asked)
	})
}

// TestBudgetIsGone: pods that a budget kept leave at once when it is deleted, though they were refused a moment before.
func TestBudgetIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startWith(t, byLabel, policy.Limits{}, newNode("a"), newNode("b"), budget("web", 0), app("web", newPod("web-0", "a")), app("web", newPod("web-1", "a")))
		c.refuses("web-0", true)
		c.refuses("web-1", true)
		c.label("a", true)
		assert.Equal(t, len(c.take()), 0)
		c.refuses("web-0", false)
		c.refuses("web-1", false)
		assert.NilError(t, c.client.PolicyV1().PodDisruptionBudgets("team").Delete(t.Context(), "web", metav1.DeleteOptions{}))
		c.wait(5 * time.Second)
		assert.Equal(t, len(c.take()), 2)
	})
}

// TestEventWhileAPodIsNotAsked: what happens while a pod is not asked about again is not forgotten.
func TestEventWhileAPodIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startWith(t, byLabel, policy.Limits{}, newNode("a"), newNode("b"), budget("web", 0), app("web", newPod("web-0", "a")), newPod("kept", "a"))
		c.refuses("web-0", true)
		c.label("a", true)
		c.refuses("web-0", false)
		assert.NilError(t, c.client.CoreV1().Pods("team").Delete(t.Context(), "kept", metav1.DeleteOptions{})) // so there is another turn, too early
		c.wait(9 * time.Minute)                                                                                // less than a drain without progress holds up others
		assert.Equal(t, len(c.take()), 1)
	})
}

// TestDrainEndsAtOnce: pods that have not left stay when the taint or label is gone, and the node is open.
func TestDrainEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := 1
		c := startWith(t, byLabel, policy.Limits{PerNode: &one}, newNode("a"), newNode("b"), newPod("p1", "a"), newPod("p2", "a"))
		c.label("a", true)
		assert.Equal(t, len(c.take()), 1)
		assert.Equal(t, c.status("a").State, drain.Draining)
		c.label("a", false)
		assert.Assert(t, !c.node("a").Spec.Unschedulable)
		c.wait(time.Hour)
		assert.Equal(t, len(c.take()), 0)
		assert.DeepEqual(t, c.events()[1:], []string{"a DrainEnded: the label drain=yes is gone after 0s, with 1 pod left"})
		assert.Equal(t, len(c.gauges()), 4)
	})
}

// TestDrainTakesRequestsBack: pods whose owners were asked to move them are not asked for any more when the label is taken away.
func TestDrainTakesRequestsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, byLabel, policy.Limits{}, newNode("a"), newNode("b"), newPod("p", "a"))
		c.soft = true
		c.run()
		asked := func() bool {
			p, err := c.client.CoreV1().Pods("team").Get(t.Context(), "p", metav1.GetOptions{})
			assert.NilError(t, err)
			_, asked := p.Annotations[evictors.SoftAnnotation]
			return asked
		}
		c.label("a", true)
		c.wait(time.Minute)
		assert.Assert(t, asked())
		assert.Equal(t, c.status("a").Left, 1)
		c.label("a", false)
		c.wait(time.Second)
		assert.Assert(t, !asked())
		assert.Assert(t, drain.Of(c.node("a")) == nil)
		c.wait(time.Hour)
		assert.Assert(t, !asked())
	})
}

// TestDrainsOfSelectedNodes: a node that the policy does not select is not drained, whatever it has. One that is not selected any more is left as
// it was before, and one that is selected later is drained then.
func TestDrainsOfSelectedNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := func(n *v1.Node, on bool) *v1.Node {
			if n.Labels == nil {
				n.Labels = map[string]string{}
			}
			if n.Labels["pool"] = "ours"; !on {
				delete(n.Labels, "pool")
			}
			return n
		}
		c := newCluster(t, byLabel, policy.Limits{}, pool(newNode("a"), true), newNode("b"), newNode("c"), newPod("pa", "a"), newPod("pb", "b"), newPod("kept", "a"))
		var err error
		c.nodes, err = labels.Parse("pool=ours")
		assert.NilError(t, err)
		c.run()
		c.label("a", true)
		c.label("b", true)
		c.wait(time.Minute)
		assert.DeepEqual(t, c.take(), []string{"1s pa"})
		assert.Assert(t, drain.Of(c.node("b")) == nil && !c.node("b").Spec.Unschedulable)
		c.update(pool(c.node("a"), false))
		c.wait(time.Minute)
		assert.Assert(t, drain.Of(c.node("a")) == nil && !c.node("a").Spec.Unschedulable)
		c.update(pool(c.node("b"), true))
		c.wait(time.Second)
		assert.Equal(t, len(c.take()), 1)
		assert.Equal(t, c.status("b").State, drain.Drained)

		p := c.policy() // it selects none of these any more
		p.NodeSelector = labels.Nothing()
		assert.NilError(t, c.running.Reload(t.Context(), p))
		c.wait(time.Minute)
		assert.Assert(t, drain.Of(c.node("b")) == nil && !c.node("b").Spec.Unschedulable)
	})
}

// TestDrainsOfSeveralNodes: one node drains at a time, in the order in which the drains were opened, and the others say for which they wait.
// They take nothing new meanwhile. One that is blocked holds the others up for a while only.
func TestDrainsOfSeveralNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startWith(t, byLabel, policy.Limits{}, newNode("a"), newNode("b"), newNode("c"), newNode("d"),
			newPod("pa", "a"), newPod("pb", "b"), newPod("pc", "c"), newPod("pd", "d"))
		c.refuses("pb", true)
		c.refuses("pc", true)
		c.label("c", true)
		c.wait(time.Second)
		c.label("b", true)
		c.label("a", true)
		for _, name := range []string{"a", "b"} {
			s := c.status(name)
			assert.Equal(t, s.State, drain.Waiting, name)
			assert.Equal(t, s.WaitsFor, "c")
			assert.Assert(t, c.node(name).Spec.Unschedulable, name)
		}
		assert.Equal(t, len(c.take()), 0)
		assert.DeepEqual(t, c.events(), []string{
			"c DrainOpened: drain opened by label drain=yes: 1 pod to leave", "c DrainBlocked: 1 pod left: team/pc: disruption budget: budget",
			"b DrainOpened: drain opened by label drain=yes: 1 pod to leave", "b DrainWaits: the drain waits for node c",
			"a DrainOpened: drain opened by label drain=yes: 1 pod to leave", "a DrainWaits: the drain waits for node c",
		})
		c.wait(9*time.Minute + 50*time.Second)
		assert.Equal(t, c.status("a").State, drain.Waiting)
		c.wait(10 * time.Second) // no pod has left c for ten minutes
		// Of those of one second the name decides.
		assert.DeepEqual(t, c.take(), []string{"601s pa"})
		c.wait(0)
		assert.Equal(t, c.status("a").State, drain.Drained)
		assert.Equal(t, c.status("b").State, drain.Blocked)
		c.label("d", true)
		c.wait(9 * time.Minute)
		assert.Equal(t, c.status("d").WaitsFor, "b") // whose turn began when that of a was over
		c.wait(time.Minute)
		assert.Equal(t, c.status("d").State, drain.Blocked) // no node is left that is open
	})
}

// TestDrainAfterARestart: another process goes on with a drain. Nothing is told or evicted twice, the time since when is kept, and what was
// taken away meanwhile ends the drain.
func TestDrainAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startWith(t, byLabel, policy.Limits{}, newNode("a"), newNode("b"), newNode("c"), newPod("p1", "a"), newPod("p2", "a"), newPod("p3", "b"))
		c.refuses("p2", true)
		c.label("a", true)
		c.label("b", true)
		c.wait(time.Minute)
		assert.DeepEqual(t, c.take(), []string{"1s p1"})
		assert.Equal(t, len(c.events()), 4)
		before, text := c.status("a"), c.node("a").Annotations[drain.Annotation]

		assert.NilError(t, c.running.Reload(t.Context(), c.policy())) // the policy
		c.wait(time.Minute)
		assert.Equal(t, c.node("a").Annotations[drain.Annotation], text)
		c.args = &NodeProblemArgs{Labels: c.args.Labels, MaxNodes: 1, RetryPeriod: c.args.RetryPeriod}
		stop := c.run() // one more, which is to lead
		stop()
		stop = c.run()
		assert.DeepEqual(t, c.status("a"), before)
		assert.Equal(t, len(c.events()), 0)
		assert.Equal(t, len(c.take()), 0)
		stop()
	})
	synctest.Test(t, func(t *testing.T) { // the profile has another name, and another one drains nodes too
		adopted, others := newNode("a"), newNode("b")
		for profile, n := range map[string]*v1.Node{"renamed": adopted, "second": others} {
			n.Labels = map[string]string{"drain": "yes", profile: ""}
			n.Annotations = map[string]string{drain.Annotation: (&drain.Status{State: drain.Draining, Since: metav1.NewTime(time.Now().Add(-time.Hour)), Profile: profile}).Text()}
		}
		c := newCluster(t, byLabel, policy.Limits{}, adopted, others, newNode("c"), newPod("p1", "a"), newPod("p2", "b"))
		c.second = &NodeProblemArgs{Labels: []string{"second"}, RetryPeriod: metav1.Duration{Duration: time.Minute}}
		c.run()
		c.wait(time.Minute)
		assert.Equal(t, len(c.take()), 2)
		assert.Equal(t, c.status("a").Profile, "problems")
		assert.Equal(t, c.status("a").Took(), time.Hour)
		assert.Equal(t, c.status("b").Profile, "second")
		told := c.events()
		slices.Sort(told) // two profiles tell
		assert.DeepEqual(t, told, []string{"a Drained: drained after 1h0m0s", "b Drained: drained after 1h0m0s"})
	})
	synctest.Test(t, func(t *testing.T) { // the label is taken away while none runs
		n := newNode("a")
		n.Spec.Unschedulable = true
		n.Annotations = map[string]string{drain.Annotation: (&drain.Status{State: drain.Blocked, By: "label drain=yes", Profile: "problems", Cordoned: true, Left: 1}).Text()}
		foreign := newNode("b")
		foreign.Annotations = map[string]string{drain.Annotation: "what is this"}
		c := startWith(t, byLabel, policy.Limits{}, n, foreign, newPod("p", "a"))
		assert.Assert(t, !c.node("a").Spec.Unschedulable && drain.Of(c.node("a")) == nil)
		assert.Equal(t, len(c.events()), 1)
		assert.Equal(t, c.node("b").Annotations[drain.Annotation], "what is this")
	})
}

// TestDrainOfANodeThatChanges: a node that was changed meanwhile is read again; one that cannot be written for a while is written later, and
// without the right its pods leave all the same.
func TestDrainOfANodeThatChanges(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		times int
		says  bool
	}{
		"a conflict":  {apierrors.NewConflict(v1.Resource("nodes"), "a", nil), 1, true},
		"a failure":   {apierrors.NewInternalError(fmt.Errorf("down")), 3, true},
		"not allowed": {apierrors.NewForbidden(v1.Resource("nodes"), "a", nil), 1000, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := startWith(t, byLabel, policy.Limits{}, newNode("a"), newNode("b"), newPod("p", "a"))
				failed, open := 0, 0
				w.client.PrependReactor("create", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
					n, err := w.client.Tracker().Get(v1.SchemeGroupVersion.WithResource("nodes"), "", "a")
					if err != nil || !n.(*v1.Node).Spec.Unschedulable {
						open++
					}
					return false, nil, nil
				})
				w.client.PrependReactor("patch", "nodes", func(ktesting.Action) (bool, runtime.Object, error) {
					failed++
					return failed <= c.times, nil, c.err
				})
				w.label("a", true)
				assert.Equal(t, open == 0, name == "a conflict") // the node is closed before the first pod leaves
				w.wait(10 * time.Minute)
				assert.Equal(t, len(w.take()), 1)
				assert.Equal(t, w.node("a").Spec.Unschedulable, c.says)
				assert.Equal(t, drain.Of(w.node("a")) != nil, c.says)
				assert.Assert(t, failed < 50, "%d", failed)
				w.label("a", false)
				w.wait(10 * time.Minute)
				assert.Assert(t, !w.node("a").Spec.Unschedulable && drain.Of(w.node("a")) == nil)
			})
		})
	}
}

// member makes a pod one of a gang, which needs so many.
func member(p *v1.Pod, needs int) *v1.Pod {
	groups, _ := json.Marshal([]map[string]any{{"name": "workers", "minMember": needs}})
	p.Labels = map[string]string{"applicationId": "train", "app": "train"}
	p.Annotations = map[string]string{"yunikorn.apache.org/task-group-name": "workers", "yunikorn.apache.org/task-groups": string(groups)}
	p.Status.Phase = v1.PodRunning
	return p
}

// TestGangsLeaveTogetherOrNot: the members of a gang on a node leave together. If one has to stay, as many leave as the gang can spare, and
// others of the node leave all the same. Members on other nodes are not touched.
func TestGangsLeaveTogetherOrNot(t *testing.T) {
	for name, c := range map[string]struct {
		needs   int
		allowed int32
		kept    bool // one of the members is
		want    []string
		why     string
	}{
		"all may":                     {needs: 4, allowed: 2, want: []string{"other", "t0", "t1"}},
		"a budget allows one of two":  {needs: 4, allowed: 1, want: []string{"other"}, why: "its gang needs 4 pods and has 4, and pod t1 of its gang stays: budget train allows no eviction now"},
		"a filter keeps one":          {needs: 4, allowed: 3, kept: true, want: []string{"other"}, why: "its gang needs 4 pods and has 4, and pod kept-t1 of its gang stays: Keep: it is kept"},
		"a filter keeps one of a few": {needs: 3, allowed: 3, kept: true, want: []string{"other", "t0"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				second := "t1"
				if c.kept {
					second = "kept-t1"
				}
				holder := member(newPod("holder", "b"), c.needs) // a placeholder runs nothing
				holder.Annotations["yunikorn.apache.org/placeholder"] = "true"
				holder.Status.Conditions = []v1.PodCondition{{Type: pods.ConditionPlaceholder}}
				w := startWith(t, byLabel, policy.Limits{}, newNode("a"), newNode("b"), budget("train", c.allowed), holder,
					member(newPod("t0", "a"), c.needs), member(newPod(second, "a"), c.needs), newPod("other", "a"),
					member(newPod("t2", "b"), c.needs), member(newPod("t3", "b"), c.needs))
				w.label("a", true)
				var gone []string
				for _, e := range w.take() {
					_, pod, _ := strings.Cut(e, " ")
					gone = append(gone, pod)
				}
				slices.Sort(gone)
				assert.DeepEqual(t, gone, c.want)
				if c.why != "" {
					assert.Equal(t, w.status("a").Pods[slices.IndexFunc(w.status("a").Pods, func(p drain.Pod) bool { return p.Pod == "team/t0" })].Why, c.why)
				}
			})
		})
	}
}

// TestTenantsAndDrains: what a tenant can do to a drain, which is little. Its pods open none, whatever they say. A pod that it puts on the node
// itself is evicted again after a pause that doubles, and however fast its pods come and go, the cluster is looked at once in a second.
func TestTenantsAndDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startWith(t, byLabel, policy.Limits{CoolDown: policy.CoolDown{Initial: 10 * time.Minute, Max: 2 * time.Hour}}, newNode("a"), newNode("b"))
		p := newPod("p", "b")
		p.Labels, p.Annotations = map[string]string{"drain": "yes"}, map[string]string{drain.Annotation: `{"state":"Draining","profile":"problems","cordoned":true}`}
		assert.NilError(t, c.client.Tracker().Add(p))
		c.wait(time.Hour)
		assert.Equal(t, len(c.take())+len(c.events()), 0)

		c.label("a", true)
		for i := range 1000 { // a controller of its own, whose pods name their node
			pod := newPod(fmt.Sprint("back-", i), "a")
			pod.CreationTimestamp = metav1.Now()
			if err := c.client.Tracker().Add(pod); err != nil {
				t.Fatal(err)
			}
			c.wait(100 * time.Millisecond)
			_ = c.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), "team", pod.Name) // it may be gone
		}
		patches := slices.DeleteFunc(slices.Clone(c.client.Actions()), func(a ktesting.Action) bool { return a.GetVerb() != "patch" })
		assert.Assert(t, len(patches) < 350, "%d", len(patches))
		assert.Assert(t, len(c.take()) <= 120)
		assert.Assert(t, len(c.events()) < 250)
	})
}

// TestNoTenantHoldsUpOtherNodes: whatever the pods of a node do, the next node drains ten minutes after the last of those that were there
// has left.
func TestNoTenantHoldsUpOtherNodes(t *testing.T) {
	for name, c := range map[string]struct {
		pod   string
		comes bool // others that name their node come and go all the time
	}{
		"a pod that no budget lets go": {pod: "guarded"},
		"a pod that never ends":        {pod: "endless"},
		"a pod that a filter keeps":    {pod: "kept"},
		"pods that come again":         {pod: "kept", comes: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := startWith(t, byLabel, policy.Limits{}, newNode("a"), newNode("b"), newNode("c"), newPod(c.pod, "a"), newPod("p", "b"))
				w.refuses("guarded", true)
				w.label("a", true)
				w.label("b", true)
				for i := range 125 {
					if !c.comes {
						w.wait(5 * time.Second)
						continue
					}
					for j := range 3 {
						assert.NilError(t, w.client.Tracker().Add(newPod(fmt.Sprintf("kept-%d-%d", i, j), "a")))
					}
					w.wait(5 * time.Second)
					for j := range 3 - i%2 {
						assert.NilError(t, w.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), "team", fmt.Sprintf("kept-%d-%d", i, j)))
					}
				}
				assert.Equal(t, w.status("b").State, drain.Drained, "%+v", w.status("a"))
				assert.Assert(t, w.status("a").State != drain.Drained)
			})
		})
	}
}

// TestTurnsAreFew: however often tenants have a drain looked at, it is after ten looks at once only every other second.
func TestTurnsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWith(t, byLabel, policy.Limits{}, newNode("a"), newNode("b"), newPod("kept", "a"))
		w.label("a", true)
		w.asked.Store(0)
		for i := range 500 { // in 100 seconds
			name := fmt.Sprintf("kept-%d", i)
			assert.NilError(t, w.client.Tracker().Add(newPod(name, "a")))
			w.wait(100 * time.Millisecond)
			assert.NilError(t, w.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), "team", name))
			w.wait(100 * time.Millisecond)
		}
		looks := w.asked.Load()
		assert.Assert(t, looks > 50 && looks <= 10+100/2, "%d looks", looks)
	})
}
