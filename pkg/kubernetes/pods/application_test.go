package pods_test

import (
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// written is a pod with labels and annotations, in namespace dev.
func written(labels, annotations map[string]string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "p", Labels: labels, Annotations: annotations}}
}

type text = map[string]string

func TestApplicationOf(t *testing.T) {
	for name, c := range map[string]struct {
		labels, annotations     text
		id, queue, user, failed string
		groups                  []string
	}{
		"nothing stated":                   {id: "narwhal-dev-autogen"},
		"the label":                        {labels: text{pods.LabelApplicationID: "a"}, id: "a"},
		"the annotation":                   {annotations: text{pods.LabelApplicationID: "a"}, id: "a"},
		"the label before the annotation":  {labels: text{pods.LabelApplicationID: "a"}, annotations: text{pods.LabelApplicationID: "b"}, id: "a"},
		"the old label":                    {labels: text{"applicationId": "a", "queue": "root.q"}, id: "a", queue: "root.q"},
		"the new label before the old one": {labels: text{"applicationId": "a", pods.LabelApplicationID: "b"}, id: "b"},
		"a pod of Spark":                   {labels: text{"spark-app-selector": "spark-1"}, id: "spark-1"},
		"a queue":                          {labels: text{pods.LabelQueue: "root.q"}, id: "narwhal-dev-autogen", queue: "root.q"},
		"a user":                           {labels: text{pods.LabelUser: "anna"}, id: "narwhal-dev-autogen-anna", user: "anna"},
		"a user of an application":         {labels: text{pods.LabelUser: "anna", "applicationId": "a"}, id: "a", user: "anna"},
		"what the policy writes": {
			labels: text{pods.LabelApplicationID: "narwhal-dev-autogen"}, annotations: text{pods.AnnotationUserInfo: `{"user": "anna"}`},
			id: "narwhal-dev-autogen-anna", user: "anna",
		},
		"what the admission recorded": {
			labels: text{pods.LabelUser: "mallory"}, annotations: text{pods.AnnotationUserInfo: `{"user": "anna", "groups": ["dev", "ops"]}`},
			id: "narwhal-dev-autogen-anna", user: "anna", groups: []string{"dev", "ops"},
		},
		"a user that cannot be read": {
			annotations: text{pods.AnnotationUserInfo: `anna`}, id: "narwhal-dev-autogen",
			failed: "pod dev/p: annotation yunikorn.apache.org/user.info: invalid character 'a' looking for beginning of value: a user and groups are expected, as in {\"user\": \"anna\", \"groups\": [\"dev\"]}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			app, err := pods.Rules{}.ApplicationOf(written(c.labels, c.annotations), nil)
			if c.failed == "" {
				assert.NilError(t, err)
			} else {
				assert.Error(t, err, c.failed)
			}
			assert.Equal(t, app.ID, c.id)
			assert.Equal(t, app.Queue, c.queue)
			assert.Equal(t, app.User, c.user)
			assert.DeepEqual(t, app.Groups, c.groups)
		})
	}
	app, err := pods.Rules{DefaultQueue: "root.default"}.ApplicationOf(written(nil, nil), nil)
	assert.NilError(t, err)
	assert.Equal(t, app.Queue, "root.default")
}

func TestNamespaceQuotas(t *testing.T) {
	for name, c := range map[string]struct {
		annotations text
		want        text
		failed      string
	}{
		"none": {want: text{"namespace": "dev"}},
		"all": {
			annotations: text{
				pods.AnnotationQuota: `{"cpu": "64", "memory": "100G", "nvidia.com/gpu": "8"}`, pods.AnnotationGuaranteed: `{"cpu": "500m"}`,
				pods.AnnotationApplicationsMax: "10", pods.AnnotationParentQueue: "root.teams",
			},
			want: text{
				"namespace":                    "dev",
				"namespace.resourcequota":      `{"resources":{"memory":{"value":100000000000},"nvidia.com/gpu":{"value":8},"vcore":{"value":64000}}}`,
				"namespace.resourceguaranteed": `{"resources":{"vcore":{"value":500}}}`,
				"namespace.resourcemaxapps":    "10",
				"namespace.parentqueue":        "root.teams",
			},
		},
		"in the old way": {
			annotations: text{"yunikorn.apache.org/namespace.max.cpu": "1", "yunikorn.apache.org/namespace.max.memory": "1Gi"},
			want:        text{"namespace": "dev", "namespace.resourcequota": `{"resources":{"memory":{"value":1073741824},"vcore":{"value":1000}}}`},
		},
		"an amount that is none": {
			annotations: text{pods.AnnotationQuota: `{"cpu": "many"}`, pods.AnnotationGuaranteed: `{"cpu": "1"}`},
			want:        text{"namespace": "dev", "namespace.resourceguaranteed": `{"resources":{"vcore":{"value":1000}}}`},
			failed:      `namespace dev: annotation yunikorn.apache.org/namespace.quota: cpu "many": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
		},
		"less than nothing": {
			annotations: text{pods.AnnotationQuota: `{"cpu": "-1"}`},
			want:        text{"namespace": "dev"},
			failed:      `namespace dev: annotation yunikorn.apache.org/namespace.quota: cpu "-1" is negative`,
		},
		"placeholders, neither wanted nor not": {
			annotations: text{pods.AnnotationPlaceholders: "none"},
			want:        text{"namespace": "dev"},
			failed:      `namespace dev: annotation narwhal-scheduler.io/placeholders is "none", and true or false is expected`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "dev", Annotations: c.annotations}}
			if err := pods.CheckNamespace(namespace); c.failed == "" {
				assert.NilError(t, err)
			} else {
				assert.Error(t, err, c.failed)
			}
			app, err := pods.Rules{}.ApplicationOf(written(nil, nil), namespace)
			assert.NilError(t, err)
			assert.DeepEqual(t, app.Tags, c.want)
		})
	}
}

func TestTaskGroups(t *testing.T) {
	const two = `[{"name": "head", "minMember": 1, "minResource": {"cpu": "1", "memory": "2Gi"}},
		{"name": "workers", "minMember": 10, "minResource": {"cpu": "500m"}, "nodeSelector": {"disk": "ssd"},
		"tolerations": [{"key": "batch", "operator": "Exists"}]}]`
	pod := written(nil, text{
		pods.AnnotationTaskGroups: two, pods.AnnotationTaskGroup: "workers",
		pods.AnnotationPolicy: "placeholderTimeoutInSeconds=60 gangSchedulingStyle=Hard other=1",
	})
	app, err := pods.Rules{}.ApplicationOf(pod, nil)
	assert.NilError(t, err)
	assert.Equal(t, pods.GroupName(pod), "workers")
	assert.Equal(t, app.TaskGroups[1].NodeSelector["disk"], "ssd")
	request := app.Request(time.Unix(1700000000, 7), true)
	assert.DeepEqual(t, plain(request.PlaceholderAsk), map[string]int64{"pods": 11, "vcore": 6000, "memory": 2 << 30})
	assert.Equal(t, request.ExecutionTimeoutMilliSeconds, int64(60_000))
	assert.Equal(t, request.GangSchedulingStyle, "Hard")
	assert.DeepEqual(t, request.Tags, text{"namespace": "dev", "creationTime": "1700000000.000000007", "application.create.force": "true"})
	assert.Equal(t, request.Ugi.User, "nobody")
}

// A gang of which a part cannot be read is none, and the error says which part.
func TestTaskGroupsThatAreWrong(t *testing.T) {
	for groups, want := range map[string]string{
		`[{"minMember": 1}]`:               "a task group has no name",
		`[{"name": "a"}]`:                  "task group a: minMember is 0, at least 1 is needed",
		`[{"name": "a", "minMember": -1}]`: "task group a: minMember is -1, at least 1 is needed",
		`[{"name": "a", "minMember": 1, "minResource": {"cpu": "-1"}}]`:  "task group a: minResource cpu is negative",
		`[{"name": "a", "minMember": 1}, {"name": "a", "minMember": 1}]`: "there are two task groups a",
	} {
		app, err := pods.Rules{}.ApplicationOf(written(nil, text{pods.AnnotationTaskGroups: groups}), nil)
		assert.Error(t, err, "pod dev/p: annotation yunikorn.apache.org/task-groups: "+want)
		assert.Equal(t, len(app.TaskGroups), 0)
	}
	for policy, want := range map[string]string{
		"placeholderTimeoutInSeconds=-1":   "placeholderTimeoutInSeconds=-1: seconds from 0 to 2147483647 are expected",
		"placeholderTimeoutInSeconds=soon": "placeholderTimeoutInSeconds=soon: seconds from 0 to 2147483647 are expected",
		"gangSchedulingStyle=hard":         "gangSchedulingStyle=hard: Soft or Hard is expected",
	} {
		_, err := pods.Rules{}.ApplicationOf(written(nil, text{pods.AnnotationPolicy: policy}), nil)
		assert.Error(t, err, "pod dev/p: annotation yunikorn.apache.org/schedulingPolicyParameters: "+want)
	}
}

// Members times amounts beyond the largest number stay there.
func TestPlaceholdersOfAbsurdGroups(t *testing.T) {
	groups := `[{"name": "a", "minMember": 2147483647, "minResource": {"memory": "8Ei"}}, {"name": "b", "minMember": 2, "minResource": {"memory": "1"}}]`
	app, err := pods.Rules{}.ApplicationOf(written(nil, text{pods.AnnotationTaskGroups: groups}), nil)
	assert.NilError(t, err)
	assert.DeepEqual(t, plain(app.Placeholders()), map[string]int64{"pods": 2147483649, "memory": 1<<63 - 1})
}

func TestPodGroups(t *testing.T) {
	name := "trainers"
	pod := &v1.Pod{Spec: v1.PodSpec{
		SchedulingGroup: &v1.PodSchedulingGroup{PodGroupName: &name},
		Containers:      []v1.Container{container("cpu", "2", "nvidia.com/gpu", "1")},
	}}
	assert.Equal(t, pods.GroupName(pod), "trainers")
	_, gang := pods.OfPodGroup(pods.PodGroup{Name: name}, pod)
	assert.Assert(t, !gang)
	tasks, gang := pods.OfPodGroup(pods.PodGroup{Name: name, MinCount: 4}, pod)
	assert.Assert(t, gang)
	assert.Equal(t, tasks.MinMember, int32(4))
	assert.DeepEqual(t, plain(tasks.Resources()), plain(pods.Resources(pod)))
}

func TestSoftIsTheStyleOfGangs(t *testing.T) {
	app, err := pods.Rules{}.ApplicationOf(written(nil, text{pods.AnnotationTaskGroups: `[{"name": "a", "minMember": 1}]`}), nil)
	assert.NilError(t, err)
	request := app.Request(time.Unix(0, 0), false)
	assert.Equal(t, request.GangSchedulingStyle, "Soft")
	assert.Equal(t, request.Tags["application.create.force"], "")
	assert.DeepEqual(t, request.PlaceholderAsk.Resources["pods"].Value, (&si.Quantity{Value: 1}).Value)
}
