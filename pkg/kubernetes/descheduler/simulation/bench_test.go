package simulation

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

// A large is a cluster of nodes with twenty pods each.
type large struct {
	nodes int
	// skewed has the pods that like a label crowd on a tenth of the nodes, so that a quarter
	// of all pods should move; otherwise it is one in a hundred.
	skewed bool
	// foreign has another scheduler place all pods.
	foreign bool
}

// objects has workloads of twenty pods each, each with a rule about where they run. Most
// rules hold; of a few pods, chosen by their number, they do not.
func (l large) objects() framework.Objects {
	var o framework.Objects
	for i := range l.nodes {
		o.Nodes = append(o.Nodes, ft.Node(fmt.Sprintf("n%05d", i),
			"cpu=16 memory=64Gi pods=110 ephemeral-storage=100Gi nvidia.com/gpu=1 example.com/license=4",
			fmt.Sprintf("zone=%d disk=%d", i%3, i%2)))
	}
	rare := 1000
	if l.skewed {
		rare = 100
	}
	for i := range 20 * l.nodes {
		number := i / 20
		app := fmt.Sprintf("app=app%d", number)
		edits := []func(*v1.Pod){
			ft.Labelled(app), ft.Owned("ReplicaSet/" + app), ft.Aged(time.Minute), ft.Restarts(1),
		}
		if !l.foreign {
			edits = append(edits, ours(app[4:], queueNames[number%3]))
		}
		switch number % 5 {
		case 0:
			edits = append(edits, ft.Spread(app, "zone", 1, v1.DoNotSchedule), ft.Spread(app, v1.LabelHostname, 1, v1.ScheduleAnyway))
		case 1:
			edits = append(edits, ft.Apart(app, v1.LabelHostname))
		case 2:
			edits = append(edits, ft.Prefers("disk", "1", 5))
		case 3:
			edits = append(edits, ft.OnNodes("disk", "1"))
		}
		if i%rare == 7 {
			edits = append(edits, ft.Aged(2*time.Hour))
		}
		p := ft.Pod(fmt.Sprintf("ns%d/p%06d", number%50, i), "", "cpu=400m memory=1Gi", edits...)
		p.Status.Conditions, p.Status.QOSClass = isReady, v1.PodQOSBurstable
		p.Spec.NodeName = o.Nodes[l.nodeOf(i, i%rare == 69)].Name
		o.Pods = append(o.Pods, p)
	}
	return o
}

// nodeOf is the number of the node where a pod runs; astray, it is one that the rule of the
// pod does not want.
func (l large) nodeOf(i int, astray bool) int {
	node, rule := l.evenly(i), i/20%5
	if l.skewed {
		node = i
		if rule == 2 || rule == 3 && !astray {
			node = 2*i + rule - 2
		}
	} else if astray {
		node++ // a label is on each second one
	}
	node %= l.nodes
	if node >= l.nodes-l.nodes/100 && i%4 > 0 { // one node in a hundred is light, and one heavy
		node -= l.nodes / 100
	}
	return node
}

// evenly goes around the nodes for the pods of rule 1, around those with an even number
// for rules 0 and 4, and around the others for rules 2 and 3.
func (l large) evenly(i int) int {
	block, in := i/100, i%100
	switch i / 20 % 5 {
	case 0:
		return 2 * (40*block + in)
	case 1:
		return 20*block + in - 20
	case 4:
		return 2 * (40*block + in - 60)
	default:
		return 2*(40*block+in-40) + 1
	}
}

// processorTime is the time that the process has used so far, collecting garbage included.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkEverything is one cycle of all plugins with the real core: in a cluster of 5,000
// nodes and 100,000 pods of which few should move, and in one of 1,000 nodes and 20,000
// pods of which many should. The landing knows the cluster, as it does from the second cycle on.
func BenchmarkEverything(b *testing.B) {
	b.Run("calm", func(b *testing.B) { large{nodes: 5000}.benchmark(b) })
	b.Run("foreign", func(b *testing.B) { large{nodes: 5000, foreign: true}.benchmark(b) })
	b.Run("skewed", func(b *testing.B) { large{nodes: 1000, skewed: true}.benchmark(b) })
}

func (l large) benchmark(b *testing.B) {
	w := l.world(b)
	d := w.descheduler(true)
	report, _ := w.cycle(d)
	evictions := len(report.Evictions)
	b.ResetTimer()
	before := processorTime(b)
	for b.Loop() {
		report, _ = w.cycle(d)
	}
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(evictions), "evictions")
	if len(report.Evictions) != evictions {
		b.Fatalf("%d evictions, and %d the next time", evictions, len(report.Evictions))
	}
}

// world has all plugins but those that need a source of measured use.
func (l large) world(t testing.TB) *world {
	all := slices.Clone(choices[:len(choices)-1])
	for i := range all {
		if all[i].goal == "high" || all[i].goal == "low" && !strings.Contains(all[i].args, "Deviation") {
			all[i].args = thresholds[all[i].goal]
		}
	}
	top := ""
	if l.foreign {
		top = "nodeOrder: LeastAllocated\n" // or other schedulers would be taken to pack
	}
	return newWorld(t, l.objects(), fixedQueues, load(t, policyOf(top, "{}", all...)))
}

// thresholds are such that one node in a hundred is used too little, and one too much.
var thresholds = map[string]string{
	"high": "{thresholds: {cpu: 20}}",
	"low":  "{thresholds: {cpu: 45}, targetThresholds: {cpu: 80}}",
}

// fixedQueues are those of random clusters, each with a guarantee that is exceeded.
const fixedQueues = `partitions:
- name: default
  queues:
  - name: root
    queues:
    - {name: a, resources: {guaranteed: {vcore: 100}}}
    - {name: b, resources: {guaranteed: {vcore: 100}}}
    - {name: c}
`
