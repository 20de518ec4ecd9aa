package shimtest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// padded is a pod of a gang of so many, whose task group says so many bytes.
func padded(members, bytes int) shimtest.PodOption {
	return func(pod *v1.Pod) {
		pod.Labels["applicationId"] = "padded"
		pod.Annotations = map[string]string{
			pods.AnnotationTaskGroup: "x",
			pods.AnnotationTaskGroups: fmt.Sprintf(`[{"name": "x", "minMember": %d, "minResource": {"cpu": "1m"}, "annotations": {"pad": %q}}]`,
				members, strings.Repeat("y", bytes)),
		}
	}
}

// A pod cannot have the API server filled with placeholders: neither with many nor with large ones.
// It runs as one of no gang, and an event says why.
func TestPlaceholdersAreBounded(t *testing.T) {
	for _, c := range []struct {
		members, bytes int
		says           string
	}{
		{10_000, 120_000, "its task groups have 10000 members, 1000 are the most"},
		{1001, 0, "its task groups have 1001 members, 1000 are the most"},
		{2, 120_000, "task group x is not reserved: a placeholder would take 12"},
		{2, 17_000, "task group x is not reserved: a placeholder would take 1"},
	} {
		inGangWorld(t, shimtest.Options{}, "cpu=2", func(t *testing.T, w gangWorld) {
			w.AddPod("large", "cpu=1", padded(c.members, c.bytes))
			w.Advance(time.Second)
			assert.Assert(t, told(w.MockScheduler, "large UnreadableAnnotation: "+c.says), "%q", w.Events())
			assert.Equal(t, w.API.Requests("create"), 0)
			assert.DeepEqual(t, w.Booked(), []string{"large node-1"})
		})
	}
}

// A pod that says more when its placeholders are made than when its gang began has none made that
// are too large.
func TestPlaceholdersOfAPodThatChanges(t *testing.T) {
	inGangWorld(t, shimtest.Options{}, "cpu=2", func(t *testing.T, w gangWorld) {
		quota := errors.New("exceeded quota")
		w.API.Fail(shimtest.Faults{Create: func(string) error { return quota }})
		w.gang(2, "", "one")
		w.ChangePod("one", func(pod *v1.Pod) { pod.Annotations[pods.AnnotationUserInfo] = strings.Repeat("y", 120_000) })
		w.API.Fail(shimtest.Faults{})
		before := w.API.Requests("create")
		w.Advance(time.Minute)
		assert.Equal(t, w.API.Requests("create"), before)
		assert.Assert(t, told(w.MockScheduler, "one FailedScheduling: placeholder "+holder(0)+" could not be made: a placeholder would take 12"), "%q", w.Events())
	})
}

// While a quota refuses placeholders one is tried each time, however many there are to be.
func TestOnePlaceholderIsTriedAtAQuota(t *testing.T) {
	inGangWorld(t, shimtest.Options{}, "cpu=2", func(t *testing.T, w gangWorld) {
		w.API.Fail(shimtest.Faults{Create: func(string) error { return errors.New("exceeded quota") }})
		w.AddPod("large", "cpu=1", padded(1000, 10_000))
		w.Advance(time.Minute)
		assert.Assert(t, w.API.Requests("create") < 12, "%d", w.API.Requests("create"))
		w.AddPod("other", "cpu=1")
		w.Advance(10 * time.Millisecond)
		assert.DeepEqual(t, w.Booked(), []string{"other node-1"})
	})
}

// The gangs of a namespace share what it may have: one whose members are too many beside those of others
// waits until they have ended, so that each has all of its placeholders or none. Another namespace
// has its own.
func TestPlaceholdersOfANamespace(t *testing.T) {
	most := shim.Options{PlaceholdersMax: 5}
	inGangWorld(t, shimtest.Options{Shim: most}, "cpu=3", func(t *testing.T, w gangWorld) {
		gang := func(name, namespace string) {
			w.AddPod(name, "cpu=1", member(4, ""), shimtest.Application(name), func(pod *v1.Pod) { pod.Namespace = namespace })
		}
		gang("first", "default")
		gang("second", "default")
		w.Create(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: attacker}})
		gang("third", attacker)
		w.Advance(time.Second)
		assert.Assert(t, told(w.MockScheduler, "second FailedScheduling: its gang has 4 members, and namespace default may have 1 more placeholders"), "%q", w.Events())
		assert.DeepEqual(t, made(w), map[string]int{"first": 4, "third": 4})

		w.DeletePod("first")
		w.Advance(5 * time.Second)
		for i := range 3 {
			w.EndPod(pods.PlaceholderName("first", "workers", i))
		}
		w.Advance(time.Minute)
		assert.DeepEqual(t, made(w), map[string]int{"second": 4, "third": 4})
	})
}

// made is how many placeholders there are of applications.
func made(w gangWorld) map[string]int {
	count := map[string]int{}
	for _, line := range w.Expected() {
		for _, app := range []string{"first", "second", "third"} {
			if strings.HasPrefix(line, "tg-"+app+"-") {
				count[app]++
			}
		}
	}
	return count
}
