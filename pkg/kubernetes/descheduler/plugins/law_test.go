package plugins

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/duplicates"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/evictable"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/lifetime"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/utilization"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/violations"
)

// A setup is a plugin with arguments.
type setup struct {
	of      framework.Definition
	args    any
	packing bool
	moves   bool // the plugin moves pods to other nodes
	// concern makes a pod of an application one that the plugin looks at.
	concern func(r *rand.Rand, app string) func(*v1.Pod)
}

// setups are all plugins that evict.
func setups() []setup {
	short, hour := uint(1800), uint(60)
	soft := []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway}
	low, high := utilization.Thresholds{"cpu": 30_000, "memory": 30_000}, utilization.Thresholds{"cpu": 50_000, "memory": 50_000}
	deviation := utilization.Thresholds{"cpu": 10_000, "memory": 10_000}
	at := utilization.AnomalyCondition{ConsecutiveAbnormalities: 1}
	load := utilization.LoadDefaults().(*utilization.LoadArgs)
	load.PoolThresholds = utilization.PoolThresholds{LowThresholds: low, HighThresholds: high, AnomalyCondition: &at}
	production := utilization.LoadDefaults().(*utilization.LoadArgs)
	production.PoolThresholds = utilization.PoolThresholds{
		UseDeviationThresholds: true, LowThresholds: deviation, HighThresholds: deviation,
		ProdLowThresholds: deviation, ProdHighThresholds: deviation, AnomalyCondition: &at,
	}
	return []setup{
		{of: lifetime.PodLifeTimeDefinition(), args: &lifetime.PodLifeTimeArgs{MaxPodLifeTimeSeconds: &short}},
		{of: lifetime.FailedDefinition(), args: &lifetime.FailedArgs{MinPodLifetimeSeconds: &hour}, concern: failing},
		{of: lifetime.RestartsDefinition(), args: &lifetime.RestartsArgs{PodRestartThreshold: 3}},
		{of: violations.AntiAffinityDefinition(), moves: true, concern: apart},
		{of: violations.NodeAffinityDefinition(), moves: true, args: &violations.NodeAffinityArgs{NodeAffinityType: []string{
			"requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution",
		}}},
		{of: violations.NodeTaintsDefinition(), moves: true, args: &violations.NodeTaintsArgs{IncludePreferNoSchedule: true}},
		{of: violations.TopologySpreadDefinition(), moves: true, concern: spread},
		{of: violations.TopologySpreadDefinition(), moves: true, concern: spread, args: &violations.TopologySpreadArgs{Constraints: soft}},
		{of: duplicates.Definition(), moves: true},
		{of: utilization.LowDefinition(), moves: true, args: &utilization.LowArgs{Thresholds: low, TargetThresholds: high}},
		{of: utilization.LowDefinition(), moves: true, args: &utilization.LowArgs{
			UseDeviationThresholds: true, Thresholds: deviation, TargetThresholds: deviation,
		}},
		{of: utilization.LowDefinition(), moves: true, args: &utilization.LowArgs{
			Thresholds: low, TargetThresholds: high,
			MetricsUtilization: &utilization.MetricsUtilization{Source: framework.KubernetesMetrics},
		}},
		{of: utilization.HighDefinition(), moves: true, packing: true, args: &utilization.HighArgs{Thresholds: high}},
		{of: utilization.LoadDefinition(), moves: true, args: load},
		{of: utilization.LoadDefinition(), moves: true, args: production},
	}
}

func failing(r *rand.Rand, _ string) func(*v1.Pod) {
	return ft.Phase([]v1.PodPhase{v1.PodRunning, v1.PodFailed}[r.IntN(2)])
}

func apart(r *rand.Rand, app string) func(*v1.Pod) {
	return ft.Apart(app, []string{"zone", v1.LabelHostname, v1.LabelHostname}[r.IntN(3)])
}

func spread(r *rand.Rand, app string) func(*v1.Pod) {
	skew, what := int32(1+r.IntN(2)), []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway}
	zone, host := ft.Spread(app, "zone", skew, what[r.IntN(2)]), ft.Spread(app, v1.LabelHostname, 1, what[r.IntN(2)])
	both := r.IntN(2) == 0
	return func(p *v1.Pod) {
		zone(p)
		if both {
			host(p)
		}
	}
}

// randomCluster makes up to eight nodes and thirty pods, which keep only the rule that
// requests fit.
func randomCluster(r *rand.Rand, s setup) framework.Objects {
	var o framework.Objects
	free := map[string]int{}
	for i := range 2 + r.IntN(7) {
		n := ft.Node(fmt.Sprintf("n%d", i), fmt.Sprintf("cpu=%d memory=%dGi", 2+r.IntN(3), 4+r.IntN(8)),
			fmt.Sprintf("zone=%c disk=%c", 'a'+rune(r.IntN(3)), 'a'+rune(r.IntN(2))))
		switch r.IntN(8) {
		case 0:
			ft.Taint(n, "dedicated", "", v1.TaintEffectNoSchedule)
		case 1:
			ft.Taint(n, "slow", "", v1.TaintEffectPreferNoSchedule)
		case 2:
			n.Spec.Unschedulable = true
			ft.Taint(n, v1.TaintNodeUnschedulable, "", v1.TaintEffectNoSchedule)
		}
		o.Nodes = append(o.Nodes, n)
		free[n.Name] = int(n.Status.Allocatable.Cpu().MilliValue())
	}
	for w := range 2 + r.IntN(7) {
		app, cpu, workload := fmt.Sprintf("app%d", w), 50*(1+r.IntN(12)), randomWorkload(r, w)
		if s.concern != nil && r.IntN(4) > 0 {
			workload = append(workload, s.concern(r, "app="+app))
		}
		for i := range 1 + r.IntN(6) {
			node := o.Nodes[r.IntN(1+r.IntN(len(o.Nodes)))].Name // the first nodes get more
			if free[node] < cpu {
				continue
			}
			free[node] -= cpu
			o.Pods = append(o.Pods, ft.Pod(fmt.Sprintf("ns%d/%s-%d", w%2, app, i), node,
				fmt.Sprintf("cpu=%dm memory=%dMi", cpu, cpu/2), append([]func(*v1.Pod){randomState(r)}, workload...)...))
		}
	}
	return o
}

// randomWorkload is what pods of one owner have in common.
func randomWorkload(r *rand.Rand, number int) []func(*v1.Pod) {
	app := fmt.Sprintf("app=app%d", number)
	kinds := []string{"ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "DaemonSet"}
	edits := []func(*v1.Pod){ft.Labelled(app), ft.Labelled("tier=" + fmt.Sprint(number%2))}
	if r.IntN(10) > 0 {
		edits = append(edits, ft.Owned(kinds[r.IntN(len(kinds))]+"/"+app))
	}
	if r.IntN(2) == 0 {
		edits = append(edits, ft.Priority([]int32{-5, 0, 9500, 2_000_000_000}[r.IntN(4)]))
	}
	for range r.IntN(3) {
		switch r.IntN(8) {
		case 0:
			edits = append(edits, ft.Apart(app, v1.LabelHostname))
		case 1:
			edits = append(edits, ft.Apart(fmt.Sprintf("tier=%d", r.IntN(2)), "zone"))
		case 2:
			edits = append(edits, ft.Spread(app, "zone", int32(1+r.IntN(2)), v1.DoNotSchedule))
		case 3:
			edits = append(edits, ft.Spread(app, v1.LabelHostname, 1, v1.ScheduleAnyway))
		case 4:
			edits = append(edits, ft.OnNodes("disk", "a"))
		case 5:
			edits = append(edits, ft.Prefers("disk", "b", 5), ft.Prefers("zone", "a", 3))
		case 6:
			edits = append(edits, ft.Tolerates("dedicated"))
		case 7:
			edits = append(edits, ft.Spread("tier=0", "zone", 1, v1.ScheduleAnyway))
		}
	}
	return edits
}

// randomState is what pods of one owner do not have in common.
func randomState(r *rand.Rand) func(*v1.Pod) {
	age := time.Duration(r.IntN(120)) * time.Minute
	restarts, other := r.Int32N(6), r.IntN(12)
	return func(p *v1.Pod) {
		ft.Aged(age)(p)
		ft.Restarts(restarts)(p)
		switch other {
		case 0:
			p.Status.Phase = v1.PodFailed
		case 1:
			p.Status.Phase = v1.PodSucceeded
		case 2:
			p.DeletionTimestamp = &metav1.Time{Time: ft.Now}
		case 3:
			p.Annotations["descheduler.alpha.kubernetes.io/prefer-no-eviction"] = ""
		}
	}
}

// useOf is what pods use: more or less than they request, by their owner.
func useOf(o framework.Objects) ft.Use {
	use := ft.Use{Nodes: map[string]v1.ResourceList{}, Pods: map[string]v1.ResourceList{}}
	sums := map[string][2]int64{}
	for _, p := range o.Pods {
		requests := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
		factor := int64(len(p.Labels["app"])*7+int(p.Labels["app"][3]))%5 + 1
		cpu, memory := requests.Cpu().MilliValue()*factor/3, requests.Memory().Value()*factor/3
		use.Pods[p.Namespace+"/"+p.Name] = list(cpu, memory)
		if p.Status.Phase == v1.PodRunning {
			s := sums[p.Spec.NodeName]
			sums[p.Spec.NodeName] = [2]int64{s[0] + cpu, s[1] + memory}
		}
	}
	for _, n := range o.Nodes {
		use.Nodes[n.Name] = list(sums[n.Name][0], sums[n.Name][1])
	}
	return use
}

func list(cpu, memory int64) v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(cpu, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
	}
}

// cycle runs one plugin with the default evictor.
func cycle(t *testing.T, s setup, o framework.Objects, limits ft.Limits) *ft.Handle {
	t.Helper()
	h := ft.NewHandle(t, o, ft.Options{Packing: s.packing, Usage: useOf(o), Limits: limits})
	h.Use(h.Build(t, evictable.Definition(), nil))
	assert.Assert(t, h.Run(t, s.of, s.args) == nil)
	return h
}

// clusters is how many random clusters are tried for each plugin.
const clusters = 40

// A second cycle proposes nothing once the pods that were evicted run where the
// scheduler placed them; pods never come back to their node; what filters keep stays;
// and the order in which the API server lists objects changes nothing.
func TestLaws(t *testing.T) {
	for i, s := range setups() {
		t.Run(fmt.Sprintf("%02d %s", i, s.of.Name), func(t *testing.T) {
			evictions := 0
			for seed := range uint64(clusters) {
				r := rand.New(rand.NewPCG(seed, 11))
				o := randomCluster(r, s)
				h := cycle(t, s, o, ft.Limits{})
				evictions += len(h.Evictions())
				for _, e := range h.Evictions() {
					if s.moves && len(e.Pod.OwnerReferences) > 0 {
						assert.Assert(t, e.To != "" && e.To != e.Node, "seed %d: %s", seed, e)
					}
				}
				shuffled := framework.Objects{Nodes: slices.Clone(o.Nodes), Pods: slices.Clone(o.Pods)}
				r.Shuffle(len(o.Nodes), func(i, j int) { shuffled.Nodes[i], shuffled.Nodes[j] = shuffled.Nodes[j], shuffled.Nodes[i] })
				r.Shuffle(len(o.Pods), func(i, j int) { shuffled.Pods[i], shuffled.Pods[j] = shuffled.Pods[j], shuffled.Pods[i] })
				assert.DeepEqual(t, cycle(t, s, shuffled, ft.Limits{}).Moves(), h.Moves())
				next := cycle(t, s, h.Replaced(), ft.Limits{})
				assert.DeepEqual(t, next.Moves(), []string{})
			}
			assert.Assert(t, evictions > 0, "nothing was evicted, so nothing was tested")
			t.Logf("%d evictions", evictions)
		})
	}
}

// Limits are never broken, and once the total is known to be reached nothing is asked.
func TestLimits(t *testing.T) {
	for i, s := range setups() {
		t.Run(fmt.Sprintf("%02d %s", i, s.of.Name), func(t *testing.T) {
			reached := false
			for seed := range uint64(clusters / 3) {
				r := rand.New(rand.NewPCG(seed, 11))
				o := randomCluster(r, s)
				limits := ft.Limits{Total: 1 + r.IntN(2), PerNode: 1 + r.IntN(2), PerNamespace: 1 + r.IntN(2)}
				h := cycle(t, s, o, limits)
				byNode, byNamespace := map[string]int{}, map[string]int{}
				for _, e := range h.Evictions() {
					byNode[e.Node]++
					byNamespace[e.Pod.Namespace]++
					assert.Assert(t, byNode[e.Node] <= limits.PerNode && byNamespace[e.Pod.Namespace] <= limits.PerNamespace)
				}
				done, asked := len(h.Evictions()), len(h.Asked())
				assert.Assert(t, done <= limits.Total)
				// Each refusal by a limit ends questions about a node, a namespace or all.
				assert.Assert(t, asked <= done+len(o.Nodes)+2+1, "seed %d: asked %d times for %d", seed, asked, done)
				reached = reached || asked > done
			}
			assert.Assert(t, reached, "no limit was reached, so nothing was tested")
		})
	}
}

func TestRegister(t *testing.T) {
	var registry framework.Registry
	assert.NilError(t, Register(&registry))
	assert.DeepEqual(t, registry.Names(), []string{
		"DefaultEvictor", "HighNodeUtilization", "LowNodeLoad", "LowNodeUtilization", "OpenRoom", "PodLifeTime", "PrioritySort",
		"RemoveDuplicates", "RemoveFailedPods", "RemovePodsHavingTooManyRestarts", "RemovePodsViolatingInterPodAntiAffinity",
		"RemovePodsViolatingNodeAffinity", "RemovePodsViolatingNodeTaints", "RemovePodsViolatingTopologySpreadConstraint",
	})
}
