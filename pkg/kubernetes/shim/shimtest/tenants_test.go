package shimtest_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// attacker is the namespace of a tenant that tries to hurt that of default.
const attacker = "attacker"

// byAttacker makes it a pod of the attacker.
func byAttacker(pod *v1.Pod) { pod.Namespace = attacker }

// ofNamespace makes it a pod that names no application and no queue.
func ofNamespace(pod *v1.Pod) { pod.Labels = map[string]string{} }

// withQuota is a namespace with a quota.
func withQuota(name, cpu string) *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{pods.AnnotationQuota: `{"cpu": "` + cpu + `"}`}}}
}

// fakeHolder makes it a pod that says that it is a placeholder of a gang of six, with labels that
// are to come into another namespace.
func fakeHolder(policy string) shimtest.PodOption {
	return func(pod *v1.Pod) {
		pod.Annotations = map[string]string{
			pods.AnnotationHolder: "true", pods.AnnotationTaskGroup: "x", pods.AnnotationPolicy: policy,
			pods.AnnotationTaskGroups: `[{"name": "x", "minMember": 6, "minResource": {"cpu": "1"}, "labels": {"evil": "yes"}, "tolerations": [{"operator": "Exists"}]}]`,
		}
	}
}

// told reports whether an event was told.
func told(m *shimtest.MockScheduler, event string) bool {
	return slices.ContainsFunc(m.Events(), func(line string) bool { return strings.HasPrefix(line, event) })
}

// A pod that says that it is a placeholder of an application of another namespace changes nothing
// there, whichever pod comes first, in either style, also after a restart.
func TestPlaceholderOfAnotherNamespace(t *testing.T) {
	for _, style := range []string{"", "gangSchedulingStyle=Hard placeholderTimeoutInSeconds=5"} {
		for _, restarts := range []bool{false, true} {
			inGangWorld(t, shimtest.Options{}, "cpu=4", func(t *testing.T, w gangWorld) {
				w.Create(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: attacker}})
				w.AddPod("fake", "cpu=1", byAttacker, fakeHolder(style))
				w.Advance(time.Second)
				w.AddPod("web-0", "cpu=1")
				w.Advance(time.Second)
				assert.Assert(t, told(w.MockScheduler, "fake FailedScheduling: it says that it is a placeholder, and the scheduler has not made it"), "%q", w.Events())
				assert.Assert(t, told(w.MockScheduler, "web-0 ApplicationTaken: another namespace has an application app"), "%q", w.Events())
				if restarts {
					w = w.restarted(t)
				}
				w.AddPod("web-1", "cpu=1")
				w.Advance(time.Minute)
				assert.DeepEqual(t, w.Expected(), []string{"fake -", "web-0 node-1", "web-1 node-1"})
				assert.DeepEqual(t, w.Booked(), []string{"web-0 node-1", "web-1 node-1"})
			})
		}
	}
}

// In its own namespace such a pod is no placeholder either. It has the name of one: so it is deleted, and
// the placeholder is made.
func TestPlaceholderThatAUserMade(t *testing.T) {
	inGangWorld(t, shimtest.Options{}, "cpu=2", func(t *testing.T, w gangWorld) {
		w.AddPod(holder(0), "cpu=1", fakeHolder(""), func(pod *v1.Pod) { pod.UID = "uid-fake" })
		w.Advance(time.Minute)
		assert.DeepEqual(t, w.Booked(), []string{})
		w.gang(2, "", "one")
		w.Advance(5 * time.Second)
		assert.DeepEqual(t, named(w.API.Deleted()), []string{"placeholder-0", "placeholder-0"}) // the second one for the pod
		w.EndPod(holder(0))
		assert.DeepEqual(t, named(w.Booked()), []string{"one node-1", "placeholder-1 node-1"})
	})
}

// A placeholder of which the mark cannot be written is none, and is made again.
func TestPlaceholderWithoutMark(t *testing.T) {
	inGangWorld(t, shimtest.Options{}, "cpu=2", func(t *testing.T, w gangWorld) {
		w.API.Fail(shimtest.Faults{Patch: func(name string) error {
			if strings.HasPrefix(name, "tg-") {
				return errNever
			}
			return nil
		}})
		w.gang(2, "", "one")
		w.Advance(20 * time.Second)
		assert.DeepEqual(t, w.Booked(), []string{})
		w = w.restarted(t)
		w.API.Fail(shimtest.Faults{})
		w.Advance(time.Minute)
		w.EndPod(holder(0))
		assert.DeepEqual(t, named(w.Booked()), []string{"one node-1", "placeholder-1 node-1"})
	})
}

// byNamespace are the rules of the manifests before pods could not name queues.
const byNamespace = "partitions: [{name: default, placementrules: [{name: provided}, {name: tag, value: namespace, create: true}], queues: [{name: root}]}]"

// A tenant that names the application of another one's namespace, as the admission policy writes
// it, uses its own quota all the same.
func TestQuotaOfAnotherNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Queues: byNamespace})
		m.AddNode("node-1", "cpu=16")
		m.Create(withQuota("victim", "2"), withQuota(attacker, "1"))
		m.Start()
		ofVictim := func(pod *v1.Pod) { pod.Namespace = "victim" }
		m.AddPod("victim-0", "cpu=1", ofVictim, ofNamespace)
		for i := range 3 {
			m.AddPod(fmt.Sprint("thief-", i), "cpu=1", byAttacker, ofNamespace, shimtest.Labelled(pods.LabelApplicationID, "narwhal-victim-autogen"))
		}
		m.Advance(5 * time.Second)
		m.AddPod("victim-1", "cpu=1", ofVictim, ofNamespace)
		m.Advance(5 * time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"thief-0 node-1", "thief-1 -", "thief-2 -", "victim-0 node-1", "victim-1 node-1"})
		assert.DeepEqual(t, queuesOf(t, m), map[string]string{"narwhal-victim-autogen": "root.victim", attacker + ":narwhal-victim-autogen": "root." + attacker})
	})
}

// With the manifests no pod chooses its queue, so none uses the quota of another namespace. A
// namespace may name a queue that is configured, which is for an administrator to write.
func TestQueuesOfTheManifests(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/deploy/kustomize/configuration.yaml")
	assert.NilError(t, err)
	var manifest v1.ConfigMap
	assert.NilError(t, yaml.Unmarshal(text, &manifest))
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Queues: manifest.Data["queues.yaml"] + "    queues: [{name: shared}]\n"})
		m.AddNode("node-1", "cpu=16")
		sharing := withQuota("sharing", "1")
		sharing.Annotations[pods.AnnotationNamespaceQueue] = "root.shared"
		m.Create(withQuota("victim", "2"), withQuota(attacker, "1"), sharing)
		m.Start()
		m.AddPod("victim-0", "cpu=1", ofNamespace, func(pod *v1.Pod) { pod.Namespace = "victim" })
		for i, queue := range []string{"root.victim", "root.shared", "victim"} {
			m.AddPod(fmt.Sprint("thief-", i), "cpu=1", byAttacker, shimtest.Application(queue), shimtest.Queue(queue))
		}
		m.AddPod("shares", "cpu=2", shimtest.Queue("root.victim"), func(pod *v1.Pod) { pod.Namespace = "sharing" })
		m.Advance(5 * time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"shares node-1", "thief-0 node-1", "thief-1 -", "thief-2 -", "victim-0 node-1"})
		own := "root." + attacker
		assert.DeepEqual(t, queuesOf(t, m), map[string]string{
			"narwhal-victim-autogen": "root.victim", "root.victim": own, "root.shared": own, "victim": own, "app": "root.shared",
		})
	})
}

// queuesOf are the queues of applications.
func queuesOf(t *testing.T, m *shimtest.MockScheduler) map[string]string {
	t.Helper()
	view, err := m.View(context.Background(), m.Partitions()[0])
	assert.NilError(t, err)
	queues := map[string]string{}
	for _, app := range view.Applications {
		queues[string(app.ID)] = string(app.Queue)
	}
	return queues
}
