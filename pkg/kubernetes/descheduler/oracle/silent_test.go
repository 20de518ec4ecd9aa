package oracle

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

// TestSilent writes down what happens where the documents say nothing.
func TestSilent(t *testing.T) {
	e := newEngine(t)
	life := plugin{Name: lifeTime, Args: args{MaxPodLifeTimeSeconds: ptr(60)}}
	of := ft.Owned("ReplicaSet/r")
	two := func() []*v1.Node { return []*v1.Node{ft.Node("m", "", ""), ft.Node("n", "", "")} }
	at := metav1.NewTime(start.Add(-time.Minute))
	end := func(p *v1.Pod) { p.DeletionTimestamp, p.Finalizers = &at, []string{"x"} }
	for _, c := range []struct {
		what    string
		evictor evictorArgs
		plugin  plugin
		edits   []func(*v1.Pod)
	}{
		{"priority above the threshold, critical pods let go", evictorArgs{EvictCritical: true, PriorityThreshold: map[string]any{"value": 10}}, life, []func(*v1.Pod){of, ft.Priority(50)}},
		{"critical, critical pods let go, threshold", evictorArgs{EvictCritical: true, PriorityThreshold: map[string]any{"value": 10}}, life, []func(*v1.Pod){of, ft.Priority(2000000000)}},
		{"ended pod of an owner, no other node (nodeFit)", evictorArgs{NodeFit: true}, life, []func(*v1.Pod){of, ft.Phase(v1.PodFailed), ft.OnNodes("x", "y")}},
		{"ended pod of an owner, no node", evictorArgs{}, life, []func(*v1.Pod){of, ft.Phase(v1.PodFailed), ft.OnNodes("x", "y")}},
		{"evict annotation, ending", evictorArgs{}, life, []func(*v1.Pod){of, end, ft.Annotated(mayEvict + "=")}},
		{"evict annotation, mirror", evictorArgs{}, life, []func(*v1.Pod){of, ft.Annotated(mayEvict + "= " + v1.MirrorPodAnnotationKey + "=x")}},
		{"evict annotation, bare", evictorArgs{}, life, []func(*v1.Pod){ft.Annotated(mayEvict + "=")}},
		{"evict annotation, no other node (nodeFit)", evictorArgs{NodeFit: true}, life, []func(*v1.Pod){of, ft.Annotated(mayEvict + "="), ft.OnNodes("kubernetes.io/hostname", "m")}},
		{"evict annotation, prefers to stay, Mandatory", evictorArgs{NoEvictionPolicy: "Mandatory"}, life, []func(*v1.Pod){of, ft.Annotated(mayEvict + "= " + noEvict + "=")}},
		{"largest eviction cost", evictorArgs{}, life, []func(*v1.Pod){of, ft.Annotated(costOwn + "=2147483647")}},
		{"ended, many restarts", evictorArgs{}, plugin{Name: restarts, Args: args{PodRestartThreshold: 1}}, []func(*v1.Pod){of, ft.Restarts(5), ft.Phase(v1.PodFailed)}},
		{"DaemonSet pod let go", evictorArgs{EvictDaemon: true}, life, []func(*v1.Pod){ft.Owned("DaemonSet/d")}},
		{"negative priority, no priority", evictorArgs{PriorityThreshold: map[string]any{"value": 0}}, life, []func(*v1.Pod){of}},
		{"no start time, minPodAge", evictorArgs{MinPodAge: "1m"}, life, []func(*v1.Pod){of, func(p *v1.Pod) { p.Status.StartTime = nil }}},
	} {
		for _, core := range []bool{false, true} {
			w := small(core, []profile{{Name: "p", Evictor: c.evictor, Plugins: []plugin{c.plugin}}}, two(), ft.Pod("a/p", "m", "cpu=1", c.edits...))
			x := w.copy()
			pl, err := e.play(&x, true)
			if err != nil {
				t.Fatal(err)
			}
			r, _, err := pl.cycle()
			why := ""
			for _, d := range pl.d.Why("a", "p").Decisions {
				why += fmt.Sprintf(" [%s %s]", d.Outcome, d.Reason)
			}
			t.Logf("%s, core %v: %q %v%s", c.what, core, moves(r), err, why)
		}
	}
	// oldest first, or those that prefer to stay last
	w := small(false, []profile{{Name: "p", Plugins: []plugin{life}}}, two(), ft.Pod("a/old", "m", "cpu=1", of, ft.Aged(9*time.Hour), ft.Annotated(noEvict+"=")), ft.Pod("a/young", "m", "cpu=1", of, ft.Aged(time.Hour)))
	w.s.Total = 1
	t.Logf("an old pod that prefers to stay, and a young one: %v", e.evictions(w))
	w = small(false, []profile{{Name: "p", Plugins: []plugin{life}}}, two(), ft.Pod("a/old", "m", "cpu=1", of, ft.Aged(9*time.Hour), ft.Priority(100)), ft.Pod("a/young", "m", "cpu=1", of, ft.Aged(time.Hour), ft.Priority(1)))
	w.s.Total = 1
	t.Logf("an old pod with a high priority, and a young one: %v", e.evictions(w))
	// a DaemonSet pod as its controller makes it
	for _, core := range []bool{false, true} {
		w := small(core, []profile{{Name: "p", Evictor: evictorArgs{EvictDaemon: true}, Plugins: []plugin{life}}}, two(), ft.Pod("a/p", "n", "cpu=1", ft.Owned("DaemonSet/d")))
		w.o.Pods[0].Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n"}}}}}}}}
		t.Logf("DaemonSet pod of one node, core %v: %v", core, e.evictions(w))
	}
	// a node that is not ready and has no taint
	for _, core := range []bool{false, true} {
		w := small(core, []profile{{Name: "p", Evictor: evictorArgs{NodeFit: true}, Plugins: []plugin{life}}}, append(two(), ft.Node("l", "", "")), ft.Pod("a/p", "m", "cpu=1", of))
		w.o.Nodes[2].Status.Conditions[0].Status = v1.ConditionUnknown
		w.o.Nodes[1].Spec.Unschedulable = true
		t.Logf("the other node is not ready, core %v: %v", core, e.evictions(w))
	}
	// a policy that looks at some nodes: others are targets
	for _, core := range []bool{false, true} {
		w := small(core, []profile{{Name: "p", Evictor: evictorArgs{NodeFit: true}, Plugins: []plugin{life}}}, []*v1.Node{ft.Node("m", "", "pool=x"), ft.Node("n", "pods=0", "pool=x"), ft.Node("o", "", "")}, ft.Pod("a/p", "m", "cpu=1", of))
		w.s.NodeSelector = "pool=x"
		t.Logf("the only place is on a node that the policy does not select, core %v: %v", core, e.evictions(w))
	}
}
