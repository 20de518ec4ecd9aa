package descheduler

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// podGroupsMax is how long reading pod groups may take.
const podGroupsMax = 10 * time.Second

// podGroups are the pod groups in a cluster. They are read when a picture is made, where any pod names one: few clusters serve them, and an
// informer of a kind that comes and goes with a release would have to as well. As pictures are, they may be sharedMax old: a controller takes many.
// What the account may not read, or is not understood, is left out: its pods are taken for such that are scheduled by themselves.
type podGroups struct {
	client  kubernetes.Interface
	objects dynamic.Interface
	clock   clock.PassiveClock

	mu         sync.Mutex
	at         time.Time // when they were read; zero is not yet
	groups     []pods.PodGroup
	composites pods.Composites
}

// with adds them to a source of objects.
func (g *podGroups) with(from func() (framework.Objects, error)) func() (framework.Objects, error) {
	return func() (framework.Objects, error) {
		o, err := from()
		named := slices.ContainsFunc(o.Pods, func(p *v1.Pod) bool { return pods.PodGroupOf(p) != "" })
		if err != nil || !named {
			return o, err
		}
		o.PodGroups, o.Composites, err = g.read()
		return o, err
	}
}

func (g *podGroups) read() ([]pods.PodGroup, pods.Composites, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.at.IsZero() && g.clock.Since(g.at) < sharedMax {
		return g.groups, g.composites, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), podGroupsMax)
	defer cancel()
	served, err := pods.FindServedGroups(g.client.Discovery())
	if err != nil {
		return nil, nil, err
	}
	var groups []pods.PodGroup
	composites := pods.Composites{}
	err = eachOf(ctx, g.objects, served.PodGroups, func(object *unstructured.Unstructured) {
		if group, err := pods.ReadPodGroup(object); err == nil {
			groups = append(groups, group)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	err = eachOf(ctx, g.objects, served.Composites, func(object *unstructured.Unstructured) {
		if group, err := pods.ReadCompositePodGroup(object); err == nil {
			composites[group.Namespace+"/"+group.Name] = group
		}
	})
	if err != nil {
		return nil, nil, err
	}
	g.at, g.groups, g.composites = g.clock.Now(), groups, composites
	return groups, composites, nil
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
