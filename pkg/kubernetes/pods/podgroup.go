package pods

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	batch "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// A PodGroup is what is used of a pod group, in whichever version the API server serves it.
type PodGroup struct {
	Namespace, Name string
	// MinCount is how many pods start together, at least 1; 0 is a group whose pods are scheduled one by one.
	MinCount int32

	UID             types.UID
	ResourceVersion string
	Generation      int64
	Created         time.Time        // in whole seconds
	Priority        *int32           // that of all pods of it; nil if it says none
	MayPreempt      *bool            // whether others are evicted for its pods; nil if each pod says it
	EndsAsAWhole    bool             // its pods are evicted together or not at all
	Require         string           // the label of nodes of which all its pods run in one value; empty for none
	Prefer          string           // the label of nodes of which those that start together run in few values; empty for none
	Balanced        bool             // and as evenly divided among them as can be
	Each            string           // the label of nodes of which the pods of each subgroup run in one value; empty for none
	Split           bool             // or in few, if none has room for all of them
	SubgroupSize    int              // how many completion indices make a subgroup; zero where pods name theirs
	SubgroupLeast   int              // how many pods of a subgroup start together, and MinCount counts subgroups; zero where it counts pods
	EndBelow        time.Duration    // what runs ends when it has been below its minimum for so long; zero is never
	Parent          string           // the composite pod group of its namespace that it is in; empty for none
	Odd             string           // what is not understood and taken for the safe side; empty for nothing
	Others          []any            // the other conditions, as they are
	Condition       metav1.Condition // that says whether it has started, of the type of its version; without a status if it has none

	ResourceClaims []schedulingv1beta1.PodGroupResourceClaim // of devices, that its pods share
}

// AnnotationEndBelow of a pod group is after how long its pods end if it has started and fewer run than its minimum, such as 60s: their
// controller makes others, which start anew as a whole. Without it they run on.
const AnnotationEndBelow = domain + "end-below-minimum-after"

// AnnotationPrefer of a pod group is the label of nodes of which its pods prefer few values. Kubernetes has no field for that.
const AnnotationPrefer = domain + "preferred-topology"

// AnnotationBalanced of a pod group says, with "true", that its pods are as evenly divided as can be where they run in several values of a label.
const AnnotationBalanced = domain + "balanced-topology"

// Subgroups of a pod group, for which Kubernetes has no field. Pods say in which one they are with the label LabelSubgroup, or, where the
// group has the annotation AnnotationSubgroupSize, with their completion index: those of so many that follow each other are one subgroup.
// AnnotationSubgroups of the group is the label of nodes of which all pods of a subgroup run in one value, and AnnotationSubgroupsPrefer, without that, the one
// of which they do if there is room for them in one, or else in few.
const (
	AnnotationSubgroups       = domain + "subgroup-topology"
	AnnotationSubgroupsPrefer = domain + "preferred-subgroup-topology"
	AnnotationSubgroupSize    = domain + "subgroup-size"
	LabelSubgroup             = domain + "subgroup"
	// AnnotationSubgroupMinCount of a pod group is how many pods of a subgroup start together or none does. The minCount of the group counts
	// subgroups then, such as replicas.
	AnnotationSubgroupMinCount = domain + "subgroup-min-count"
)

// podGroupVersions are the versions that are read, the preferred one first: those of Kubernetes 1.37, and that of 1.36.
var podGroupVersions = []string{"v1beta1", "v1alpha3", "v1alpha2"}

// PodGroupResources are the resources that ReadPodGroup understands, the preferred one first.
func PodGroupResources() []schema.GroupVersionResource {
	list := make([]schema.GroupVersionResource, len(podGroupVersions))
	for i, version := range podGroupVersions {
		list[i] = schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: version, Resource: "podgroups"}
	}
	return list
}

// ReadPodGroup reads a pod group of one of the versions of PodGroupResources. What is used of it is at the same place in
// all of them, but for what ends together. The error says what is not understood: its pods must not start one by one then.
func ReadPodGroup(object *unstructured.Unstructured) (PodGroup, error) {
	return groupKind{"PodGroup", "pod group", podGroupVersions, "minCount"}.read(object)
}

// A groupKind is a kind of objects that say how pods start together.
type groupKind struct {
	kind     string
	noun     string
	versions []string
	count    string // the field of the policy gang that says how many
}

func (k groupKind) read(object *unstructured.Unstructured) (PodGroup, error) {
	group := HeadOfPodGroup(object)
	wrong := func(format string, args ...any) (PodGroup, error) {
		return PodGroup{}, fmt.Errorf("%s %s/%s: %s", k.noun, group.Namespace, group.Name, fmt.Sprintf(format, args...))
	}
	if of := object.GroupVersionKind(); of.Kind != k.kind || !slices.Contains(k.versions, of.Version) {
		return wrong("it is a %s of %s, and a %s of a version in %v is expected", of.Kind, of.GroupVersion(), k.kind, k.versions)
	}
	if err := group.readTerms(object); err != nil {
		return wrong("%v", err)
	}
	policy, _, err := unstructured.NestedMap(object.Object, "spec", "schedulingPolicy")
	if err != nil {
		return wrong("%v", err)
	}
	_, basic := policy["basic"]
	_, gang := policy["gang"]
	switch {
	case basic == gang:
		return wrong("spec.schedulingPolicy must have one of basic and gang")
	case basic:
		return group, nil
	}
	count, _, err := unstructured.NestedInt64(policy, "gang", k.count)
	if err != nil {
		return wrong("spec.schedulingPolicy: %v", err)
	}
	if count < 1 || count > math.MaxInt32 {
		return wrong("spec.schedulingPolicy.gang.%s is %d, and 1 to %d is expected", k.count, count, math.MaxInt32)
	}
	group.MinCount = int32(count)
	return group, nil
}

// conditionTypes are the types of the condition that says whether a group has started, by version.
var conditionTypes = map[string]string{"v1beta1": "PodGroupInitiallyScheduled", "v1alpha3": "PodGroupInitiallyScheduled", "v1alpha2": "PodGroupScheduled"}

// PodGroupCondition is the type of the condition that says whether a group has started, in a version of PodGroupResources.
func PodGroupCondition(version string) string { return conditionTypes[version] }

// readTerms reads what there is of a group beside its policy. Fields that a version does not have are absent.
func (g *PodGroup) readTerms(object *unstructured.Unstructured) error {
	spec, _, err := unstructured.NestedMap(object.Object, "spec")
	if err != nil {
		return err
	}
	priority, stated, err := unstructured.NestedInt64(spec, "priority")
	if err != nil || priority < math.MinInt32 || priority > math.MaxInt32 {
		return fmt.Errorf("spec.priority is %v, and a number of 32 bits is expected", spec["priority"])
	}
	if stated {
		of := int32(priority)
		g.Priority = &of
	}
	if policy, _, _ := unstructured.NestedString(spec, "preemptionPolicy"); policy != "" {
		may := policy == string(v1.PreemptLowerPriority)
		g.MayPreempt = &may
	}
	g.Parent, _, _ = unstructured.NestedString(spec, "parentCompositePodGroupName")
	g.readUnit(spec["disruptionMode"])
	g.readAnnotations(object.GetAnnotations())
	var claims struct {
		ResourceClaims []schedulingv1beta1.PodGroupResourceClaim `json:"resourceClaims"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"resourceClaims": spec["resourceClaims"]}, &claims); err != nil {
		return fmt.Errorf("spec.resourceClaims: %w", err)
	}
	g.ResourceClaims = claims.ResourceClaims
	topology, _, err := unstructured.NestedSlice(spec, "schedulingConstraints", "topology")
	if err != nil || len(topology) > 1 {
		return fmt.Errorf("spec.schedulingConstraints.topology has %d items, and at most one is expected", len(topology))
	}
	if len(topology) == 1 {
		item, _ := topology[0].(map[string]any)
		if g.Require, _, _ = unstructured.NestedString(item, "key"); g.Require == "" {
			return errors.New("spec.schedulingConstraints.topology names no key")
		}
	}
	return nil
}

// HeadOfPodGroup is what is known of a pod group that is not understood: which one it is, and its condition.
func HeadOfPodGroup(object *unstructured.Unstructured) PodGroup {
	g := PodGroup{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), Generation: object.GetGeneration(),
		ResourceVersion: object.GetResourceVersion(), Created: object.GetCreationTimestamp().Time,
	}
	g.readConditions(object)
	return g
}

// readUnit reads what ends together: a word in v1alpha2, and one of two members in the others. What is not known ends as a whole, which
// harms nothing.
func (g *PodGroup) readUnit(mode any) {
	switch is := mode.(type) {
	case nil:
		return
	case string:
		if is == "Pod" || is == "" {
			return
		}
		g.EndsAsAWhole = true
		if is == "PodGroup" {
			return
		}
	case map[string]any:
		_, single := is["single"]
		_, all := is["all"]
		if g.EndsAsAWhole = !single; single != all {
			return
		}
		g.EndsAsAWhole = true
	}
	g.EndsAsAWhole, g.Odd = true, fmt.Sprintf("its disruption mode %v is not known: it ends as a whole", mode)
}

// readAnnotations reads what Kubernetes has no fields for. What is not understood is left out.
func (g *PodGroup) readAnnotations(of map[string]string) {
	label := func(name string) string {
		key := of[name]
		if wrong := validation.IsQualifiedName(key); key != "" && len(wrong) > 0 {
			g.leaveOut(name, "is not the key of a label", wrong[0])
			return ""
		}
		return key
	}
	g.Prefer, g.Each, g.Balanced = label(AnnotationPrefer), label(AnnotationSubgroups), of[AnnotationBalanced] == "true"
	if prefers := label(AnnotationSubgroupsPrefer); g.Each == "" && prefers != "" {
		g.Each, g.Split = prefers, true
	}
	if says := of[AnnotationBalanced]; says != "" && says != "true" && says != "false" {
		g.leaveOut(AnnotationBalanced, "is not true or false", strconv.Quote(says))
	}
	count := func(name string) int {
		if of[name] == "" {
			return 0
		}
		count, err := strconv.ParseInt(of[name], 10, 32)
		if err != nil || count < 1 {
			g.leaveOut(name, "is not a number of pods", fmt.Sprintf("%q, and 1 to %d is expected", of[name], math.MaxInt32))
			return 0
		}
		return int(count)
	}
	if says := of[AnnotationEndBelow]; says != "" {
		after, err := time.ParseDuration(says)
		if g.EndBelow = after.Truncate(time.Second); err != nil || after < time.Second || after > math.MaxInt32*time.Second {
			g.EndBelow = 0
			g.leaveOut(AnnotationEndBelow, "is not a time of at least a second", strconv.Quote(says))
		}
	}
	g.SubgroupSize, g.SubgroupLeast = count(AnnotationSubgroupSize), count(AnnotationSubgroupMinCount)
}

// leaveOut says that an annotation is not understood.
func (g *PodGroup) leaveOut(annotation, is, why string) {
	if g.Odd != "" {
		g.Odd += "; "
	}
	g.Odd += fmt.Sprintf("its annotation %s %s, and is left out: %s", annotation, is, why)
}

// SubgroupOf is the subgroup of a pod of the group, by its completion index and its label LabelSubgroup; empty for none.
func (g PodGroup) SubgroupOf(index, label string) string {
	if g.SubgroupSize == 0 {
		return label
	}
	number, err := strconv.Atoi(index)
	if err != nil {
		return ""
	}
	return strconv.Itoa(number / g.SubgroupSize)
}

// readConditions reads the condition that says whether a group has started, and keeps the others as they are.
func (g *PodGroup) readConditions(object *unstructured.Unstructured) {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, item := range list {
		is, _ := item.(map[string]any)
		if is["type"] != PodGroupCondition(object.GroupVersionKind().Version) {
			g.Others = append(g.Others, item)
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(is, &g.Condition); err != nil {
			g.Condition = metav1.Condition{}
		}
	}
}

// Tags are what a member says of its group. All are said, also the empty ones, since a group may be made again as another one.
func (g PodGroup) Tags() map[string]string {
	tags := map[string]string{
		TagQuorum: g.Namespace + "/" + g.Name, TagQuorumLeast: strconv.Itoa(int(g.MinCount)),
		TagQuorumPriority: "", TagQuorumPreempts: "", TagQuorumUnit: "", TagQuorumRequire: g.Require, TagQuorumPrefer: g.Prefer, TagQuorumEach: g.Each,
		TagQuorumSubgroupLeast: "", TagQuorumEndBelow: "", TagQuorumBalanced: "", TagQuorumSplit: "",
	}
	if g.Split {
		tags[TagQuorumSplit] = "true"
	}
	if g.Balanced {
		tags[TagQuorumBalanced] = "true"
	}
	if g.EndBelow > 0 {
		tags[TagQuorumEndBelow] = strconv.Itoa(int(g.EndBelow.Seconds()))
	}
	if g.SubgroupLeast > 0 {
		tags[TagQuorumSubgroupLeast] = strconv.Itoa(g.SubgroupLeast)
	}
	if g.Priority != nil {
		tags[TagQuorumPriority] = strconv.Itoa(int(*g.Priority))
	}
	if g.MayPreempt != nil {
		tags[TagQuorumPreempts] = strconv.FormatBool(*g.MayPreempt)
	}
	if g.EndsAsAWhole {
		tags[TagQuorumUnit] = UnitAll
	}
	return tags
}

// IndexOf is which of the pods of an indexed job a pod is; empty for none.
func IndexOf(pod *v1.Pod) string { return pod.Annotations[batch.JobCompletionIndexAnnotation] }

// SucceededAt is when the last container of a pod ended that has succeeded; zero where the kubelet does not say.
func SucceededAt(pod *v1.Pod) (last time.Time) {
	for i := range pod.Status.ContainerStatuses {
		if ended := pod.Status.ContainerStatuses[i].State.Terminated; ended != nil && ended.FinishedAt.After(last) {
			last = ended.FinishedAt.Time
		}
	}
	return last
}

// PodGroupOf is the pod group that a pod names, or nothing. A pod says so in the same way where either version is served.
func PodGroupOf(pod *v1.Pod) string {
	if group := pod.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
		return *group.PodGroupName
	}
	return ""
}
