package simulation

import (
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// example is the text of a policy of the document.
func example(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile("../../../../docs/examples/descheduler/" + file + ".yaml")
	assert.NilError(t, err)
	return string(text)
}

// TestMigratingExamplesAct: the policies of the document that migrate keep a place for each pod
// before they evict it, one pod of the workload at a time, and spare nodes that are not selected.
func TestMigratingExamplesAct(t *testing.T) {
	for _, file := range []string{"migration", "koordinator"} {
		t.Run(file, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := migratable(framework.Objects{
					Nodes: append(two("pool=general"), ft.Node("n2", "cpu=10 memory=10Gi pods=10", "pool=other")),
					Pods: slices.Concat(
						alike(4, "web", "n0", "cpu=1", ft.OnNodes("pool", "general")), alike(4, "other", "n2", "cpu=1", ft.OnNodes("pool", "other"))),
				})
				w := newMigrating(t, o, unlimited)
				w.run(example(t, file), unlimited)
				w.play(8*time.Minute, 2) // one of them waits; jobs that have ended are deleted later
				assert.DeepEqual(t, w.evicted, []types.UID{"uid-web-0", "uid-web-1"})
				assert.Equal(t, len(w.wrong), 0, "%v", w.wrong)
				jobs := w.all() // a job that waited too long has been replaced by another one
				assert.Equal(t, len(jobs), 2)
				for _, job := range jobs {
					assert.Equal(t, job.Status.Phase, migration.Succeeded)
					assert.Equal(t, job.Status.NodeName, "n0")
					assert.Equal(t, job.Status.TargetNode, "n1")
					assert.Equal(t, job.Annotations[migration.AnnotationTrigger], "RemoveDuplicates")
				}
				for _, p := range w.pods() {
					assert.Assert(t, !pods.IsReservation(p), p.Name)
				}
			})
		})
	}
}

// TestNodeProblemExampleActs: the policy of the document empties a node as soon as it gets the taint or
// the condition that the policy names, not more than five pods at a time, and no other node.
func TestNodeProblemExampleActs(t *testing.T) {
	for name, problem := range map[string]func(*v1.Node){
		"taint": func(n *v1.Node) { ft.Taint(n, "example.org/failing", "", v1.TaintEffectNoSchedule) },
		"condition": func(n *v1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, v1.NodeCondition{Type: v1.NodeDiskPressure, Status: v1.ConditionTrue})
			ft.Taint(n, v1.TaintNodeDiskPressure, "", v1.TaintEffectNoSchedule)
		},
		"another taint": func(n *v1.Node) { ft.Taint(n, "example.org/other", "", v1.TaintEffectNoSchedule) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newMigrating(t, migratable(framework.Objects{Nodes: two(""), Pods: slices.Concat(
					alike(7, "web", "n0", "cpu=1"), alike(1, "spared", "n1", "cpu=1"))}), unlimited)
				w.run(example(t, "node-problem"), unlimited)
				w.Advance(time.Second) // the first cycle is over, and the next one a minute away
				assert.Equal(t, len(w.evicted), 0)
				w.ChangeNode("n0", problem)
				w.Advance(time.Millisecond)
				if name == "another taint" {
					w.play(20*time.Minute, 0)
					assert.Equal(t, len(w.evicted), 0)
					return
				}
				assert.Equal(t, len(w.evicted), 5)
				w.play(5*time.Minute, 0)
				assert.Equal(t, len(w.evicted), 7)
				for _, p := range w.pods() {
					assert.Equal(t, p.Spec.NodeName, "n1", p.Name)
				}
				assert.Assert(t, slices.ContainsFunc(w.pods(), func(p *v1.Pod) bool { return p.Name == "spared-0" }))
			})
		})
	}
}
