package pods_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// containers is a pod with so many containers of some size.
func containers(count int, cpu, memory string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid"}}
	for i := range count {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: fmt.Sprint("c", i), Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)},
		}})
	}
	return pod
}

// Amounts beyond 2^63-1 stay there, whether one is stated or a sum reaches them, and never
// become negative or small.
func TestAbsurdAmounts(t *testing.T) {
	for _, c := range []struct {
		name       string
		pod        *v1.Pod
		vcore, mem int64
	}{
		{"one large", containers(1, "1e18", "1e18"), math.MaxInt64, 1e18},
		{"the largest", containers(1, "9223372036854775807", "9223372036854775807"), math.MaxInt64, math.MaxInt64},
		{"larger than what is counted", containers(1, "1e30", "1e30"), math.MaxInt64, math.MaxInt64},
		{"a sum of large ones", containers(2, "9223372036854775807", "9223372036854775807"), math.MaxInt64, math.MaxInt64},
		{"a sum that just overflows", containers(20, "1e18", "1e18"), math.MaxInt64, math.MaxInt64},
		{"thousandths that overflow", containers(10, "1e15", "1"), math.MaxInt64, 10},
		{"many containers", containers(10_000, "1m", "1"), 10_000, 10_000},
		{"negative", containers(1, "-1", "-1"), -1000, -1},
		{"very negative", containers(20, "-1e18", "-1e18"), -math.MaxInt64, -math.MaxInt64},
	} {
		t.Run(c.name, func(t *testing.T) {
			amounts := pods.Resources(c.pod).Resources
			assert.Equal(t, amounts["vcore"].Value, c.vcore)
			assert.Equal(t, amounts["memory"].Value, c.mem)
			assert.Equal(t, amounts["pods"].Value, int64(1))
		})
	}
}

// Whatever is written in annotations and labels, the pod has an application, and what cannot
// be read is said in a short text.
func TestAbsurdAnnotations(t *testing.T) {
	long := strings.Repeat("x", 250<<10)
	for _, c := range []struct{ annotation, value string }{
		{pods.AnnotationTaskGroups, "["},
		{pods.AnnotationTaskGroups, "{}"},
		{pods.AnnotationTaskGroups, "[null]"},
		{pods.AnnotationTaskGroups, `[{"name": "a", "minMember": 9999999999}]`},
		{pods.AnnotationTaskGroups, `[{"name": "a", "minMember": -1}]`},
		{pods.AnnotationTaskGroups, `[{"name": "a", "minMember": 1, "minResource": {"cpu": "-1"}}]`},
		{pods.AnnotationTaskGroups, `[{"name": "a", "minMember": 1, "minResource": {"cpu": "many"}}]`},
		{pods.AnnotationTaskGroups, `[{"name": "` + long + `", "minMember": -1}]`},
		{pods.AnnotationTaskGroups, strings.Repeat("[", 100_000)},
		{pods.AnnotationTaskGroups, `[{"name": "a", "minMember": 1, "minResource": {"cpu": "` + long + `"}}]`},
		{pods.AnnotationUserInfo, long},
		{pods.AnnotationUserInfo, `{"user": 7}`},
		{pods.AnnotationPolicy, "placeholderTimeoutInSeconds=" + long},
		{pods.AnnotationPolicy, "gangSchedulingStyle=" + long},
	} {
		pod := containers(1, "1", "1")
		pod.Annotations = map[string]string{c.annotation: c.value}
		app, err := pods.Rules{}.ApplicationOf(pod, nil)
		assert.Equal(t, app.ID, "narwhal-default-autogen")
		assert.Equal(t, len(app.TaskGroups), 0)
		assert.Assert(t, err != nil, "%.40s", c.value)
		assert.Assert(t, len(err.Error()) < 1000, "%.40s: %d bytes", c.value, len(err.Error()))
	}
}
