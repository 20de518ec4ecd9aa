package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/drain"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/recipes"
)

// Each recipe of the document acts on a real API server, with the policy as it is printed there, on a cluster as that of its file. A dry
// run prints what the document says. A cycle evicts these pods and no others, and replacements run where it said. Then there
// is nothing more to do. The drain, which is no cycle, follows its taint.
func recipesAct(w *World) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "examples", "descheduler", "recipes", "README.md"))
	w.check(err)
	found := recipes.Read(page)
	assert.Equal(w.t, len(found), 10)
	w.InstallDescheduler(filepath.Join(deschedulerManifests, "..", "crd.yaml"),
		filepath.Join(deschedulerManifests, "migration", "role.yaml"), filepath.Join(deschedulerManifests, "drain", "role.yaml"))
	awaitJobKind(w)
	if w.scheduler.Name() != kubeSchedulerName { // which the pods of one recipe ask for
		w.StartNeighbour(KubeScheduler(kubeSchedulerName))
	}
	for _, r := range found {
		_, name, _ := strings.Cut(r.Name, ". ")
		if name == drains && w.scheduler.Name() == kubeSchedulerName {
			continue // it keeps no places
		}
		w.Step("recipe %s", r.Name)
		f := w.ReadClusterFile(filepath.Join("..", "..", "..", "docs", "examples", "descheduler", "recipes", r.Value("cluster-file")), r.Value("cluster-time"))
		playRecipe(w, name, r, f)
		w.checkBooks()
		w.RemoveCluster(f)
	}
}

// drains is the name of the recipe that needs a descheduler that goes on running.
const drains = "Drain for maintenance"

// playRecipe plays a recipe, with what it needs beside its file.
func playRecipe(w *World, name string, r recipes.Recipe, f FileCluster) {
	w.t.Helper()
	cycles := 1
	switch name {
	case "Cool hot nodes":
		defer w.ServeMetrics(f)()
	case "Pack nodes":
		defer w.packNodes(f)()
	case "No two replicas on a node":
		cycles = 2 // the budget allows one eviction in each
	case drains:
		w.AddCluster(f)
		drainByRecipe(w, r, f)
		return
	}
	w.AddCluster(f)
	assert.Equal(w.t, cyclesOf(w, r, f), cycles)
}

// packNodes has the scheduler prefer full nodes, until the function that it returns is called.
func (w *World) packNodes(f FileCluster) (restore func()) {
	w.t.Helper()
	if w.scheduler.Name() == kubeSchedulerName {
		w.StartNeighbour(PackingKubeScheduler(packingName))
		for i := range f.Pods {
			f.Pods[i].Spec.SchedulerName = packingName
		}
		return func() {}
	}
	const path = "/ws/v1/partitions"
	w.configure(strings.Replace(narwhalConfig, "- name: default\n", "- name: default\n  nodesortpolicy: {type: binpacking}\n", 1))
	w.served().Await(path, `"binpacking"`)
	return func() {
		w.configure(narwhalConfig)
		w.served().Await(path, `"fair"`)
	}
}

// packingName is what pods ask for that kube-scheduler is to pack.
const packingName = "packing-scheduler"

// drainByRecipe follows the taint that a node of the file has. The pods of the workload of four leave it one after the other, each to a place
// that was reserved. As printed, the policy lets the last ones wait for minutes, so that from the second one on it has an argument more. The
// workload of one replica stays, and the node says why.
func drainByRecipe(w *World, r recipes.Recipe, f FileCluster) {
	w.t.Helper()
	w.WritePolicy(r.Policy)
	printed := w.Deschedule("--dry-run")
	assert.Equal(w.t, printed, r.Prints)
	first, before := rowsOf(printed)[0], w.Pods("")
	leave := slices.DeleteFunc(w.Pods("web"), func(p *corev1.Pod) bool { return p.Spec.NodeName != first.from })
	i := slices.IndexFunc(leave, func(p *corev1.Pod) bool { return p.Namespace+"/"+p.Name == first.pod })
	assert.Assert(w.t, i >= 0 && len(leave) > 1)

	d := w.StartDescheduler("--descheduling-interval=1h")
	w.Await(drainSays(first.from, "limit of 1 eviction in flight reached for workload shop/ReplicaSet/web"))
	job := awaitJob(w, "migration-"+string(leave[i].UID))
	assert.Equal(w.t, job.Status.Phase, migration.Succeeded, "%+v", job.Status)
	assert.Equal(w.t, job.Status.TargetNode, first.to)
	w.check(d.Terminate())

	w.Step("the others shall not wait for minutes")
	w.WritePolicy(strings.Replace(r.Policy, "  plugins:\n", "  - name: MigrationController\n    args: {objectLimiters: {workload: {duration: 0s}}}\n  plugins:\n", 1))
	d = w.StartDescheduler("--descheduling-interval=1h")
	w.Await(RunningOn(first.from, "web", 0))
	var reserved []row
	for _, p := range leave {
		job := awaitJob(w, "migration-"+string(p.UID))
		assert.Equal(w.t, job.Status.Phase, migration.Succeeded, "%+v", job.Status)
		reserved = append(reserved, row{p.Namespace + "/" + p.Name, first.from, job.Status.TargetNode})
	}
	w.Await(placesAskedFor(0))
	w.awaitRows(reserved, before, f)
	w.Await(drainIs(first.from, drain.Blocked))
	w.Await(drainSays(first.from, "its workload has 1 replica"))
	assert.Equal(w.t, drainOf(w, first.from).Left, 1)
	w.check(d.Terminate())
}

// drainSays holds when a node says why a pod has not left it.
func drainSays(name, why string) Condition {
	return Condition{
		what: fmt.Sprintf("a pod is on %s because of a %s", name, why),
		look: func(v View) (string, bool) {
			node, err := v.nodes.Get(name)
			if err != nil {
				return err.Error(), false
			}
			s := drain.Of(node)
			return fmt.Sprintf("%+v", s), s != nil && strings.Contains(s.Kept(), why)
		},
	}
}

// cyclesOf runs cycles until a dry run says that there is nothing to do, and returns how many.
func cyclesOf(w *World, r recipes.Recipe, f FileCluster) int {
	w.t.Helper()
	w.WritePolicy(r.Policy)
	for cycles := 0; ; cycles++ {
		printed := w.Deschedule("--dry-run")
		w.Step("it says\n%s", printed)
		rows := rowsOf(printed)
		switch {
		case cycles > 0:
		case w.choosesAtRandom():
			assert.DeepEqual(w.t, leaving(rows), leaving(rowsOf(r.Prints)))
		default:
			assert.Equal(w.t, printed, r.Prints)
		}
		if len(rows) == 0 {
			assert.Assert(w.t, strings.Contains(printed, ": 0 pods would be evicted"), printed)
			return cycles
		}
		before := w.Pods("")
		w.Deschedule()
		w.awaitRows(rows, before, f)
	}
}

// awaitRows waits until pods have gone as a report said, and checks that no others have, and that new ones run where
// it said.
func (w *World) awaitRows(rows []row, before []*corev1.Pod, f FileCluster) {
	w.t.Helper()
	stay := make(map[types.UID]bool)
	var leave []types.UID
	for _, p := range before {
		if slices.ContainsFunc(rows, func(r row) bool { return r.pod == p.Namespace+"/"+p.Name }) {
			leave = append(leave, p.UID)
		} else {
			stay[p.UID] = true
		}
	}
	assert.Equal(w.t, len(leave), len(rows))
	w.Await(countIs("", 0, "are there that had to go", func(p *corev1.Pod) bool { return slices.Contains(leave, p.UID) }))
	w.Await(Waiting("", 0))
	w.StartPods()
	w.Await(Settled(f))
	var runOn []string
	for _, p := range w.Pods("") {
		if !stay[p.UID] {
			runOn = append(runOn, p.Spec.NodeName)
		}
		delete(stay, p.UID)
	}
	assert.Equal(w.t, len(stay), 0, "other pods have gone too")
	wanted := places(rows)
	if !w.choosesAtRandom() {
		slices.Sort(runOn)
		assert.DeepEqual(w.t, runOn, wanted)
		return
	}
	assert.Equal(w.t, len(runOn), len(wanted))
	for _, r := range rows {
		assert.Assert(w.t, !slices.Contains(runOn, r.from), "a pod has come back: %v", runOn)
	}
}

// choosesAtRandom reports whether the scheduler does among nodes that it likes as much, as kube-scheduler does.
func (w *World) choosesAtRandom() bool { return w.scheduler.Name() == kubeSchedulerName }

// A row is a pod that a recipe evicts.
type row struct{ pod, from, to string }

// leaving are the rows without where replacements run.
func leaving(rows []row) []string {
	var texts []string
	for _, r := range rows {
		texts = append(texts, r.pod+" leaves "+r.from)
	}
	return texts
}

// places are the nodes where replacements run, in order.
func places(rows []row) []string {
	var nodes []string
	for _, r := range rows {
		if r.to != "-" {
			nodes = append(nodes, r.to)
		}
	}
	slices.Sort(nodes)
	return nodes
}

var columns = regexp.MustCompile(`\s{2,}`)

// rowsOf are the rows of the table that a recipe prints.
func rowsOf(printed string) []row {
	var rows []row
	for line := range strings.Lines(printed) {
		if cells := columns.Split(strings.TrimSpace(line), -1); len(cells) == 6 && cells[0] != "POD" {
			rows = append(rows, row{cells[0], cells[3], cells[4]})
		}
	}
	return rows
}
