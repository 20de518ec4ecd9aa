package pods

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// A placeholder says of its application what the pod says that speaks for it, whatever the
// labels of the task group say, and asks for as much as was announced.
func TestPlaceholder(t *testing.T) {
	of := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "driver", UID: "1",
		Labels: map[string]string{LabelApplicationID: "app", LabelUser: "ann"},
		Annotations: map[string]string{
			AnnotationTaskGroups: `[{"name": "Big One", "minMember": 3, "minResource": {"cpu": "500m", "memory": "1Gi"},
				"labels": {"yunikorn.apache.org/app-id": "other", "queue": "root.other", "tier": "x"},
				"annotations": {"yunikorn.apache.org/placeholder": "false", "yunikorn.apache.org/queue": "root.other"}}]`,
			AnnotationPolicy: "placeholderTimeoutInSeconds=60 gangSchedulingStyle=Hard",
		},
	}}
	of.Spec.SchedulerName = "narwhal"
	rules := Rules{SchedulerNames: []string{"narwhal"}}
	app, err := rules.ApplicationOf(of, nil)
	assert.NilError(t, err)
	made := app.Placeholder(app.TaskGroups[0], 2, of, DefaultPlaceholderImage)
	assert.Assert(t, SaysPlaceholder(made) && rules.IsOurs(made))
	assert.Equal(t, GroupName(made), "Big One")
	by := made.Spec.SecurityContext // a platform that gives namespaces users of their own refuses others
	assert.Assert(t, *by.RunAsNonRoot && by.RunAsUser == nil && by.RunAsGroup == nil)
	assert.Equal(t, made.Labels["tier"], "x")
	assert.Equal(t, made.OwnerReferences[0].Name, "driver")

	// After a restart another pod speaks, which says nothing of the gang. The groups are those of a pod
	// that says them; where there is none any more, a placeholder of each group says what it is like.
	made.Status.Conditions = []v1.PodCondition{{Type: ConditionPlaceholder}}
	assert.Equal(t, made.Annotations[AnnotationTaskGroups], "")
	other := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "other", Labels: of.Labels}}
	for _, left := range [][]*v1.Pod{{other, made, of}, {of, made}, {made, other}} {
		again, err := rules.ApplicationOf(left[0], nil)
		assert.NilError(t, err)
		again.Remember(left)
		assert.DeepEqual(t, again.Request(time.Unix(0, 0), false).String(), app.Request(time.Unix(0, 0), false).String())
		for i := range app.TaskGroups {
			assert.DeepEqual(t, again.Placeholder(again.TaskGroups[i], 7, of, DefaultPlaceholderImage), app.Placeholder(app.TaskGroups[i], 7, of, DefaultPlaceholderImage))
		}
	}

	// One that was made for other groups goes before what the oldest pod says now.
	changed := of.DeepCopy()
	changed.Annotations[AnnotationTaskGroups] = `[{"name": "small", "minMember": 1}]`
	again, err := rules.ApplicationOf(changed, nil)
	assert.NilError(t, err)
	again.Remember([]*v1.Pod{changed, made})
	assert.Equal(t, again.TaskGroups[0].Name, "Big One")

	sum := app.Placeholders().Resources
	for name, quantity := range Resources(made).Resources {
		assert.Equal(t, sum[name].Value, 3*quantity.Value, name)
	}
}

// The pod that speaks for the application may have owners: then the placeholder is not its own,
// and no controller takes it for one of its pods.
func TestOwnersOfPlaceholders(t *testing.T) {
	yes := true
	of := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "one", OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: "job", Controller: &yes}}}}
	made := Application{ID: "app"}.Placeholder(TaskGroup{Name: "g", MinMember: 1}, 0, of, "image")
	assert.Equal(t, made.OwnerReferences[0].Name, "job")
	assert.Assert(t, metav1.GetControllerOf(made) == nil)
	assert.Assert(t, *of.OwnerReferences[0].Controller)
}

// Whatever applications and task groups are called, placeholders have names that the API server
// takes, and different ones.
func TestNamesOfPlaceholders(t *testing.T) {
	names := map[string]bool{}
	count := 0
	for _, app := range []string{"", "a", "a-b", "A-B", "spark.42", "日本", "../..", "\x00\xff", strings.Repeat("x", 10_000), strings.Repeat("-", 500)} {
		for _, group := range []string{"", "b", "-b", "workers", "Workers", strings.Repeat("ä", 3000), "tg\x00"} {
			for _, index := range []int{0, 1, 999_999} {
				name := PlaceholderName(app, group, index)
				assert.Assert(t, len(validation.IsDNS1123Label(name)) == 0, "%q", name)
				names[name] = true
				count++
			}
		}
	}
	assert.Equal(t, len(names), count)
}

// Names at ten times the bound are as long as the core takes, and stay different.
func TestNamesBeyondNamesMax(t *testing.T) {
	long := strings.Repeat("ä", 10*1024)
	one, other := bounded(long+"1"), bounded(long+"2")
	assert.Assert(t, len(one) <= 1024 && len(other) <= 1024 && one != other)
	assert.Equal(t, bounded(one), one)
}
