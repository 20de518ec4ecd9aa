package upstream

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A plugin says what worlds and arguments it is tried in.
type plugin struct {
	name, point string
	times       uint64                       // so many times as many worlds, since it acts in few of them; 0 is 1
	nodes       int                          // at least; 0 is 2
	replicas    int                          // at most; 0 is 6
	taints      int                          // percent of nodes with one
	cpu         []string                     // of nodes; nil is small ones
	alike       func(*world, *v1.Pod) string // of the pods of one owner with the same it is chance which go
	arguments   func(*world) string
	cluster     func(*world)                 // changes the nodes
	template    func(*world, *v1.Pod)        // of the pods of an owner
	stood       func(*world, int) []*v1.Node // where so many pods of an owner are; nil is on any of some nodes
	pod         func(*world, *v1.Pod)
}

var all = []plugin{
	{name: "RemoveDuplicates", point: "balance", nodes: 4, taints: 5, alike: byNode, arguments: duplicates},
	{name: "LowNodeUtilization", point: "balance", nodes: 6, taints: 5, cpu: large, alike: byNode, arguments: low},
	{name: "HighNodeUtilization", point: "balance", nodes: 3, taints: 5, cpu: large, alike: byNode, arguments: high},
	{name: "RemovePodsViolatingInterPodAntiAffinity", point: "deschedule", times: 5, taints: 5, nodes: 6, replicas: 2, alike: byAffinity, arguments: selects, template: apart},
	{name: "RemovePodsViolatingNodeAffinity", point: "deschedule", nodes: 4, taints: 5, arguments: affinities, template: onDisks},
	{name: "RemovePodsViolatingNodeTaints", point: "deschedule", nodes: 5, taints: 30, arguments: taints},
	{name: "RemovePodsViolatingTopologySpreadConstraint", point: "balance", times: 5, nodes: 6, taints: 5, alike: bySpread, cluster: zoned, arguments: spreads, template: spread, stood: stood, pod: revised},
	{name: "RemovePodsHavingTooManyRestarts", point: "deschedule", taints: 5, arguments: restarts, pod: restarted},
	{name: "PodLifeTime", point: "deschedule", taints: 5, arguments: lifetime, pod: ended},
	{name: "RemoveFailedPods", point: "deschedule", taints: 5, arguments: failed, pod: ended},
}

// large nodes have room for several pods below a threshold.
var large = []string{"16", "16", "32"}

func byNode(_ *world, p *v1.Pod) string { return p.Spec.NodeName }

func byAffinity(w *world, p *v1.Pod) string {
	if a := p.Spec.Affinity; a != nil {
		return w.nodeOf(p).Labels[a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].TopologyKey]
	}
	return p.Spec.NodeName
}

func list(args ...string) string {
	return strings.Join(slices.DeleteFunc(args, func(s string) bool { return s == "" }), ", ")
}

// selects are the arguments that most plugins have.
func selects(w *world) string {
	var args []string
	if w.p(20) {
		args = append(args, "namespaces: {"+w.pick("include", "exclude")+": [a]}")
	}
	if w.p(20) {
		args = append(args, "labelSelector: {matchLabels: {tier: x}}")
	}
	return list(args...)
}

func with(w *world, arg string) string {
	return list(arg, selects(w))
}

func duplicates(w *world) string {
	var args []string
	if w.p(20) {
		args = append(args, "namespaces: {"+w.pick("include", "exclude")+": [a]}")
	}
	if w.p(20) {
		args = append(args, "excludeOwnerKinds: [StatefulSet]")
	}
	return list(args...)
}

func low(w *world) string {
	args := []string{}
	if w.p(25) {
		args = append(args, "useDeviationThresholds: true", "thresholds: {cpu: 5}", "targetThresholds: {cpu: 5}")
	} else {
		args = append(args, "thresholds: "+w.pick("{cpu: 5}", "{cpu: 10}", "{cpu: 10, memory: 20}"))
		if strings.Contains(args[0], "memory") {
			args = append(args, "targetThresholds: {cpu: 15, memory: 30}")
		} else {
			args = append(args, "targetThresholds: "+w.pick("{cpu: 10}", "{cpu: 15}"))
		}
	}
	if w.p(15) {
		args = append(args, "numberOfNodes: 1")
	}
	if w.p(15) {
		args = append(args, "evictableNamespaces: {exclude: [a]}")
	}
	if w.p(15) {
		args = append(args, "evictionLimits: {node: 1}")
	}
	return list(args...)
}

func high(w *world) string {
	args := []string{"thresholds: " + w.pick("{cpu: 15}", "{cpu: 25}", "{cpu: 20, memory: 20}")}
	if w.p(15) {
		args = append(args, "numberOfNodes: 1")
	}
	if w.p(15) {
		args = append(args, "evictableNamespaces: {exclude: [a]}")
	}
	if w.p(15) {
		args = append(args, "evictionModes: [OnlyThresholdingResources]")
	}
	return list(args...)
}

func apart(w *world, p *v1.Pod) {
	if w.p(40) {
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey:   w.pick(v1.LabelHostname, v1.LabelHostname, v1.LabelHostname, "zone"),
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": w.pick(p.Labels["app"], "w0", "w1")}},
		}}}}
	}
}

func affinities(w *world) string {
	return with(w, "nodeAffinityType: "+w.pick(
		"[requiredDuringSchedulingIgnoredDuringExecution]", "[requiredDuringSchedulingIgnoredDuringExecution]",
		"[preferredDuringSchedulingIgnoredDuringExecution]",
		"[requiredDuringSchedulingIgnoredDuringExecution, preferredDuringSchedulingIgnoredDuringExecution]"))
}

func onDisks(w *world, p *v1.Pod) {
	a := &v1.NodeAffinity{}
	disk := func() v1.NodeSelectorTerm {
		return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{
			Key: w.pick("disk", "disk", "zone"), Operator: v1.NodeSelectorOpIn, Values: []string{w.pick("ssd", "a"), w.pick("hdd", "b", "ssd")},
		}}}
	}
	prefers := w.p(50)
	if !prefers && w.p(60) {
		a.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{disk()}}
	}
	for prefers && (len(a.PreferredDuringSchedulingIgnoredDuringExecution) == 0 || w.p(30)) {
		a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
			v1.PreferredSchedulingTerm{Weight: int32(1 + w.IntN(3)), Preference: disk()})
	}
	if w.p(80) {
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: a}
	}
}

func taints(w *world) string {
	args := []string{}
	if w.p(30) {
		args = append(args, "includePreferNoSchedule: true")
	}
	if w.p(30) {
		args = append(args, w.pick("excludedTaints", "includedTaints")+": ["+w.pick("ded", "odd=v")+"]")
	}
	return list(append(args, selects(w))...)
}

func restarts(w *world) string {
	args := []string{fmt.Sprint("podRestartThreshold: ", 1+w.IntN(6))}
	if w.p(30) {
		args = append(args, "includingInitContainers: true")
	}
	if w.p(40) {
		args = append(args, "states: "+w.pick("[Running]", "[CrashLoopBackOff]"))
	}
	return with(w, list(args...))
}

func restarted(w *world, p *v1.Pod) {
	of := func() []v1.ContainerStatus {
		s := v1.ContainerStatus{Name: "c", RestartCount: int32(w.IntN(5))}
		if w.p(30) {
			s.State.Waiting = &v1.ContainerStateWaiting{Reason: w.pick("CrashLoopBackOff", "ImagePullBackOff")}
		}
		return []v1.ContainerStatus{s}
	}
	p.Status.ContainerStatuses, p.Status.InitContainerStatuses = of(), of()
	p.Status.Phase = v1.PodPhase(w.pick("Running", "Running", "Pending"))
}

func lifetime(w *world) string {
	var args []string
	if w.p(60) {
		args = append(args, fmt.Sprint("maxPodLifeTimeSeconds: ", 600*w.IntN(10)))
	}
	if w.p(50) || len(args) == 0 {
		args = append(args, "states: ["+w.pick("Running", "Succeeded", "Failed, Error", "CrashLoopBackOff", "Completed")+"]")
	}
	if w.p(30) {
		args = append(args, "includingInitContainers: true")
	}
	if w.p(20) {
		args = append(args, "exitCodes: [1, 137]")
	}
	if w.p(20) {
		args = append(args, "ownerKinds: {"+w.pick("include", "exclude")+": [Job]}")
	}
	if w.p(20) {
		args = append(args, "conditions: [{type: Ready, status: \""+w.pick("True", "False")+"\"}]")
	}
	return with(w, list(args...))
}

func failed(w *world) string {
	var args []string
	if w.p(50) {
		args = append(args, fmt.Sprint("minPodLifetimeSeconds: ", 600*w.IntN(10)))
	}
	if w.p(40) {
		args = append(args, "reasons: ["+w.pick("Evicted", "Error", "OutOfcpu", "ContainerStatusUnknown, Evicted")+"]")
	}
	if w.p(20) {
		args = append(args, "exitCodes: [1, 137]")
	}
	if w.p(30) {
		args = append(args, "includingInitContainers: true")
	}
	if w.p(20) {
		args = append(args, "excludeOwnerKinds: [Job]")
	}
	return with(w, list(args...))
}

// ended has pods that failed, ended or wait.
func ended(w *world, p *v1.Pod) {
	of := func() []v1.ContainerStatus {
		s := v1.ContainerStatus{Name: "c"}
		switch w.IntN(4) {
		case 0:
			s.State.Waiting = &v1.ContainerStateWaiting{Reason: w.pick("CrashLoopBackOff", "ImagePullBackOff", "CreateContainerConfigError")}
		case 1, 2:
			s.State.Terminated = &v1.ContainerStateTerminated{ExitCode: int32(w.IntN(2)) * 137, Reason: w.pick("Error", "Completed", "OOMKilled", "ContainerStatusUnknown")}
		}
		return []v1.ContainerStatus{s}
	}
	p.Status.ContainerStatuses, p.Status.InitContainerStatuses = of(), of()
	p.Status.Phase = v1.PodPhase(w.pick("Running", "Running", "Failed", "Failed", "Succeeded", "Pending"))
	if p.Status.Phase == v1.PodFailed {
		p.Status.Reason = w.pick("", "Evicted", "OutOfcpu", "NodeLost", "UnexpectedAdmissionError")
	}
}
