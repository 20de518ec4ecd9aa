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

// largeObjects has workloads of twenty pods each, each with a rule about where they run. Most
// rules hold; of one pod in a hundred, chosen by its number, they do not.
func largeObjects(nodes, pods int) framework.Objects {
	var o framework.Objects
	for i := range nodes {
		o.Nodes = append(o.Nodes, ft.Node(fmt.Sprintf("n%05d", i),
			"cpu=16 memory=64Gi pods=110 ephemeral-storage=100Gi nvidia.com/gpu=1 example.com/license=4",
			fmt.Sprintf("zone=%d disk=%d", i%3, i%2)))
	}
	for i := range pods {
		number := i / 20
		app := fmt.Sprintf("app=app%d", number)
		edits := []func(*v1.Pod){
			ft.Labelled(app), ft.Owned("ReplicaSet/" + app), ft.Aged(time.Minute), ft.Restarts(1), ours(app[4:], queueNames[number%3]),
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
		if i%100 == 7 {
			edits = append(edits, ft.Aged(2*time.Hour))
		}
		p := ft.Pod(fmt.Sprintf("ns%d/p%06d", number%50, i), "", "cpu=400m memory=1Gi", edits...)
		p.Status.Conditions, p.Status.QOSClass = isReady, v1.PodQOSBurstable
		p.Spec.NodeName = o.Nodes[i%nodes].Name
		if rule := number % 5; rule == 2 || rule == 3 && i%100 != 9 {
			p.Spec.NodeName = o.Nodes[(2*i+rule-2)%nodes].Name // has the label that it asks for
		}
		if i%nodes >= nodes-nodes/100 && i%4 > 0 { // one node in a hundred is light, and one heavy
			p.Spec.NodeName = o.Nodes[i%nodes-nodes/100].Name
		}
		o.Pods = append(o.Pods, p)
	}
	return o
}

// processorTime is the time that the process has used so far, collecting garbage included.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkEverything is one cycle of all plugins with the real core, in a cluster of 1,000
// nodes and 20,000 pods. The landing knows the cluster, as it does from the second cycle on.
func BenchmarkEverything(b *testing.B) {
	all := slices.Clone(choices[:len(choices)-1]) // measured use needs a source
	for i := range all {
		if all[i].goal == "high" || all[i].goal == "low" && !strings.Contains(all[i].args, "Deviation") {
			all[i].args = thresholds[all[i].goal]
		}
	}
	w := newWorld(b, largeObjects(benchNodes, 20*benchNodes), fixedQueues, load(b, policyOf("", "{}", all...)))
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

// benchNodes is the size of the cluster; each node has twenty pods.
const benchNodes = 1000

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
