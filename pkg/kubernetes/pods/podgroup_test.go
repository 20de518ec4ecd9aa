package pods_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// gangOf136 has every field that Kubernetes 1.36 knows, gangOf137 every one that 1.37 knows.
const (
	gangOf136 = `
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {namespace: research, name: train, uid: 5b0c, finalizers: [scheduling.k8s.io/podgroup-protection]}
spec:
  podGroupTemplateRef: {workload: {workloadName: train, podGroupTemplateName: workers}}
  schedulingPolicy: {gang: {minCount: 4}}
  schedulingConstraints: {topology: [{key: topology.kubernetes.io/rack}]}
  disruptionMode: PodGroup
  priorityClassName: high
  priority: 1000
  resourceClaims: [{name: gpus, resourceClaimTemplateName: gpus}]
status:
  conditions: [{type: PodGroupScheduled, status: "False", reason: Unschedulable}]
`
	gangOf137 = `
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {namespace: research, name: train, uid: 5b0c, finalizers: [scheduling.k8s.io/podgroup-protection]}
spec:
  workloadRef: {workloadName: train, templateName: workers}
  parentCompositePodGroupName: replicas
  schedulingPolicy: {gang: {minCount: 4}}
  schedulingConstraints: {topology: [{key: topology.kubernetes.io/rack}]}
  disruptionMode: {all: {}}
  priorityClassName: high
  priority: 1000
  preemptionPolicy: Never
  resourceClaims: [{name: gpus, resourceClaimTemplateName: gpus}]
status:
  conditions: [{type: PodGroupInitiallyScheduled, status: "False", reason: Unschedulable}]
`
)

func TestReadPodGroups(t *testing.T) {
	const gang = "{gang: {minCount: 4}}"
	for name, text := range map[string]string{"1.36": gangOf136, "1.37": gangOf137} {
		for _, c := range []struct {
			policy string
			want   int32
			err    string // after the name of the group
		}{
			{policy: gang, want: 4},
			{policy: "{gang: {minCount: 1}}", want: 1},
			{policy: "{gang: {minCount: 2147483647}}", want: 2147483647},
			{policy: "{basic: {}}", want: 0},
			{policy: "{gang: {minCount: 0}}", err: "spec.schedulingPolicy.gang.minCount is 0, and 1 to 2147483647 is expected"},
			{policy: "{gang: {minCount: 2147483648}}", err: "spec.schedulingPolicy.gang.minCount is 2147483648, and 1 to 2147483647 is expected"},
			{policy: "{gang: {}}", err: "spec.schedulingPolicy.gang.minCount is 0, and 1 to 2147483647 is expected"},
			{policy: "{gang: {minCount: many}}", err: `spec.schedulingPolicy: .gang.minCount accessor error: many is of the type string, expected int64`},
			{policy: "{basic: {}, gang: {minCount: 4}}", err: "spec.schedulingPolicy must have one of basic and gang"},
			{policy: "{elastic: {}}", err: "spec.schedulingPolicy must have one of basic and gang"},
		} {
			group, err := pods.ReadPodGroup(object(t, strings.Replace(text, gang, c.policy, 1)))
			if c.err != "" {
				assert.Error(t, err, "pod group research/train: "+c.err, name)
				continue
			}
			assert.NilError(t, err, "%s %s", name, c.policy)
			assert.DeepEqual(t, []any{group.Namespace, group.Name, group.MinCount}, []any{"research", "train", c.want})
		}
	}
}

// What counts for all pods of a group is read in both versions, also where they write it in different ways.
func TestReadWhatPodGroupsSay(t *testing.T) {
	alpha := strings.Replace(gangOf137, "v1beta1", "v1alpha3", 1)
	for name, text := range map[string]string{"1.36": gangOf136, "1.37": gangOf137, "1.37 alpha": alpha} {
		group, err := pods.ReadPodGroup(object(t, text))
		assert.NilError(t, err)
		preempts := "false"
		if name == "1.36" { // which does not know it
			preempts = ""
		}
		assert.DeepEqual(t, group.Tags(), map[string]string{
			pods.TagQuorum: "research/train", pods.TagQuorumLeast: "4", pods.TagQuorumPriority: "1000", pods.TagQuorumPreempts: preempts,
			pods.TagQuorumUnit: "all", pods.TagQuorumRequire: "topology.kubernetes.io/rack", pods.TagQuorumPrefer: "", pods.TagQuorumEach: "", pods.TagQuorumSplit: "",
			pods.TagQuorumSubgroupLeast: "", pods.TagQuorumEndBelow: "", pods.TagQuorumBalanced: "",
		})
		assert.Equal(t, string(group.Condition.Status)+" "+group.Condition.Reason, "False Unschedulable")
		assert.DeepEqual(t, group.ResourceClaims, []schedulingv1beta1.PodGroupResourceClaim{{Name: "gpus", ResourceClaimTemplateName: new("gpus")}})
	}
	_, err := pods.ReadPodGroup(object(t, strings.Replace(gangOf137, "name: gpus", "name: [gpus]", 1)))
	assert.ErrorContains(t, err, "pod group research/train: spec.resourceClaims: ")
	for _, c := range []struct {
		mode string // in place of the one of gangOf137
		unit string
		odd  bool
	}{
		{"{single: {}}", "", false},
		{"{all: {}}", "all", false},
		{"{half: {}}", "all", true},
		{"{single: {}, all: {}}", "all", true},
		{"Pod", "", false},
		{"PodGroup", "all", false},
		{"Half", "all", true},
		{"7", "all", true},
	} {
		group, err := pods.ReadPodGroup(object(t, strings.Replace(gangOf137, "{all: {}}", c.mode, 1)))
		assert.NilError(t, err)
		assert.Equal(t, group.Tags()[pods.TagQuorumUnit], c.unit, c.mode)
		assert.Equal(t, group.Odd != "", c.odd, c.mode)
	}
	for annotation, want := range map[string][2]string{
		"example.com/rack": {"example.com/rack", ""},
		"rack":             {"rack", ""},
		"two racks":        {"", "its annotation narwhal-scheduler.io/preferred-topology is not the key of a label, and is left out: name part must consist of"},
	} {
		of := object(t, gangOf137)
		of.SetAnnotations(map[string]string{pods.AnnotationPrefer: annotation})
		group, err := pods.ReadPodGroup(of)
		assert.NilError(t, err)
		assert.Equal(t, group.Tags()[pods.TagQuorumPrefer], want[0])
		assert.Assert(t, strings.HasPrefix(group.Odd, want[1]) && (group.Odd == "") == (want[1] == ""), group.Odd)
	}
	of := object(t, gangOf137)
	of.SetAnnotations(map[string]string{pods.AnnotationSubgroupMinCount: "2", pods.AnnotationEndBelow: "1m"})
	counted, err := pods.ReadPodGroup(of)
	assert.NilError(t, err)
	assert.Equal(t, counted.Tags()[pods.TagQuorumEndBelow], "60")
	for says, want := range map[string]string{"true": "true", "false": "", "yes": ""} {
		of.SetAnnotations(map[string]string{pods.AnnotationBalanced: says})
		group, err := pods.ReadPodGroup(of)
		assert.NilError(t, err)
		assert.Equal(t, group.Tags()[pods.TagQuorumBalanced], want)
		assert.Equal(t, group.Odd != "", says == "yes", group.Odd)
	}
	of.SetAnnotations(map[string]string{pods.AnnotationEndBelow: "soon"})
	odd, err := pods.ReadPodGroup(of)
	assert.NilError(t, err)
	assert.Equal(t, odd.Odd, `its annotation narwhal-scheduler.io/end-below-minimum-after is not a time of at least a second, and is left out: "soon"`)
	assert.DeepEqual(t, []string{counted.Tags()[pods.TagQuorumLeast], counted.Tags()[pods.TagQuorumSubgroupLeast]}, []string{"4", "2"})
	for _, c := range []struct{ topology, size, each, first, odd string }{
		{"rack", "", "rack", "blue", ""},
		{"rack", "4", "rack", "1", ""},
		{"", "4", "", "1", ""},
		{"two racks", "none", "", "blue", "its annotation narwhal-scheduler.io/subgroup-topology is not the key of a label, and is left out: "},
		{"rack", "0", "rack", "blue", `its annotation narwhal-scheduler.io/subgroup-size is not a number of pods, and is left out: "0", and 1 to 2147483647 is expected`},
	} {
		of := object(t, gangOf137)
		of.SetAnnotations(map[string]string{pods.AnnotationSubgroups: c.topology, pods.AnnotationSubgroupSize: c.size})
		group, err := pods.ReadPodGroup(of)
		assert.NilError(t, err)
		assert.Equal(t, group.Tags()[pods.TagQuorumEach], c.each)
		assert.Assert(t, strings.HasPrefix(group.Odd, c.odd) && (group.Odd == "") == (c.odd == ""), group.Odd)
		assert.Equal(t, group.SubgroupOf("7", "blue"), c.first)
		if c.first == "1" {
			assert.Equal(t, group.SubgroupOf("", "blue"), "", "a pod without an index")
		}
	}
	for _, c := range []struct{ requires, prefers, each, split string }{{"", "rack", "rack", "true"}, {"row", "rack", "row", ""}, {"row", "", "row", ""}, {"", "no label", "", ""}} {
		of := object(t, gangOf137)
		of.SetAnnotations(map[string]string{pods.AnnotationSubgroups: c.requires, pods.AnnotationSubgroupsPrefer: c.prefers})
		group, err := pods.ReadPodGroup(of)
		assert.NilError(t, err)
		assert.DeepEqual(t, []string{group.Tags()[pods.TagQuorumEach], group.Tags()[pods.TagQuorumSplit]}, []string{c.each, c.split})
		assert.Equal(t, group.Odd != "", c.prefers == "no label", group.Odd)
	}
	for topology, want := range map[string]string{
		"[{key: a}, {key: b}]": "spec.schedulingConstraints.topology has 2 items, and at most one is expected",
		"[{level: rack}]":      "spec.schedulingConstraints.topology names no key",
	} {
		_, err := pods.ReadPodGroup(object(t, strings.Replace(gangOf137, "[{key: topology.kubernetes.io/rack}]", topology, 1)))
		assert.Error(t, err, "pod group research/train: "+want)
	}
}

// A version that comes later may mean another thing by the same words.
func TestReadPodGroupsOfOtherVersions(t *testing.T) {
	for what, text := range map[string]string{
		"PodGroup of scheduling.k8s.io/v2":      strings.Replace(gangOf137, "v1beta1", "v2", 1),
		"Workload of scheduling.k8s.io/v1beta1": strings.Replace(gangOf137, "kind: PodGroup", "kind: Workload", 1),
	} {
		_, err := pods.ReadPodGroup(object(t, text))
		assert.Error(t, err, "pod group research/train: it is a "+what+", and a PodGroup of a version in [v1beta1 v1alpha3 v1alpha2] is expected")
	}
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	json, err := yaml.YAMLToJSON([]byte(text))
	assert.NilError(t, err)
	object := new(unstructured.Unstructured)
	assert.NilError(t, object.UnmarshalJSON(json))
	return object
}

// Pod groups are in four composite ones, one in the other, at most: those that are in more wait.
func TestCompositesAreBounded(t *testing.T) {
	for count, want := range map[int]string{4: "", 5: "it is in more than 4 composite pod groups, one in the other, or in a circle of them"} {
		all, parent := pods.Composites{}, ""
		for i := range count {
			name := fmt.Sprint("c", i)
			all["a/"+name] = pods.PodGroup{Namespace: "a", Name: name, MinCount: 1, Parent: parent}
			parent = name
		}
		above, why := all.Of(pods.PodGroup{Namespace: "a", Name: "g", MinCount: 1, Parent: parent})
		assert.Equal(t, why, want)
		assert.Assert(t, why != "" || len(above) == count && above[0].Name == "c0", "%v", above)
	}
}

// A composite group says how many of the groups in it start together. The pods of these are subgroups of one group then.
func TestReadCompositePodGroups(t *testing.T) {
	const text = `
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {namespace: research, name: replicas}
spec:
  schedulingPolicy: {gang: {minGroupCount: 2}}
  schedulingConstraints: {topology: [{key: block}]}
  priority: 7`
	composite, err := pods.ReadCompositePodGroup(object(t, text))
	assert.NilError(t, err)
	group, err := pods.ReadPodGroup(object(t, gangOf137))
	assert.NilError(t, err)
	assert.Equal(t, group.Parent, "replicas")
	tags := group.TagsIn(composite)
	for tag, want := range map[string]string{
		pods.TagQuorum: "research/composite/replicas", pods.TagQuorumLeast: "2", pods.TagQuorumSubgroup: "train", pods.TagQuorumSubgroupLeast: "4",
		pods.TagQuorumRequire: "block", pods.TagQuorumEach: "topology.kubernetes.io/rack", pods.TagQuorumPriority: "7", pods.TagQuorumUnit: "",
	} {
		assert.Equal(t, tags[tag], want, tag)
	}
	hall := pods.PodGroup{Namespace: "research", Name: "hall", MinCount: 3, Require: "hall"}
	for _, c := range []struct {
		above            []pods.PodGroup
		each, sub, least string
	}{
		{[]pods.PodGroup{composite, hall}, "hall,topology.kubernetes.io/rack", "hall/train", "3/4"},
		{[]pods.PodGroup{composite, hall, {Name: "row"}}, "hall,,topology.kubernetes.io/rack", "hall/row/train", "3/1/4"},
		{[]pods.PodGroup{composite, {Name: "row"}}, ",topology.kubernetes.io/rack", "row/train", "1/4"},
	} {
		tags := group.TagsIn(c.above...)
		assert.DeepEqual(t, []string{tags[pods.TagQuorumEach], tags[pods.TagQuorumSubgroup], tags[pods.TagQuorumSubgroupLeast]}, []string{c.each, c.sub, c.least})
	}
	_, err = pods.ReadCompositePodGroup(object(t, strings.Replace(text, "{minGroupCount: 2}", "{}", 1)))
	assert.Error(t, err, "composite pod group research/replicas: spec.schedulingPolicy.gang.minGroupCount is 0, and 1 to 2147483647 is expected")
	_, err = pods.ReadCompositePodGroup(object(t, gangOf137))
	assert.Error(t, err, "composite pod group research/train: it is a PodGroup of scheduling.k8s.io/v1beta1, and a CompositePodGroup of a version in [v1alpha3] is expected")
}
