package main

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

const workload = `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: train
  annotations:
    narwhal-scheduler.io/subgroup-topology: example.com/rack
    narwhal-scheduler.io/subgroup-size: "2"
spec:
  schedulingPolicy: {gang: {minCount: 3}}
  schedulingConstraints: {topology: [{key: example.com/block}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 3
  completionMode: Indexed
  template:
    spec:
      schedulingGroup: {podGroupName: train}
      priorityClassName: urgent
      containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: eval}
spec:
  parallelism: 2
  scheduling: {schedulingPolicy: {gang: {}}}
  template:
    spec: {containers: [{name: c, image: i}]}
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: serve}
spec: {schedulingPolicy: {gang: {minGroupCount: 1}}}
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: PodGroup
metadata: {name: blue}
spec: {parentCompositePodGroupName: serve, schedulingPolicy: {gang: {minCount: 1}}}
---
apiVersion: v1
kind: Pod
metadata: {name: blue}
spec: {schedulingGroup: {podGroupName: blue}, containers: [{name: c, image: i}]}
`

// Pods of a manifest that start together do so in the question: those of a pod group and of its subgroups, of a job that says how it is
// scheduled, and of a composite group; with the priority of their class.
func TestWhatIfOfAWholeWorkload(t *testing.T) {
	_, sent, err := play(t, workload, "whatif", "-f", "-")
	assert.NilError(t, err)
	golden.Assert(t, strings.ReplaceAll(sent, `{"allocationKey"`, "\n"+`{"allocationKey"`)+"\n", "whatif-workload.golden")
}

// What says that pods start together is needed whole: without it they would seem to start one by one.
func TestWhatIfWithoutItsGroup(t *testing.T) {
	group := "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: train}\nspec: "
	pod := "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {schedulingGroup: {podGroupName: train}, containers: [{name: c, image: i}]}"
	for text, want := range map[string]string{
		pod:                "-: p names pod group train, which is not in the manifest",
		group + "{}" + pod: "-: pod group dev/train: spec.schedulingPolicy must have one of basic and gang",
		group + "{parentCompositePodGroupName: serve, schedulingPolicy: {gang: {minCount: 1}}}" + pod: "-: p waits: its composite pod group serve does not exist, or is not understood",
		strings.Replace(pod, "schedulingGroup: {podGroupName: train}", "priorityClassName: none", 1):  "priority of p: ",
	} {
		_, _, err := play(t, text, "whatif", "-f", "-")
		assert.ErrorContains(t, err, want)
	}
}
