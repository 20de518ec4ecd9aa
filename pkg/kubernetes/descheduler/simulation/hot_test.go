package simulation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

// used is the annotation of a pod that says how much of a processor it uses.
const used = "test/used"

// hotNode is a cluster that a scheduler made even by requests, in which the pods of node n0 use far
// more than they request, and all others less.
func hotNode(seed uint64, scheduler string) framework.Objects {
	r := rand.New(rand.NewPCG(seed, 11))
	var o framework.Objects
	for i := range 6 {
		o.Nodes = append(o.Nodes, ft.Node(fmt.Sprint("n", i), "cpu=8 memory=16Gi pods=110", ""))
	}
	on := map[string]int{}
	for i := range 48 {
		cpu := []int64{200, 300, 500}[r.IntN(3)]
		p := running(fmt.Sprintf("ns0/p%02d", i), "", fmt.Sprintf("cpu=%dm memory=128Mi", cpu), ft.Owned(fmt.Sprint("ReplicaSet/set", i/4)), ft.Labelled(fmt.Sprint("app=set", i/4)))
		p.Spec.SchedulerName = scheduler
		p.Annotations[used] = fmt.Sprintf("%dm", int64(float64(cpu)*(0.1+0.5*r.Float64())))
		p.Spec.NodeName = leastAllocated(o, r)
		on[p.Spec.NodeName]++
		o.Pods = append(o.Pods, p)
	}
	for _, p := range o.Pods {
		if p.Spec.NodeName == "n0" {
			p.Annotations[used] = fmt.Sprintf("%dm", 6800/on["n0"])
		}
	}
	return o
}

// leastAllocated is the node of which least is requested, as kube-scheduler scores nodes; one of
// several by chance.
func leastAllocated(o framework.Objects, r *rand.Rand) string {
	requested := map[string]int64{}
	for _, p := range o.Pods {
		requested[p.Spec.NodeName] += p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
	}
	best := ""
	for _, i := range r.Perm(len(o.Nodes)) {
		if n := o.Nodes[i].Name; best == "" || requested[n] < requested[best] {
			best = n
		}
	}
	return best
}

// hotFrom is 70% of the processors of a node of hotNode, in thousandths of one.
const hotFrom = 5600

// loaded are the nodes that use more than hotFrom.
func (w *world) loaded() (names []string) {
	for _, n := range w.objects.Nodes {
		if usedOn(w.objects, n.Name) > hotFrom {
			names = append(names, n.Name)
		}
	}
	return names
}

const coolPolicy = `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: p
  pluginConfig:
  - name: LowNodeLoad
    args: {lowThresholds: {cpu: 40}, highThresholds: {cpu: 70}, anomalyCondition: {consecutiveAbnormalities: 1}}
  - name: DefaultEvictor
    args: {nodeFit: true}
  plugins:
    balance: {enabled: [LowNodeLoad]}
`

// coolByUtilization does so with the plugin of upstream that can go by measured use.
const coolByUtilization = `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: p
  pluginConfig:
  - name: LowNodeUtilization
    args: {thresholds: {cpu: 40}, targetThresholds: {cpu: 70}, metricsUtilization: {source: KubernetesMetrics}}
  - name: DefaultEvictor
    args: {nodeFit: true}
  plugins:
    balance: {enabled: [LowNodeUtilization]}
`

// atOnce is how many pods of a hot node TestHotNodesCool tries to evict at once. More than two change nothing in the clusters
// that are played by default: with all pods of the node at once it takes a minute.
var atOnce = flag.Int("at-once", 2, "how many pods of a hot node are evicted at once at most where the test looks for what is possible")

// TestHotNodesCool: where requests are even, which is what schedulers make, LowNodeLoad and LowNodeUtilization act, and no node
// that was below the threshold gets above it. A scheduler that goes by requests would often put replacements back: where
// less is requested of the hot node than of others, no evictions help. Each node for which there are any that help, without
// a pod that comes back, is below the threshold after one cycle, and the next one moves nothing.
func TestHotNodesCool(t *testing.T) {
	for scheduler, want := range map[string]int{"default-scheduler": 4, schedulerName: 5} {
		t.Run(scheduler, func(t *testing.T) {
			cool, possible, by := map[string]int{}, 0, newKubeScheduler(t, false)
			for _, seed := range seeds(t, 10) {
				o := hotNode(seed, scheduler)
				ft.Controllers(t, by.factory, o.Pods)
				try := &cooling{node: "n0", threshold: hotFrom, atOnce: *atOnce, best: by.best}
				if scheduler == schedulerName {
					try.best = byCore(newLanding(t, unlimited, o.Pods))
				}
				may := try.possible(o, 3)
				if may {
					possible++
				}
				for plugin, text := range map[string]string{"LowNodeLoad": coolPolicy, "LowNodeUtilization": coolByUtilization} {
					is := coolsDown(t, seed, text, o, by)
					if is {
						cool[plugin]++
					}
					assert.Check(t, is || !may, "seed %d, %s: there are evictions that cool the node", seed, plugin)
				}
			}
			t.Logf("of %d nodes that can be cooled are below the threshold: %v", possible, cool)
			assert.Assert(t, min(cool["LowNodeLoad"], cool["LowNodeUtilization"]) >= want || os.Getenv("DESCHEDULER_SEED") != "", "%v", cool)
		})
	}
}

// coolsDown plays three cycles in a cluster whose node n0 is hot, and says whether it is below the threshold then.
func coolsDown(t *testing.T, seed uint64, policy string, o framework.Objects, by *kubeScheduler) bool {
	t.Helper()
	w := newWorld(t, o, unlimited, load(t, policy))
	l := &loop{world: w, by: by, left: map[string][]string{}}
	by.chance = rand.New(rand.NewPCG(seed, 12))
	for cycle := range 3 {
		var report *descheduler.Report
		if o.Pods[0].Spec.SchedulerName == schedulerName {
			report, _ = w.cycle(w.d)
			w.settle(report)
		} else {
			var wrong []string
			report, wrong = l.play()
			assert.Equal(t, len(wrong), 0, "seed %d, cycle %d: %v", seed, cycle, wrong)
		}
		assert.Assert(t, cycle == 0 || len(report.Evictions) == 0, "seed %d, cycle %d: %v", seed, cycle, movesOf(report))
		for _, name := range w.loaded() {
			assert.Equal(t, name, "n0")
		}
	}
	return len(w.loaded()) == 0
}

// migratePolicy has the same plugin, and reserves places.
var migratePolicy = strings.ReplaceAll(coolPolicy, "  - name: DefaultEvictor\n", `  - name: MigrationController
    args: {objectLimiters: {workload: {duration: 0s}}}
  - name: DefaultEvictor
`) + "    filter: {enabled: [MigrationController]}\n    preevictionfilter: {enabled: [MigrationController]}\n    evict: {enabled: [MigrationController]}\n"

// TestSingleReplicasMigrateWhereAllowed: a workload of one pod is not migrated, since it would be away for a
// time, unless skipCheckExpectedReplicas says that it may.
func TestSingleReplicasMigrateWhereAllowed(t *testing.T) {
	for args, moves := range map[string]bool{"": false, ", skipCheckExpectedReplicas: true": true} {
		synctest.Test(t, func(t *testing.T) {
			o := hotNode(1, schedulerName)
			for i, p := range o.Pods {
				p.OwnerReferences[0].Name = fmt.Sprint("single", i)
				p.OwnerReferences[0].UID = types.UID(p.OwnerReferences[0].Name)
			}
			w := newMigrating(t, migratable(o), unlimited)
			w.run(strings.Replace(migratePolicy, "duration: 0s}}", "duration: 0s}}"+args, 1), unlimited)
			w.play(3*cycleEvery, len(o.Pods))
			assert.Equal(t, len(w.evicted) > 0, moves, args)
		})
	}
}

// TestHotNodesCoolByMigration: where a place is reserved elsewhere, all of them are.
func TestHotNodesCoolByMigration(t *testing.T) {
	for _, seed := range seeds(t, 10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := migratable(hotNode(seed, schedulerName))
				w := newMigrating(t, o, unlimited)
				w.run(migratePolicy, unlimited)
				w.play(3*cycleEvery, len(o.Pods))
				assert.Assert(t, len(w.evicted) > 0)
				for _, n := range o.Nodes {
					use, _ := w.Node(n.Name)
					assert.Assert(t, use.Cpu().MilliValue() <= hotFrom, "node %s uses %s", n.Name, use.Cpu())
				}
			})
		})
	}
}
