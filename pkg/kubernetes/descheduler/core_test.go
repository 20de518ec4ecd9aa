package descheduler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

func processors(n int) v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU: *resource.NewQuantity(int64(n), resource.DecimalSI), v1.ResourcePods: *resource.NewQuantity(110, resource.DecimalSI),
	}
}

// level is a balance plugin: nodes with more than one pod over the mean give pods away.
func level(ctx context.Context, h framework.Handle, nodes []*v1.Node) error {
	total := 0
	for _, n := range nodes {
		total += len(h.Snapshot().PodsOn(n.Name))
	}
	for _, n := range nodes {
		pods := h.Snapshot().PodsOn(n.Name)
		for i := total/len(nodes) + 1; i < len(pods); i++ {
			_ = h.Evictor().EvictPod(ctx, pods[i], framework.EvictOptions{Reason: "the node has too many"})
		}
	}
	return nil
}

// TestEvictionsHaveAPlace is with the scheduler's core: all evictions
// of a cycle at once find the places that the report names, and the report of a dry run is
// what a real cycle does. When the pods run there, the next cycle wants nothing else.
func TestEvictionsHaveAPlace(t *testing.T) {
	moves := 0
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 5))
		w := newWorld(t)
		w.nodes = nil
		for i := range 3 + r.IntN(4) {
			w.nodes = append(w.nodes, newNode(fmt.Sprint("n", i), func(n *v1.Node) {
				n.Status.Capacity, n.Status.Allocatable = processors(6), processors(6)
			}))
		}
		used := map[string]int{}
		for i := range 3 * len(w.nodes) {
			node, cpu := w.nodes[r.IntN(1+len(w.nodes)/2)].Name, 1+r.IntN(3)
			if used[node]+cpu > 6 {
				continue
			}
			used[node] += cpu
			w.pods = append(w.pods, newPod("team", fmt.Sprint("p", i), node, fmt.Sprint("w", i%3), func(p *v1.Pod) {
				p.Spec.SchedulerName = "narwhal"
				p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: processors(cpu)}}}
				delete(p.Spec.Containers[0].Resources.Requests, v1.ResourcePods)
			}))
		}
		w.plugin("All").balance = level
		w.policy.Profiles = []policy.Profile{profileOf("p", framework.Balance, "All")}
		w.options.DryRun = true
		dry, err := w.build().Cycle(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, len(w.evicted), 0)
		w.options.DryRun, w.d = false, nil
		for cycle := range 3 {
			report, err := w.build().Cycle(t.Context())
			assert.NilError(t, err)
			if cycle == 0 {
				assert.DeepEqual(t, report.Evictions, dry.Evictions)
			}
			moves += len(report.Evictions)
			assert.Assert(t, cycle < 2 || len(report.Evictions) == 0, "seed %d: %v", seed, report.Evictions)
			w.move(report.Evictions)
			w.checkRoom()
		}
	}
	assert.Assert(t, moves > 15, "%d moves", moves)
}

// move lets the replacements run where a report says.
func (w *world) move(evictions []Eviction) {
	to := map[string]string{}
	for _, e := range evictions {
		assert.Assert(w.t, e.To != "" && e.To != e.From, "%v", e)
		to[e.Pod] = e.To
	}
	w.clock.Step(time.Minute)
	for i, p := range w.pods {
		if node := to[p.Namespace+"/"+p.Name]; node != "" {
			next := p.DeepCopy()
			next.Name, next.UID, next.Spec.NodeName = p.Name+"x", p.UID+"x", node
			next.CreationTimestamp = metav1.NewTime(w.clock.Now())
			w.pods[i] = next
		}
	}
}

// checkRoom says whether the pods of each node fit there.
func (w *world) checkRoom() {
	used := map[string]int64{}
	for _, p := range w.pods {
		used[p.Spec.NodeName] += p.Spec.Containers[0].Resources.Requests.Cpu().Value()
	}
	for _, n := range w.nodes {
		assert.Assert(w.t, used[n.Name] <= 6, "node %s: %d", n.Name, used[n.Name])
	}
}
