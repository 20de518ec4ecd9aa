package shimtest

import (
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// PodGroupResource is the version of pod groups that NewPodGroup makes.
var PodGroupResource = pods.PodGroupResources()[0]

// NewPodGroup is a gang of the namespace default of at least so many pods or, for zero, a group of pods that are scheduled
// one by one.
func NewPodGroup(name string, minCount int) *unstructured.Unstructured {
	return PodGroupIn(PodGroupResource, name, minCount)
}

// PodGroupIn is NewPodGroup in a version.
func PodGroupIn(resource schema.GroupVersionResource, name string, minCount int) *unstructured.Unstructured {
	policy := map[string]any{"basic": map[string]any{}}
	if minCount > 0 {
		policy = map[string]any{"gang": map[string]any{"minCount": int64(minCount)}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": resource.GroupVersion().String(), "kind": "PodGroup",
		"metadata": map[string]any{"namespace": metav1.NamespaceDefault, "name": name},
		"spec":     map[string]any{"schedulingPolicy": policy},
	}}
}

// NewCompositePodGroup is one of the namespace default of which so many groups start together or, for zero, each by itself.
func NewCompositePodGroup(name string, minGroupCount int) *unstructured.Unstructured {
	policy := map[string]any{"basic": map[string]any{}}
	if minGroupCount > 0 {
		policy = map[string]any{"gang": map[string]any{"minGroupCount": int64(minGroupCount)}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": pods.CompositePodGroupResource.GroupVersion().String(), "kind": "CompositePodGroup",
		"metadata": map[string]any{"namespace": metav1.NamespaceDefault, "name": name},
		"spec":     map[string]any{"schedulingPolicy": policy},
	}}
}

// newDynamic makes the client for pod groups, which has objects of its own. A version that is not served is not found; such
// requests are counted.
func (a *API) newDynamic() {
	kinds := map[schema.GroupVersionResource]string{}
	for _, resource := range pods.PodGroupResources() {
		kinds[resource] = "PodGroupList"
	}
	kinds[pods.CompositePodGroupResource] = "CompositePodGroupList"
	a.Dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)
	a.Dynamic.PrependReactor("patch", "podgroups", func(testing.Action) (bool, runtime.Object, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.requests["group"]++
		return false, nil, nil
	})
	a.Dynamic.PrependReactor("*", "*", func(action testing.Action) (bool, runtime.Object, error) {
		err := a.unknown(action.GetResource())
		return err != nil, nil, err
	})
	a.Dynamic.PrependWatchReactor("*", func(action testing.Action) (bool, watch.Interface, error) {
		if err := a.unknown(action.GetResource()); err != nil {
			return true, nil, err
		}
		w, err := a.Dynamic.Tracker().Watch(action.GetResource(), action.GetNamespace())
		a.mu.Lock()
		defer a.mu.Unlock()
		a.watches = append(a.watches, w)
		return true, w, err
	})
}

// unknown is the error of a request for a resource that is not served.
func (a *API) unknown(resource schema.GroupVersionResource) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.ContainsFunc(a.serves, func(r *metav1.APIResourceList) bool { return r.GroupVersion == resource.GroupVersion().String() }) {
		return nil
	}
	a.requests["unknown"]++
	return apierrors.NewNotFound(resource.GroupResource(), "")
}
