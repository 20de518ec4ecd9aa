package feasibility

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// bigCluster is 5,000 nodes with ten pods each.
func bigCluster(tb testing.TB) (*Checker, []string) {
	tb.Helper()
	c, _ := newChecker(tb, Options{})
	names := make([]string, 5000)
	for i := range names {
		names[i] = fmt.Sprintf("node-%d", i)
		c.SetNode(aNode(names[i], fmt.Sprintf("zone-%d", i%3)))
		for k := range 10 {
			c.SetPod(aPod(fmt.Sprintf("pod-%d-%d", i, k), placedOn(names[i]), requests("cpu=100m memory=1Gi"),
				labelled("app", fmt.Sprintf("app-%d", k))))
		}
	}
	return c, names
}

// kinds are pods by what PreFilter has to look at.
func kinds() map[string]*v1.Pod {
	return map[string]*v1.Pod{
		"plain":             aPod("x", requests("cpu=1 memory=1Gi"), labelled("app", "app-0")),
		"spread":            aPod("x", requests("cpu=1 memory=1Gi"), labelled("app", "app-0"), spread("app", "app-0", v1.LabelTopologyZone)),
		"spread over nodes": aPod("x", requests("cpu=1 memory=1Gi"), labelled("app", "app-0"), spread("app", "app-0", v1.LabelHostname)),
		"anti-affinity":     aPod("x", requests("cpu=1 memory=1Gi"), labelled("app", "new"), apart("app", "new", v1.LabelHostname)),
	}
}

// processorTime reports how long processors worked for an operation, which says more
// than the time that passed on a machine with other work.
func processorTime(b *testing.B) (report func()) {
	b.Helper()
	used := func() time.Duration {
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			b.Fatal(err)
		}
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	begin := used()
	return func() { b.ReportMetric(float64(used()-begin)/float64(b.N), "cpu-ns/op") }
}

// BenchmarkSetPodAndCheck is what each placement costs: one pod is counted, and one node
// is checked for the next, which is like the others of its workload.
func BenchmarkSetPodAndCheck(b *testing.B) {
	c, names := bigCluster(b)
	for name, pod := range kinds() {
		b.Run(name, func(b *testing.B) {
			defer processorTime(b)()
			i := 0
			for b.Loop() {
				c.SetPod(aPod("moving", placedOn(names[i%len(names)]), requests("cpu=100m memory=1Gi"), labelled("app", "app-0")))
				next := *pod
				c.Check(&next, names[(i+1)%len(names)])
				i++
			}
		})
	}
}

// BenchmarkCheckNodes checks all 5,000 nodes for one pod.
func BenchmarkCheckNodes(b *testing.B) {
	c, names := bigCluster(b)
	for name, pod := range kinds() {
		b.Run(name, func(b *testing.B) {
			defer processorTime(b)()
			for b.Loop() {
				c.SetPod(aPod("moving", placedOn(names[0]), requests("cpu=100m memory=1Gi")))
				c.CheckNodes(pod, names)
			}
		})
	}
}

// BenchmarkCheckWith asks about one node without three of its pods, as in a preemption
// attempt, while nothing changes.
func BenchmarkCheckWith(b *testing.B) {
	c, names := bigCluster(b)
	for name, pod := range kinds() {
		b.Run(name, func(b *testing.B) {
			defer processorTime(b)()
			i := 0
			for b.Loop() {
				n := i % len(names)
				remove := c.cluster.infos[names[n]].Pods[:3]
				c.CheckWith(pod, names[n], nil, []*v1.Pod{remove[0].GetPod(), remove[1].GetPod(), remove[2].GetPod()})
				i++
			}
		})
	}
}
