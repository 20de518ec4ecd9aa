package shimtest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// annotated adds an annotation.
func annotated(name, value string) shimtest.PodOption {
	return func(pod *v1.Pod) {
		pod.Annotations = map[string]string{"yunikorn.apache.org/" + name: value}
		pod.Labels = map[string]string{"queue": "root.default"}
		if name == "queue" {
			pod.Labels = nil
		}
	}
}

// Whatever a pod says of itself, it is counted if it runs, and if it waits it is bound, or
// it is said why not.
func TestHostilePods(t *testing.T) {
	long := strings.Repeat("x", 250<<10)
	for name, option := range map[string]shimtest.PodOption{
		"a long application ID":              annotated("app-id", long),
		"an application ID of other letters": annotated("app-id", "ünïcode/../ \x00\n\"'`${x}%s"),
		"a long queue":                       annotated("queue", long),
		"a queue with a thousand levels":     annotated("queue", "root"+strings.Repeat(".a", 1000)),
		"a queue in capitals":                annotated("queue", "ROOT.DEFAULT"),
		"a queue of dots":                    annotated("queue", "..root...default.."),
		"a queue that is the root":           annotated("queue", "root"),
		"a queue of other letters":           annotated("queue", "root.ünï \x00"),
		"a long user":                        annotated("user.info", `{"user": "`+long+`"}`),
		"a user of other letters":            annotated("user.info", `{"user": "\u0000 ../ö", "groups": ["", "\n"]}`),
		"ten thousand groups":                annotated("user.info", `{"user": "anna", "groups": ["g"`+strings.Repeat(`, "g"`, 9999)+`]}`),
		"a long task group":                  annotated("task-group-name", long),
		"broken task groups":                 annotated("task-groups", `[{"name": `),
		"a placeholder of no group":          annotated("placeholder", "true"),
		"a long label":                       shimtest.Labelled("note", long),
		"ten thousand containers": func(pod *v1.Pod) {
			for i := range 10_000 {
				pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: fmt.Sprint("c", i), Resources: v1.ResourceRequirements{Requests: shimtest.Quantities("memory=1")}})
			}
		},
		"more than there can be": func(pod *v1.Pod) {
			for i := range 20 {
				pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: fmt.Sprint("c", i), Resources: v1.ResourceRequirements{Requests: shimtest.Quantities("cpu=1e18 memory=1e18")}})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := shimtest.New(t, shimtest.Options{})
				m.AddNode("node-1", "cpu=8 memory=16Gi")
				m.Start()
				m.AddPod("runs", "cpu=1", option, shimtest.On("node-1"))
				m.AddPod("foreign", "cpu=1", option, shimtest.On("node-1"), shimtest.Foreign)
				booked := strings.Join(m.Booked(), ", ")
				assert.Equal(t, booked, "foreign node-1 foreign, runs node-1")
				m.AddPod("waits", "cpu=1", option)
				m.Advance(10 * time.Second)
				told := strings.Contains(strings.Join(m.Events(), "\n"), "waits FailedScheduling: ")
				assert.Assert(t, told || m.Pod("waits").Spec.NodeName != "", "%q", m.Booked())
				m.AddPod("normal", "cpu=1")
				m.EndPod("runs")
				m.EndPod("foreign")
				m.Advance(10 * time.Minute)
				assert.Equal(t, m.Pod("normal").Spec.NodeName, "node-1")
			})
		})
	}
}
