package landing

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/internal/scores"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// cluster is a Cluster that has seen nodes and pods.
func cluster(t testing.TB, o Options, nodes []*v1.Node, all ...*v1.Pod) *Cluster {
	t.Helper()
	return clusterWith(t, o, false, nodes, all...)
}

// scored is one that knows the scores of kube-scheduler.
func scored(t testing.TB, nodes []*v1.Node, all ...*v1.Pod) *Cluster {
	t.Helper()
	return clusterWith(t, ours, true, nodes, all...)
}

func clusterWith(t testing.TB, o Options, scored bool, nodes []*v1.Node, all ...*v1.Pod) *Cluster {
	t.Helper()
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	checker, err := feasibility.New(t.Context(), client, factory, feasibility.Options{})
	assert.NilError(t, err)
	if scored {
		o.Scores, err = scores.New(t.Context(), client, factory)
		assert.NilError(t, err)
	}
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	assert.NilError(t, checker.WaitForSync(t.Context()))
	c, err := New(checker, o)
	assert.NilError(t, err)
	c.Sync(snapshot(nodes, all...))
	return c
}

func snapshot(nodes []*v1.Node, all ...*v1.Pod) *framework.Snapshot {
	return framework.NewSnapshot(framework.Objects{Nodes: nodes, Pods: all}, time.Unix(1_000_000, 0))
}

// nodes makes nodes a, b, c ... of four processors each.
func nodes(n int) []*v1.Node {
	list := make([]*v1.Node, n)
	for i := range list {
		name := string(rune('a' + i))
		list[i] = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}}}
		list[i].Status.Allocatable = v1.ResourceList{
			v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("110"),
		}
	}
	return list
}

// pod makes a pod of so many processors on a node; an empty node is one that waits.
func pod(name, node string, cpu int64, edits ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": "web"}},
		Spec:       v1.PodSpec{NodeName: node, SchedulerName: "narwhal", Containers: []v1.Container{{Name: "main"}}},
	}
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "set", UID: "uid-set", Controller: new(true)}}
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(cpu, resource.DecimalSI)}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

// Fits returns nil where the pod may run on a node beside all that holds room there.
func (c *Cluster) Fits(pod *v1.Pod, node string) error {
	c.takeBack()
	same := replacementOf(pod)
	same.UID, same.Name = pod.UID, pod.Name // the checker leaves out a pod of which it is asked
	return c.checker.Check(same, node)
}

// whereTo is where a replacement would run, wherever that is.
func (c *Cluster) whereTo(pod *v1.Pod) (string, error) {
	to, err := c.Place(pod, framework.Choice{})
	return to.Node, err
}

// book places and books a pod. One that nothing makes anew needs no place.
func (c *Cluster) book(pod *v1.Pod) (string, error) {
	if len(pod.OwnerReferences) == 0 {
		return "", c.Book(pod, "")
	}
	node, err := c.whereTo(pod)
	if err != nil {
		return "", err
	}
	return node, c.Book(pod, node)
}

var ours = Options{Rules: pods.Rules{SchedulerNames: []string{"narwhal"}}}

// apart keeps pods of one app on nodes of their own.
func apart(p *v1.Pod) {
	p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, TopologyKey: v1.LabelHostname,
		}},
	}}
}

func foreign(p *v1.Pod) { p.Spec.SchedulerName = "default-scheduler" }

func TestBookCountsWhatWasBooked(t *testing.T) {
	for _, scheduler := range []struct {
		name string
		edit func(*v1.Pod)
	}{{"ours", func(*v1.Pod) {}}, {"another", foreign}} {
		t.Run(scheduler.name, func(t *testing.T) {
			all := []*v1.Pod{
				pod("p1", "a", 2, scheduler.edit), pod("p2", "a", 2, scheduler.edit), pod("q", "b", 2, scheduler.edit), pod("r", "c", 3, scheduler.edit),
			}
			c := cluster(t, ours, nodes(3), all...)
			first, err := c.whereTo(all[0])
			assert.NilError(t, err)
			again, err := c.whereTo(all[0])
			assert.NilError(t, err)
			assert.Equal(t, first, again, "Place changes nothing")
			booked, err := c.book(all[0])
			assert.NilError(t, err)
			assert.Equal(t, booked, first)
			_, err = c.book(all[0])
			assert.ErrorIs(t, err, framework.ErrUnknownPod)
			assert.DeepEqual(t, c.Bookings(), []framework.Booking{{Pod: all[0], Node: booked}})
			c.Sync(snapshot(nodes(3), all...))
			assert.Equal(t, len(c.Bookings()), 0)
		})
	}
}

// TestExpectedReplacements: one that was booked before takes its place until it is there, and of
// one that is expected twice, or stands there, nothing more is taken.
func TestExpectedReplacements(t *testing.T) {
	old, next := pod("old", "a", 4), pod("next", "a", 4)
	cordoned := nodes(2)
	cordoned[0].Spec.Unschedulable = true
	c := cluster(t, ours, cordoned, old, next)
	node, err := c.book(old)
	assert.NilError(t, err)
	assert.Equal(t, node, "b")
	c.Expect(framework.StandIn(old, node))
	c.Sync(snapshot(cordoned, next))
	node, err = c.whereTo(next)
	assert.NilError(t, err)
	assert.Equal(t, node, "b", "nothing is expected there")
	for range 2 {
		c.Expect(framework.StandIn(old, "b"))
		_, err = c.whereTo(next)
		assert.ErrorContains(t, err, "no node", "the last answer does not hold any more")
		assert.ErrorContains(t, c.Fits(next, "b"), "cpu")
	}
	c.Sync(snapshot(cordoned, next))
	assert.NilError(t, c.Fits(next, "b"))
}

// TestReplacementIsExpectedBeforeItsPodGoes: the place that is held for the replacement of a pod is
// where that pod lands, and its own room is free only when it is booked.
func TestReplacementIsExpectedBeforeItsPodGoes(t *testing.T) {
	old, next := pod("old", "a", 4), pod("next", "c", 4)
	c := cluster(t, ours, nodes(3), old, next)
	c.Expect(framework.StandIn(old, "b"))
	assert.ErrorContains(t, c.Fits(next, "a"), "cpu")
	assert.ErrorContains(t, c.Fits(next, "b"), "cpu")
	for _, ask := range []func(*v1.Pod) (string, error){c.whereTo, c.whereTo, c.book} {
		node, err := ask(old)
		assert.NilError(t, err)
		assert.Equal(t, node, "b")
	}
	assert.DeepEqual(t, c.Bookings(), []framework.Booking{{Pod: old, Node: "b"}})
	assert.ErrorContains(t, c.Fits(next, "b"), "cpu")
	node, err := c.whereTo(next)
	assert.NilError(t, err)
	assert.Equal(t, node, "a", "the pod that went leaves its room")

	c = cluster(t, ours, nodes(3), old, next, pod("waits", "", 4, func(p *v1.Pod) {
		p.Spec.NodeSelector = map[string]string{v1.LabelHostname: "a"}
	}))
	c.Expect(framework.StandIn(old, "b"))
	_, err = c.book(old)
	assert.NilError(t, err)
	assert.ErrorContains(t, c.Fits(next, "a"), "cpu", "to a pod that waits")
}

// TestBarePodsAreNotReplaced: what nothing makes anew leaves its room, to pods that wait first.
func TestBarePodsAreNotReplaced(t *testing.T) {
	bare := func(p *v1.Pod) { p.OwnerReferences = nil }
	alone, other, waiting := pod("alone", "a", 4, bare), pod("other", "b", 4), pod("waiting", "", 3)
	c := cluster(t, ours, nodes(2), alone, other, waiting)
	assert.ErrorContains(t, c.Fits(other, "a"), "cpu")
	node, err := c.book(alone)
	assert.NilError(t, err)
	assert.Equal(t, node, "")
	assert.Equal(t, len(c.Bookings()), 0)
	node, err = c.whereTo(other)
	assert.NilError(t, err)
	assert.Equal(t, node, "b", "the one that waits gets the room")
	_, err = c.book(alone)
	assert.ErrorIs(t, err, framework.ErrUnknownPod)

	c.Sync(snapshot(nodes(2), alone, other))
	_, err = c.whereTo(other) // a question that is taken back
	assert.NilError(t, err)
	_, err = c.book(alone)
	assert.NilError(t, err)
	node, err = c.whereTo(other)
	assert.NilError(t, err)
	assert.Equal(t, node, "a")
}

// TestNowhereToGo shows that a pod which no node takes is told why, and that the cluster is as
// it was.
func TestNowhereToGo(t *testing.T) {
	all := []*v1.Pod{pod("p1", "a", 1, apart), pod("p2", "b", 1, apart), pod("wide", "c", 4)}
	full := pod("full", "a", 3, func(p *v1.Pod) { p.Labels["app"] = "other" })
	c := cluster(t, ours, nodes(3), append(all, full)...)
	_, err := c.book(full)
	assert.NilError(t, err) // the room that it leaves
	c.Sync(snapshot(nodes(3)[:2], all[:2]...))
	cordoned := nodes(2)
	cordoned[0].Spec.Unschedulable = true
	c.Sync(snapshot(cordoned, all[:2]...))
	for range 3 {
		_, err = c.book(all[0])
		assert.ErrorContains(t, err, "refused on 1 node")
	}
	assert.ErrorContains(t, c.Fits(all[0], "b"), "anti-affinity")
	assert.NilError(t, c.Fits(all[1], "b"))
}

// TestWaitingPodsGoFirst shows that a pod which waits takes the room that an eviction frees.
func TestWaitingPodsGoFirst(t *testing.T) {
	running, waiting := pod("running", "a", 4), pod("waiting", "", 4)
	c := cluster(t, ours, nodes(1), running, waiting)
	_, err := c.book(running)
	assert.ErrorContains(t, err, "no node")
	_, err = c.whereTo(running)
	assert.ErrorContains(t, err, "no node", "a second time")
	c.Sync(snapshot(nodes(2), running, waiting))
	node, err := c.book(running)
	assert.NilError(t, err, "the one that waits lands on the other node")
	assert.Equal(t, node, "a")

	running.CreationTimestamp = metav1.Unix(900_000, 0)
	waiting.CreationTimestamp = metav1.Unix(900_001, 0)
	c.Sync(snapshot(nodes(1), running, waiting))
	_, err = c.book(running)
	assert.ErrorContains(t, err, "no node", "the one that waits is older than a replacement")
}

// TestReasonAfterABooking: why a pod would run nowhere is found out again after another one was
// evicted for good. Here that one takes the room which was refused before.
func TestReasonAfterABooking(t *testing.T) {
	runs, waits, rival := pod("runs", "a", 3, apart), pod("waits", "", 3, apart), pod("rival", "b", 1)
	moves := pod("moves", "c", 2, func(p *v1.Pod) {
		p.Labels["app"], p.Spec.NodeSelector = "other", map[string]string{v1.LabelHostname: "b"}
	})
	stays := pod("stays", "c", 2, func(p *v1.Pod) { p.Labels["app"] = "other" })
	c := cluster(t, ours, nodes(3), runs, waits, rival, moves, stays)
	for range 2 {
		_, err := c.whereTo(runs)
		assert.ErrorContains(t, err, "refused on 1 node: node(s) didn't match pod anti-affinity rules")
	}
	node, err := c.book(moves)
	assert.NilError(t, err)
	assert.Equal(t, node, "b")
	_, err = c.whereTo(runs)
	assert.ErrorContains(t, err, "no node has room: requests pods=1 vcore=3000")
}

// TestPodsThatAreGoneTakeNoRoom: what a cycle counted and the next one has not is counted no more.
func TestPodsThatAreGoneTakeNoRoom(t *testing.T) {
	gone, stays := pod("gone", "a", 4), pod("stays", "b", 1)
	c := cluster(t, ours, nodes(2), gone, stays)
	assert.ErrorContains(t, c.Fits(stays, "a"), "Insufficient cpu")
	c.Sync(snapshot(nodes(2), stays))
	assert.NilError(t, c.Fits(stays, "a"))
}

const twoQueues = `
partitions:
- name: default
  queues:
  - name: root
    queues:
    - {name: small, resources: {guaranteed: {vcore: 4}, max: {vcore: 6}}}
    - {name: large, resources: {guaranteed: {vcore: 2}}}
`

func inQueue(name string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Labels[pods.LabelQueue], p.Labels[pods.LabelApplicationID] = name, "app-"+name
	}
}

func TestQueuesCount(t *testing.T) {
	o := ours
	o.Queues = twoQueues
	small, large := pod("s", "a", 2, inQueue("root.small")), pod("l", "b", 3, inQueue("root.large"))
	waiting := pod("w", "", 4, inQueue("root.small"))
	c := cluster(t, o, nodes(3), small, large, waiting, pod("f", "a", 1, foreign))
	share, ok := c.ShareOf(small)
	assert.Assert(t, ok)
	assert.Equal(t, share, framework.QueueShare{Queue: "root.small", Kind: "vcore", Used: 6000, Guaranteed: 4000})
	share, _ = c.ShareOf(large)
	assert.Equal(t, share, framework.QueueShare{Queue: "root.large", Kind: "vcore", Used: 3000, Guaranteed: 2000})
	share, ok = c.ShortWithout(small)
	assert.Assert(t, !ok, "%v: 4 of the 4 that are guaranteed stay, with the pod that was placed first", share)
	share, ok = c.ShortWithout(large)
	assert.Assert(t, ok, "none of 2 is left")
	assert.Equal(t, share, framework.QueueShare{Queue: "root.large", Kind: "vcore", Used: 0, Guaranteed: 2000})
	_, ok = c.ShortWithout(pod("f", "a", 1, foreign))
	assert.Assert(t, !ok)
	_, err := c.book(large)
	assert.NilError(t, err)
	share, _ = c.ShareOf(large)
	assert.Equal(t, share.Used, int64(0), "it does not run before its replacement does")
	_, ok = c.ShareOf(pod("f", "a", 1, foreign))
	assert.Assert(t, !ok)
	_, err = New(nil, Options{Queues: "partitions: 1"})
	assert.ErrorContains(t, err, "queues of the scheduler")
}

// TestShortOfWhatAPodDoesNotUse: a queue that has less than its guarantee of one kind has no less
// of it without a pod that uses another kind.
func TestShortOfWhatAPodDoesNotUse(t *testing.T) {
	o := ours
	o.Queues = strings.ReplaceAll(twoQueues, "guaranteed: {vcore: 2}", "guaranteed: {vcore: 2, memory: 1G}")
	large := pod("l", "a", 3, inQueue("root.large"))
	more := pod("m", "b", 2, inQueue("root.large"))
	c := cluster(t, o, nodes(2), large, more)
	short, ok := c.ShortWithout(large)
	assert.Assert(t, !ok, "%v", short)
	more = pod("m", "b", 1, inQueue("root.large"))
	c.Sync(snapshot(nodes(2), large, more))
	short, ok = c.ShortWithout(large)
	assert.Assert(t, ok)
	assert.Equal(t, short, framework.QueueShare{Queue: "root.large", Kind: "vcore", Used: 1000, Guaranteed: 2000})
}

// TestBookingsHold plays random clusters: every landing is a node where the pod fits, no node
// is over-booked, and what Place says is what Book does.
func TestBookingsHold(t *testing.T) {
	for seed := range seeds.Of(t, 100) {
		random := rand.New(rand.NewPCG(seed, 0))
		list := nodes(2 + random.IntN(5))
		free := map[string]int64{}
		for _, n := range list {
			free[n.Name] = 4
		}
		var all []*v1.Pod
		for i := range 20 {
			cpu, node := 1+random.Int64N(2), list[random.IntN(len(list))].Name
			if free[node] < cpu {
				continue
			}
			free[node] -= cpu
			p := pod(fmt.Sprint("p", i), node, cpu)
			p.Labels["app"] = fmt.Sprint("app", i)
			if random.IntN(3) == 0 {
				foreign(p)
			}
			all = append(all, p)
		}
		c := cluster(t, ours, list, all...)
		for _, i := range random.Perm(len(all)) {
			p := all[i]
			cpu := p.Spec.Containers[0].Resources.Requests.Cpu().Value()
			foretold, err := c.whereTo(p)
			assert.NilError(t, err) // at least its own room is free
			booked, err := c.book(p)
			assert.NilError(t, err)
			assert.Equal(t, booked, foretold)
			free[p.Spec.NodeName] += cpu
			free[booked] -= cpu
			assert.Assert(t, free[booked] >= 0, "seed %d: node %s is over-booked by %s", seed, booked, p.Name)
		}
		assert.NilError(t, c.partition.Verify())
	}
}

// TestSetQueues: another configuration counts from the next cycle on, and one that is wrong
// changes nothing.
func TestSetQueues(t *testing.T) {
	o := ours
	o.Queues = twoQueues
	small := pod("s", "a", 2, inQueue("root.small"))
	c := cluster(t, o, nodes(2), small)
	guaranteed := func() int64 {
		t.Helper()
		share, ok := c.ShareOf(small)
		assert.Assert(t, ok)
		return share.Guaranteed
	}
	assert.Equal(t, guaranteed(), int64(4000))
	assert.NilError(t, c.SetQueues(strings.ReplaceAll(twoQueues, "guaranteed: {vcore: 4}", "guaranteed: {vcore: 3}")))
	assert.Equal(t, guaranteed(), int64(4000)) // of the cycle that runs
	c.Sync(snapshot(nodes(2), small))
	assert.Equal(t, guaranteed(), int64(3000))
	for _, wrong := range []string{"partitions: 1", "partitions: [", strings.ReplaceAll(twoQueues, "vcore: 4", "vcore: -4")} {
		assert.ErrorContains(t, c.SetQueues(wrong), "queues of the scheduler: ")
		c.Sync(snapshot(nodes(2), small))
		assert.Equal(t, guaranteed(), int64(3000))
	}
	assert.NilError(t, c.SetQueues("")) // as where there is no configuration
	c.Sync(snapshot(nodes(2), small))
	_, err := c.whereTo(small)
	assert.NilError(t, err)
}
