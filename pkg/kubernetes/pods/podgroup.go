package pods

import (
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// A PodGroup is what is used of a pod group, in whichever version the API server serves it.
type PodGroup struct {
	Namespace, Name string
	// MinCount is how many pods start together, at least 1; 0 is a group whose pods are scheduled one by one.
	MinCount int32
}

// podGroupVersions are the versions that are read, the preferred one first: that of Kubernetes 1.37, and that of 1.36.
var podGroupVersions = []string{"v1beta1", "v1alpha2"}

// PodGroupResources are the resources that ReadPodGroup understands, the preferred one first.
func PodGroupResources() []schema.GroupVersionResource {
	list := make([]schema.GroupVersionResource, len(podGroupVersions))
	for i, version := range podGroupVersions {
		list[i] = schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: version, Resource: "podgroups"}
	}
	return list
}

// ServedPodGroups is the resource in which pod groups are to be read: of those that the API server serves and this program
// understands, the preferred one. It is empty where there is none. Versions that the server does not name are not asked for.
func ServedPodGroups(of discovery.DiscoveryInterface) (schema.GroupVersionResource, error) {
	all, err := of.ServerGroups()
	if err != nil {
		return schema.GroupVersionResource{}, fmt.Errorf("whether there are pod groups: %w", err)
	}
	for _, resource := range PodGroupResources() {
		version := resource.GroupVersion().String()
		if !slices.ContainsFunc(all.Groups, func(g metav1.APIGroup) bool {
			return slices.ContainsFunc(g.Versions, func(v metav1.GroupVersionForDiscovery) bool { return v.GroupVersion == version })
		}) {
			continue
		}
		list, err := of.ServerResourcesForGroupVersion(version)
		if apierrors.IsNotFound(err) {
			continue // it ceased to be served just now
		}
		if err != nil {
			return schema.GroupVersionResource{}, fmt.Errorf("whether there are pod groups: %w", err)
		}
		if slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource.Resource }) {
			return resource, nil
		}
	}
	return schema.GroupVersionResource{}, nil
}

// ReadPodGroup reads a pod group of one of the versions of PodGroupResources. What is used of it is at the same place in
// all of them. The error says what is not understood: its pods must not start one by one then.
func ReadPodGroup(object *unstructured.Unstructured) (PodGroup, error) {
	group := PodGroup{Namespace: object.GetNamespace(), Name: object.GetName()}
	wrong := func(format string, args ...any) (PodGroup, error) {
		return PodGroup{}, fmt.Errorf("pod group %s/%s: %s", group.Namespace, group.Name, fmt.Sprintf(format, args...))
	}
	if of := object.GroupVersionKind(); of.Kind != "PodGroup" || !slices.Contains(podGroupVersions, of.Version) {
		return wrong("it is a %s of %s, and a PodGroup of a version in %v is expected", of.Kind, of.GroupVersion(), podGroupVersions)
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
	count, _, err := unstructured.NestedInt64(policy, "gang", "minCount")
	if err != nil {
		return wrong("spec.schedulingPolicy: %v", err)
	}
	if count < 1 || count > math.MaxInt32 {
		return wrong("spec.schedulingPolicy.gang.minCount is %d, and 1 to %d is expected", count, math.MaxInt32)
	}
	group.MinCount = int32(count)
	return group, nil
}

// PodGroupOf is the pod group that a pod names, or nothing. A pod says so in the same way where either version is served.
func PodGroupOf(pod *v1.Pod) string {
	if group := pod.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
		return *group.PodGroupName
	}
	return ""
}
