package nodefit_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/nodefit"
)

func cordoned(n *v1.Node) *v1.Node {
	n.Spec.Unschedulable = true
	return n
}

// elsewhere has a required anti-affinity look into the namespaces of a team.
func elsewhere(p *v1.Pod) {
	required := p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	required[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: ft.Labels("team=x")}
}

func nodes(of ...*v1.Node) []*v1.Node { return of }

func pods(of ...*v1.Pod) []*v1.Pod { return of }

const (
	size        = "cpu=2 memory=2Gi pods=3"
	againstHost = "the pod is against a pod of the same kubernetes.io/hostname"
)

// TestFits: each rule of NodeFit lets a pod onto a node, and keeps it from there by one thing.
func TestFits(t *testing.T) {
	owned := ft.Owned("ReplicaSet/web")
	web := func(edits ...func(*v1.Pod)) *v1.Pod {
		return ft.Pod("a/web", "n0", "cpu=1", append([]func(*v1.Pod){owned}, edits...)...)
	}
	for name, c := range map[string]struct {
		pod    *v1.Pod
		node   *v1.Node
		others []*v1.Pod
		want   string
	}{
		"an empty node":                {web(), ft.Node("n1", size, ""), nil, ""},
		"no node":                      {web(), ft.Node("n2", size, ""), nil, "it is not there"},
		"a cordoned node":              {web(ft.Tolerates(v1.TaintNodeUnschedulable)), cordoned(ft.Node("n1", size, "")), nil, "it is cordoned"},
		"a node selector":              {web(func(p *v1.Pod) { p.Spec.NodeSelector = ft.Labels("disk=a") }), ft.Node("n1", size, "disk=a"), nil, ""},
		"another node selector":        {web(func(p *v1.Pod) { p.Spec.NodeSelector = ft.Labels("disk=b") }), ft.Node("n1", size, "disk=a"), nil, "the pod does not accept its labels"},
		"node affinity":                {web(ft.OnNodes("disk", "a")), ft.Node("n1", size, "disk=a"), nil, ""},
		"another node affinity":        {web(ft.OnNodes("disk", "b")), ft.Node("n1", size, "disk=a"), nil, "the pod does not accept its labels"},
		"a taint":                      {web(), ft.Taint(ft.Node("n1", size, ""), "x", "", v1.TaintEffectNoSchedule), nil, "the pod does not tolerate its taints"},
		"a taint that evicts":          {web(), ft.Taint(ft.Node("n1", size, ""), "x", "", v1.TaintEffectNoExecute), nil, "the pod does not tolerate its taints"},
		"a taint that is tolerated":    {web(ft.Tolerates("x")), ft.Taint(ft.Node("n1", size, ""), "x", "", v1.TaintEffectNoSchedule), nil, ""},
		"a taint that only advises":    {web(), ft.Taint(ft.Node("n1", size, ""), "x", "", v1.TaintEffectPreferNoSchedule), nil, ""},
		"just enough is left":          {web(), ft.Node("n1", size, ""), pods(ft.Pod("a/o", "n1", "cpu=1")), ""},
		"too little is left":           {web(), ft.Node("n1", size, ""), pods(ft.Pod("a/o", "n1", "cpu=1001m")), "it has too little cpu left"},
		"what has ended takes nothing": {web(), ft.Node("n1", size, ""), pods(ft.Pod("a/o", "n1", "cpu=2", ft.Phase(v1.PodFailed))), ""},
		"too little of two kinds": {
			ft.Pod("a/web", "n0", "cpu=3 memory=3Gi", owned), ft.Node("n1", size, ""), nil, "it has too little cpu, memory left",
		},
		"a kind that no node has":   {ft.Pod("a/web", "n0", "example.com/gpu=1", owned), ft.Node("n1", size, ""), nil, "it has too little example.com/gpu left"},
		"nothing of such a kind":    {ft.Pod("a/web", "n0", "example.com/gpu=0", owned), ft.Node("n1", size, ""), nil, ""},
		"as many pods as there may": {web(), ft.Node("n1", size, ""), pods(ft.Pod("a/o", "n1", ""), ft.Pod("a/p", "n1", "")), ""},
		"too many pods":             {web(), ft.Node("n1", size, ""), pods(ft.Pod("a/o", "n1", ""), ft.Pod("a/p", "n1", ""), ft.Pod("a/q", "n1", "")), "it has too little pods left"},
		"a pod that it is against": {
			web(ft.Apart("app=db", v1.LabelHostname)), ft.Node("n1", size, ""), pods(ft.Pod("a/o", "n1", "", ft.Labelled("app=db"))), againstHost,
		},
		"such a pod that has ended": {
			web(ft.Apart("app=db", v1.LabelHostname)), ft.Node("n1", size, ""), pods(ft.Pod("a/o", "n1", "", ft.Labelled("app=db"), ft.Phase(v1.PodSucceeded))), "",
		},
		"such a pod of another namespace": {
			web(ft.Apart("app=db", v1.LabelHostname)), ft.Node("n1", size, ""), pods(ft.Pod("b/o", "n1", "", ft.Labelled("app=db"))), "",
		},
		"such a pod of a namespace that is selected": {
			web(ft.Apart("app=db", v1.LabelHostname), elsewhere), ft.Node("n1", size, ""), pods(ft.Pod("b/o", "n1", "", ft.Labelled("app=db"))), againstHost,
		},
		"itself, where it runs": {
			ft.Pod("a/web", "n1", "cpu=2", owned, ft.Labelled("app=db"), ft.Apart("app=db", v1.LabelHostname)), ft.Node("n1", size, ""), nil, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := nodefit.New(framework.NewSnapshot(framework.Objects{
				Nodes: nodes(c.node), Pods: append(c.others, c.pod),
				Namespaces: []*v1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "b", Labels: ft.Labels("team=x")}}},
			}, ft.Now))
			got := ""
			if err := n.Fits(c.pod, "n1"); err != nil {
				got = err.Error()
			}
			assert.Equal(t, got, c.want)
		})
	}
}

// TestBookingsOfNodeFit: what was evicted makes room, what takes its place takes room and keeps
// away pods that are against it, and a place is given once.
func TestBookingsOfNodeFit(t *testing.T) {
	owned := ft.Owned("ReplicaSet/web")
	big := ft.Pod("a/big", "n0", "cpu=2", owned, ft.Labelled("app=big"))
	next := ft.Pod("a/next", "n1", "cpu=1", owned)
	enemy := ft.Pod("a/enemy", "n3", "", owned, ft.Apart("app=big", v1.LabelHostname))
	bare := ft.Pod("a/bare", "n3", "cpu=1")
	s := framework.NewSnapshot(framework.Objects{
		Nodes: nodes(ft.Node("n0", size, ""), ft.Node("n1", size, ""), ft.Node("n2", size, ""), ft.Node("n3", "cpu=1", "")),
		Pods:  pods(big, next, enemy, bare),
	}, ft.Now)
	n := nodefit.New(s)
	assert.Equal(t, place(t, n.Place, big), "n2")
	assert.Error(t, n.Fits(enemy, "n0"), againstHost)
	assert.Equal(t, place(t, n.Place, next), "n2")
	s.Evicted(big.UID)
	assert.Equal(t, place(t, n.Book, big), "n2")
	assert.Error(t, n.Fits(enemy, "n2"), againstHost)
	assert.NilError(t, n.Fits(enemy, "n0"))
	assert.Equal(t, place(t, n.Place, next), "n0") // which is free now, and n2 is not any more
	_, err := n.Book(big)
	assert.ErrorIs(t, err, framework.ErrUnknownPod)
	_, err = n.Place(big)
	assert.ErrorIs(t, err, framework.ErrUnknownPod)
	assert.Equal(t, place(t, n.Book, bare), "")
	assert.NilError(t, n.Fits(next, "n3")) // nothing is made in its place, and its own is free
	assert.DeepEqual(t, n.Bookings(), []framework.Booking{{Pod: big, Node: "n2"}})
}

func place(t *testing.T, ask func(*v1.Pod) (string, error), pod *v1.Pod) string {
	t.Helper()
	node, err := ask(pod)
	assert.NilError(t, err)
	return node
}

// TestExpectedReplacementsOfNodeFit: one that was booked before takes its place once.
func TestExpectedReplacementsOfNodeFit(t *testing.T) {
	owned := ft.Owned("ReplicaSet/web")
	old, next := ft.Pod("a/old", "n0", "cpu=2", owned, ft.Labelled("app=db")), ft.Pod("a/next", "n0", "cpu=2", owned)
	enemy := ft.Pod("a/enemy", "n0", "", owned, ft.Apart("app=db", v1.LabelHostname))
	n := nodefit.New(framework.NewSnapshot(framework.Objects{
		Nodes: []*v1.Node{ft.Node("n0", "cpu=8 pods=9", ""), ft.Node("n1", "cpu=5 pods=9", "")}, Pods: pods(next, enemy),
	}, ft.Now))
	assert.NilError(t, n.Fits(enemy, "n1"))
	for range 3 {
		n.Expect(framework.StandIn(old, "n1"))
	}
	assert.NilError(t, n.Fits(next, "n1"))
	assert.Error(t, n.Fits(enemy, "n1"), againstHost)
	assert.Equal(t, place(t, n.Book, next), "n1")
	n.Expect(framework.StandIn(next, "n1")) // it stands there
	assert.NilError(t, n.Fits(ft.Pod("a/small", "n0", "cpu=1", owned), "n1"))
	assert.Equal(t, len(n.Bookings()), 1)
}

// TestReplacementIsExpectedBeforeItsPodGoesFromNodeFit: the place that is held for the replacement of
// a pod is where that pod lands, and its own room is free only when it is booked.
func TestReplacementIsExpectedBeforeItsPodGoesFromNodeFit(t *testing.T) {
	owned := ft.Owned("ReplicaSet/web")
	old, next, large := ft.Pod("a/old", "n0", "cpu=2", owned), ft.Pod("a/next", "n2", "cpu=2", owned), ft.Pod("a/large", "n2", "cpu=3", owned)
	n := nodefit.New(framework.NewSnapshot(framework.Objects{
		Nodes: []*v1.Node{ft.Node("n0", "cpu=2 pods=9", ""), ft.Node("n1", "cpu=4 pods=9", ""), ft.Node("n2", "cpu=9 pods=9", "")},
		Pods:  pods(old, next, large),
	}, ft.Now))
	n.Expect(framework.StandIn(old, "n1"))
	assert.Error(t, n.Fits(next, "n0"), "it has too little cpu left")
	assert.Equal(t, place(t, n.Place, old), "n1")
	assert.Equal(t, place(t, n.Book, old), "n1")
	assert.Equal(t, len(n.Bookings()), 1)
	assert.Equal(t, place(t, n.Place, next), "n0")
	assert.NilError(t, n.Fits(next, "n1"))
	assert.Error(t, n.Fits(large, "n1"), "it has too little cpu left")
}

// TestEvictionsInFlightHoldTheirRoom: a pod whose eviction began before the snapshot stands where it is
// until it has ended, and is not evicted again.
func TestEvictionsInFlightHoldTheirRoom(t *testing.T) {
	goes, stays := ft.Pod("a/goes", "n1", "cpu=1", ft.Owned("ReplicaSet/web"), ft.Apart("app=x", v1.LabelHostname)), ft.Pod("a/stays", "n2", "cpu=2", ft.Owned("ReplicaSet/db"))
	x := ft.Pod("a/x", "n2", "", ft.Owned("ReplicaSet/db"), ft.Labelled("app=x"))
	s := framework.NewSnapshot(framework.Objects{Nodes: nodes(ft.Node("n1", size, ""), ft.Node("n2", size, "")), Pods: pods(goes, stays, x)}, ft.Now)
	s.MarkInFlight([]types.UID{goes.UID})
	assert.Equal(t, len(s.Pods()), 2)
	assert.Assert(t, s.WasEvicted(goes.UID))
	n := nodefit.New(s)
	assert.Error(t, n.Fits(stays, "n1"), "it has too little cpu left")
	assert.Error(t, n.Fits(x, "n1"), "a pod of the same kubernetes.io/hostname is against the pod")
	_, err := n.Book(goes)
	assert.ErrorIs(t, err, framework.ErrUnknownPod)
}

// TestPlace: another node goes before that of the pod, which is better than none; and where
// there is none, each reason is told with its nodes.
func TestPlace(t *testing.T) {
	pod := ft.Pod("a/p", "n1", "cpu=2", ft.Owned("ReplicaSet/web"))
	place := func(of ...*v1.Node) string {
		node, err := nodefit.New(framework.NewSnapshot(framework.Objects{Nodes: of, Pods: pods(pod)}, ft.Now)).Place(pod)
		if err != nil {
			return err.Error()
		}
		return node
	}
	assert.Equal(t, place(ft.Node("n1", size, ""), ft.Node("n2", size, "")), "n2")
	assert.Equal(t, place(ft.Node("n1", size, ""), ft.Node("n2", "cpu=1", "")), "n1")
	assert.Equal(t, place(cordoned(ft.Node("n1", size, "")), ft.Node("n2", "cpu=1", ""), cordoned(ft.Node("n3", size, ""))),
		"2 nodes: it is cordoned; 1 nodes: it has too little cpu left")
	assert.Equal(t, place(), "1 nodes: it is not there")
}

// TestPlaceWhere: what moves a pod chooses among the nodes where it fits, and the choice holds
// until it is booked, as long as the pod still fits there.
func TestPlaceWhere(t *testing.T) {
	owned := ft.Owned("ReplicaSet/web")
	first, second := ft.Pod("a/p", "n1", "cpu=2", owned), ft.Pod("a/q", "n1", "cpu=2", owned)
	n := nodefit.New(framework.NewSnapshot(framework.Objects{
		Nodes: nodes(ft.Node("n1", "", ""), ft.Node("n2", size, ""), ft.Node("n3", size, ""), ft.Node("n4", "cpu=1", "")), Pods: pods(first, second),
	}, ft.Now))
	var asked []string
	not2 := func(node string) error {
		asked = append(asked, node)
		if node == "n2" {
			return fmt.Errorf("not %s", node)
		}
		return nil
	}
	node, err := n.PlaceWhere(first, not2)
	assert.NilError(t, err)
	assert.Equal(t, node, "n3")
	assert.DeepEqual(t, asked, []string{"n2", "n3"}) // neither its own, nor one that is too small
	assert.Equal(t, place(t, n.Place, second), "n2")
	assert.Equal(t, place(t, n.Place, first), "n3")
	assert.Equal(t, place(t, n.Book, first), "n3")
	_, err = n.PlaceWhere(second, not2)
	assert.Error(t, err, "2 nodes: it has too little cpu left; 1 nodes: not n2")
	_, err = n.PlaceWhere(first, not2)
	assert.ErrorIs(t, err, framework.ErrUnknownPod)
}

// TestReasonsOfNodeFitAreBounded has ten times as many reasons as an error names.
func TestReasonsOfNodeFitAreBounded(t *testing.T) {
	pod := ft.Pod("a/p", "n00", "", ft.Owned("ReplicaSet/web"))
	var of []*v1.Node
	for i := range 51 {
		of = append(of, ft.Node(fmt.Sprintf("n%02d", i), "", ""))
	}
	n := nodefit.New(framework.NewSnapshot(framework.Objects{Nodes: of, Pods: pods(pod)}, ft.Now))
	_, err := n.PlaceWhere(pod, func(node string) error { return fmt.Errorf("not %s", node) })
	assert.Error(t, err, "1 nodes: not n01; 1 nodes: not n02; 1 nodes: not n03; 1 nodes: not n04; 1 nodes: not n05; 45 reasons more")
	n = nodefit.New(framework.NewSnapshot(framework.Objects{Nodes: of[:1], Pods: pods(pod)}, ft.Now))
	_, err = n.PlaceWhere(pod, func(string) error { return nil })
	assert.Error(t, err, "there is no other node")
}

// TestNodeFitIsWeakerThanTheScheduler: where the filters of kube-scheduler let a pod onto a node,
// so does NodeFit; the other way round it does not see all that they see.
func TestNodeFitIsWeakerThanTheScheduler(t *testing.T) {
	agree, weaker := 0, 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 11))
		o := randomCluster(r)
		h := ft.NewHandle(t, o, ft.Options{})
		n := nodefit.New(h.Snapshot())
		for _, pod := range o.Pods {
			for _, node := range o.Nodes {
				filters, fits := h.Landing().Fits(pod, node.Name), n.Fits(pod, node.Name)
				switch {
				case filters == nil && fits != nil && !node.Spec.Unschedulable:
					t.Errorf("seed %d: %s on %s: NodeFit says %v", seed, pod.Name, node.Name, fits)
				case filters != nil && fits == nil:
					weaker++
				default:
					agree++
				}
			}
		}
	}
	assert.Assert(t, agree > 1000 && weaker > 0, "%d answers agree, %d do not", agree, weaker)
}

func randomCluster(r *rand.Rand) (o framework.Objects) {
	for i := range 4 {
		n := ft.Node(fmt.Sprintf("n%d", i), fmt.Sprintf("cpu=%d pods=%d", 1+r.IntN(4), 2+r.IntN(5)), fmt.Sprintf("zone=%c", 'a'+rune(r.IntN(2))))
		if r.IntN(4) == 0 {
			ft.Taint(n, "slow", "", []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute, v1.TaintEffectPreferNoSchedule}[r.IntN(3)])
		}
		n.Spec.Unschedulable = r.IntN(8) == 0
		o.Nodes = append(o.Nodes, n)
	}
	some := []func(*v1.Pod){
		ft.Tolerates("slow"), ft.OnNodes("zone", "a"), ft.Apart("app=a", v1.LabelHostname), ft.Apart("app=b", "zone"),
		ft.Labelled("app=a"), ft.Labelled("app=b"), ft.Spread("app=a", "zone", 1, v1.DoNotSchedule), ft.Phase(v1.PodSucceeded),
		func(p *v1.Pod) { p.Spec.NodeSelector = ft.Labels("zone=b") },
	}
	for i := range 8 {
		edits := []func(*v1.Pod){ft.Owned("ReplicaSet/web")}
		for _, edit := range some {
			if r.IntN(4) == 0 {
				edits = append(edits, edit)
			}
		}
		requests := []string{"", "cpu=1", "cpu=500m memory=1Gi", "cpu=3"}[r.IntN(4)]
		o.Pods = append(o.Pods, ft.Pod(fmt.Sprintf("a/p%d", i), fmt.Sprintf("n%d", r.IntN(4)), requests, edits...))
	}
	return o
}
