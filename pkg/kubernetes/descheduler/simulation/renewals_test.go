package simulation

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

// running is a pod that the scheduler of this project placed. Its application is the name
// without the part after the dash.
func running(name, node, requests string, edits ...func(*v1.Pod)) *v1.Pod {
	app, _, _ := strings.Cut(strings.TrimPrefix(name, "ns0/"), "-")
	p := ft.Pod(name, node, requests, append([]func(*v1.Pod){ft.Labelled("app=" + app), ours(app, "a")}, edits...)...)
	p.Status.Conditions, p.Annotations[slot] = isReady, name
	return p
}

// cordoned is a node that takes no new pods.
func cordoned(n *v1.Node) *v1.Node {
	n.Spec.Unschedulable = true
	return ft.Taint(n, v1.TaintNodeUnschedulable, "", v1.TaintEffectNoSchedule)
}

// renewedAndMoved are clusters in which a plugin at balance moves a pod that a plugin at deschedule
// had made anew. Both were found by random clusters. The scheduler chooses the node of a
// replacement, and a pod that does not run yet cannot be moved, so no cycle could do
// better; but the cycle after them has nothing to do.
var renewedAndMoved = []struct {
	name    string
	objects func() framework.Objects
	policy  string
	cycles  []string
}{
	{
		// The first cycle renews the small pod, and n2 is emptier than n0. The second renews the
		// large one. It is spread by its scheduler: it goes to n0 although n2 is emptier, so that none
		// of the two has to leave.
		name: "a limit divides what a plugin renews",
		objects: func() framework.Objects {
			old := []func(*v1.Pod){ft.Owned("StatefulSet/app4"), ft.Aged(90 * time.Minute)}
			return framework.Objects{
				Nodes: []*v1.Node{ft.Node("n0", "cpu=8 memory=8Gi pods=110", ""), cordoned(ft.Node("n1", "cpu=8 memory=8Gi pods=110", "")), ft.Node("n2", "cpu=8 memory=8Gi pods=110", "")},
				Pods: []*v1.Pod{
					running("ns0/app4-0", "n1", "cpu=1", old...),
					running("ns0/app4-1", "n0", "cpu=250m", append(old, ft.Aged(100*time.Minute))...),
					running("ns0/app5-0", "n0", "cpu=1900m", ft.Owned("ReplicaSet/app5"), ft.Aged(5*time.Minute)),
					running("ns0/app6-0", "n2", "cpu=1", ft.Owned("ReplicaSet/app6"), ft.Aged(5*time.Minute)),
				},
			}
		},
		policy: `
- name: old
  pluginConfig:
  - {name: PodLifeTime, maxNoOfPodsToEvict: 1, args: {maxPodLifeTimeSeconds: 3600}}
  plugins: {deschedule: {enabled: [PodLifeTime]}}
- name: spread
  plugins: {balance: {enabled: [RemoveDuplicates]}}`,
		cycles: []string{
			"PodLifeTime ns0/app4-1 n0 n2",
			"PodLifeTime ns0/app4-0 n1 n0",
			"",
		},
	},
	{
		// Two pods leave the cordoned node for n1, which they load, and there is no room
		// for the third. When they run, one of them is moved on, and the third one follows.
		name: "the replacements of one plugin load a node for another",
		objects: func() framework.Objects {
			pod := func(app, requests string, edits ...func(*v1.Pod)) *v1.Pod {
				return running("ns0/"+app+"-0", "n0", requests, append(edits, ft.Owned("ReplicaSet/"+app))...)
			}
			return framework.Objects{
				Nodes: []*v1.Node{cordoned(ft.Node("n0", "cpu=8 memory=8Gi pods=110", "")), ft.Node("n1", "cpu=1 memory=8Gi pods=110", "disk=a"), ft.Node("n2", "cpu=8 memory=8Gi pods=110", "")},
				Pods: []*v1.Pod{
					pod("app4a", "cpu=400m"),
					pod("app4b", "cpu=300m", ft.OnNodes("disk", "a"), ft.Priority(5)),
					pod("app4c", "cpu=600m", ft.OnNodes("disk", "a"), ft.Priority(5)),
					running("ns0/app5-0", "n2", "cpu=1", ft.Owned("ReplicaSet/app5")),
				},
			}
		},
		policy: `
- name: taints
  plugins: {deschedule: {enabled: [RemovePodsViolatingNodeTaints]}}
- name: load
  pluginConfig:
  - {name: LowNodeLoad, args: {lowThresholds: {cpu: 30}, highThresholds: {cpu: 50}, anomalyCondition: {consecutiveAbnormalities: 1}}}
  plugins: {balance: {enabled: [LowNodeLoad]}}`,
		cycles: []string{
			"RemovePodsViolatingNodeTaints ns0/app4a-0 n0 n1, RemovePodsViolatingNodeTaints ns0/app4b-0 n0 n1",
			"LowNodeLoad ns0/app4a-0x n1 n2, RemovePodsViolatingNodeTaints ns0/app4c-0 n0 n1",
			"",
		},
	},
}

// TestRenewedPodsAreMovedOnce plays them.
func TestRenewedPodsAreMovedOnce(t *testing.T) {
	for _, c := range renewedAndMoved {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.objects(), unlimited, load(t, "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:"+c.policy))
			for cycle, want := range c.cycles {
				report, _ := w.cycle(w.d)
				assert.Equal(t, strings.Join(movesOf(report), ", "), want, "cycle %d", cycle)
				w.settle(report)
			}
		})
	}
}
