package e2e

import (
	"fmt"
	"path/filepath"
	"slices"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

const migrationPolicy = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: migrate
  plugins:
    balance: {enabled: [RemoveDuplicates]}
    evict: {enabled: [MigrationController]}
`

// Two pods share a node when another one comes. One of them migrates, while the program
// is killed twice: when the place of its replacement is asked for and not yet kept, and
// when the pod is being stopped. The pod ends once, and its replacement has the place.
func migrationGoesOn(w *World) {
	folder := filepath.Join("..", "..", "..", "docs", "deploy", "descheduler")
	w.InstallDescheduler(filepath.Join(folder, "crd.yaml"), filepath.Join(deschedulerManifests, "migration", "role.yaml"))
	awaitJobKind(w)
	w.WritePolicy(migrationPolicy)
	w.AddNodes(1, "4", "16Gi")
	w.CreateDeployment("web", 2, Pod{CPU: "500m", Memory: "1Gi", Annotations: slowly})
	w.Await(Running("web", 2))
	before := w.Pods("web")
	w.AddNodes(1, "4", "16Gi")

	w.PauseScheduler()
	d := w.StartDescheduler("--descheduling-interval=1s")
	w.Await(placesAskedFor(1))
	w.Step("the descheduler crashes, a place is asked for")
	d.Kill()
	w.ContinueScheduler()
	w.Await(reservationHasANode())
	w.Await(Running("web", 2)) // nothing is evicted meanwhile

	d = w.StartDescheduler("--descheduling-interval=1s")
	w.Await(ending("web", 1))
	w.Step("the descheduler crashes, a pod is being stopped")
	d.Kill()
	victim := slices.DeleteFunc(w.Pods("web"), func(p *corev1.Pod) bool { return p.DeletionTimestamp == nil })[0]

	d = w.StartDescheduler("--descheduling-interval=1s")
	job := awaitJob(w, "migration-"+string(victim.UID))
	assert.Equal(w.t, job.Status.Phase, migration.Succeeded, "%+v", job.Status)
	assert.Equal(w.t, job.Status.TargetNode, "node-2")
	w.Await(RunningOn("node-1", "web", 1))
	w.Await(RunningOn("node-2", "web", 1))
	w.Await(placesAskedFor(0))
	kept := slices.DeleteFunc(names(before), func(name string) bool { return name == victim.Name })
	assert.Assert(w.t, slices.Contains(names(w.Pods("web")), kept[0]))
	assert.Equal(w.t, w.Writes()["create pods/eviction"], 1)
	assert.Equal(w.t, w.Writes()["create pods"], 1)
	d.Await("/report", "0 pods evicted")
	w.check(d.Terminate())
}

// reservationsOf are the pods that keep a place.
func reservationsOf(v View) []*corev1.Pod {
	which, err := labels.Parse(pods.LabelReservation)
	if err != nil {
		panic(err)
	}
	list, err := v.pods.List(which)
	if err != nil {
		panic(err) // a cache does not fail
	}
	return list
}

// placesAskedFor holds when there are so many pods that keep a place.
func placesAskedFor(count int) Condition {
	return Condition{
		what: fmt.Sprintf("%d places are asked for", count),
		look: func(v View) (string, bool) {
			found := reservationsOf(v)
			return list(found), len(found) == count
		},
	}
}

// reservationHasANode holds when a place is kept.
func reservationHasANode() Condition {
	return Condition{
		what: "a place is kept",
		look: func(v View) (string, bool) {
			found := reservationsOf(v)
			return list(found), len(found) == 1 && found[0].Spec.NodeName != ""
		},
	}
}

// ending holds when exactly so many pods of an application are deleted and not gone.
func ending(app string, count int) Condition {
	return countIs(app, count, "are being stopped", func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
}
