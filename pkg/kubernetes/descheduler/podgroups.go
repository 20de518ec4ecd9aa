package descheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// podGroupsMax is how long reading pod groups may take.
const podGroupsMax = 10 * time.Second

// withPodGroups adds the pod groups to a source of objects, where any pod names one. They are read for each picture, since few clusters serve
// them: an informer of a kind that comes and goes with a release would have to as well. What the account may not read, or is not understood, is
// left out: its pods are taken for such that are scheduled by themselves.
func withPodGroups(from func() (framework.Objects, error), client kubernetes.Interface, objects dynamic.Interface) func() (framework.Objects, error) {
	return func() (framework.Objects, error) {
		o, err := from()
		named := slices.ContainsFunc(o.Pods, func(p *v1.Pod) bool { return pods.PodGroupOf(p) != "" })
		if err != nil || objects == nil || !named {
			return o, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), podGroupsMax)
		defer cancel()
		served, err := pods.FindServedGroups(client.Discovery())
		if err != nil {
			return o, err
		}
		o.Composites = pods.Composites{}
		err = eachOf(ctx, objects, served.PodGroups, func(object *unstructured.Unstructured) {
			if group, err := pods.ReadPodGroup(object); err == nil {
				o.PodGroups = append(o.PodGroups, group)
			}
		})
		if err != nil {
			return o, err
		}
		return o, eachOf(ctx, objects, served.Composites, func(object *unstructured.Unstructured) {
			if group, err := pods.ReadCompositePodGroup(object); err == nil {
				o.Composites[group.Namespace+"/"+group.Name] = group
			}
		})
	}
}

// eachOf reads all objects of a resource, if it is served and may be read.
func eachOf(ctx context.Context, objects dynamic.Interface, resource schema.GroupVersionResource, do func(*unstructured.Unstructured)) error {
	if resource.Empty() {
		return nil
	}
	list, err := objects.Resource(resource).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading %s: %w", resource.Resource, err)
	}
	for i := range list.Items {
		do(&list.Items[i])
	}
	return nil
}
