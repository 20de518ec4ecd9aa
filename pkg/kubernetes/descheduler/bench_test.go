package descheduler

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// BenchmarkCycle is what the framework itself costs: 5,000 nodes and 100,000 pods, a plugin
// that asks the filters about each, and 100 evictions.
func BenchmarkCycle(b *testing.B) {
	w := newWorld(b)
	w.nodes = nil
	for i := range 5000 {
		w.nodes = append(w.nodes, newNode(fmt.Sprint("n", i)))
	}
	for i := range 100_000 {
		w.pods = append(w.pods, newPod(fmt.Sprint("ns", i%50), fmt.Sprint("p", i), w.nodes[i%5000].Name, fmt.Sprint("w", i%2000)))
	}
	hundred := 100
	w.options.DryRun = true
	w.policy.Limits.Total = &hundred
	w.policy.Profiles[0].Plugins[framework.Filter] = []string{"All"}
	w.plugin("All").deschedule = func(ctx context.Context, h framework.Handle, nodes []*v1.Node) error {
		for _, n := range nodes {
			for _, p := range h.Snapshot().PodsOn(n.Name) {
				if h.Evictor().Filter(p) && h.Evictor().Full(p) == nil {
					_ = h.Evictor().EvictPod(ctx, p, framework.EvictOptions{Reason: "all go"})
				}
			}
		}
		return nil
	}
	d := w.build()
	b.ResetTimer()
	for b.Loop() {
		report, err := d.Cycle(b.Context())
		if err != nil || len(report.Evictions) != hundred {
			b.Fatal(err, len(report.Evictions))
		}
	}
}
