package landing

import (
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func app(name string) func(*v1.Pod) { return func(p *v1.Pod) { p.Labels["app"] = name } }

func onNode(name string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{v1.LabelHostname: name} }
}

func important(p *v1.Pod) { p.Spec.Priority = new(int32(1)) }

// near keeps a pod in the zone of one of an app.
func near(name string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, TopologyKey: v1.LabelTopologyZone,
		}}}}
	}
}

func oneZone(list []*v1.Node) []*v1.Node {
	for _, n := range list {
		n.Labels[v1.LabelTopologyZone] = "zone"
	}
	return list
}

// TestWaitingPodsFollowEachOther: a pod that waits for another one to be near runs in the zone as
// soon as that one gets the room of an eviction.
func TestWaitingPodsFollowEachOther(t *testing.T) {
	leaves, more := pod("leaves", "a", 4), pod("more", "", 1)
	leads, follows := pod("leads", "", 4, app("leads"), onNode("a")), pod("follows", "", 1, near("leads"))
	last := pod("last", "d", 4, onNode("d"))
	c := cluster(t, ours, oneZone(nodes(4)), leads, follows, leaves, pod("rest", "b", 3), last)
	assert.NilError(t, c.Fits(more, "b"))
	node, err := c.book(leaves)
	assert.NilError(t, err)
	assert.Equal(t, node, "c")
	_, err = c.book(last) // for which the room is needed
	assert.NilError(t, err)
	assert.ErrorContains(t, c.Fits(more, "a"), "Insufficient cpu", "the one that leads runs there")
	assert.ErrorContains(t, c.Fits(more, "b"), "Insufficient cpu", "the one that follows runs there")
}

// TestReplacementsFollowPodsThatWaited: a replacement that is asked about before the pods that
// wait is asked about again after them, where it needs one of them near.
func TestReplacementsFollowPodsThatWaited(t *testing.T) {
	leaves := pod("leaves", "a", 1, app("follows"), near("leads"), important)
	leads := pod("leads", "", 1, app("leads"), onNode("a"))
	c := cluster(t, ours, oneZone(nodes(2)), leads, leaves, pod("full", "a", 3), pod("rest", "b", 3))
	node, err := c.whereTo(leaves)
	assert.NilError(t, err)
	assert.Equal(t, node, "b")
}

// TestRoomIsLookedAtAgain: room that a pod may not use for want of quota goes to the next one that
// waits.
func TestRoomIsLookedAtAgain(t *testing.T) {
	o := ours
	o.Queues = `
partitions:
- name: default
  queues:
  - name: root
    queues:
    - {name: small, resources: {max: {vcore: 4}}}
    - {name: large}
`
	small, large := inQueue("root.small"), inQueue("root.large")
	leaves := pod("leaves", "a", 2, large, onNode("b"))
	makesRoom := pod("makes-room", "c", 2, large, onNode("b"))
	list := nodes(3)
	list[1].Status.Allocatable[v1.ResourceCPU] = resource.MustParse("8")
	c := cluster(
		t, o, list,
		pod("lacks-quota", "", 2, small, onNode("a"), important), pod("has-quota", "", 2, small, onNode("c"), important), pod("next", "", 2, large, onNode("a")),
		leaves, makesRoom, pod("uses", "b", 2, small), pod("a1", "a", 2, large), pod("c1", "c", 2, large),
	)
	for _, p := range []*v1.Pod{makesRoom, leaves} {
		node, err := c.book(p)
		assert.NilError(t, err)
		assert.Equal(t, node, "b")
	}
	assert.ErrorContains(t, c.Fits(pod("more", "", 1), "c"), "Insufficient cpu")
	assert.ErrorContains(t, c.Fits(pod("more", "", 1), "a"), "Insufficient cpu", "the next one runs there")
}

// TestEvictionsCountInQueuesAbove: what was evicted is not used by the queues above its queue either.
func TestEvictionsCountInQueuesAbove(t *testing.T) {
	o := ours
	o.Queues = `
partitions:
- name: default
  queues:
  - name: root
    queues:
    - {name: team, resources: {guaranteed: {vcore: 2}}, queues: [{name: a}]}
`
	one, other := pod("one", "a", 2, inQueue("root.team.a")), pod("other", "b", 2, inQueue("root.team.a"))
	c := cluster(t, o, nodes(3), one, other)
	short, ok := c.ShortWithout(other)
	assert.Assert(t, !ok, "%v", short)
	_, err := c.book(one)
	assert.NilError(t, err)
	short, ok = c.ShortWithout(other)
	assert.Assert(t, ok)
	assert.Equal(t, short.Queue, "root.team")
}
