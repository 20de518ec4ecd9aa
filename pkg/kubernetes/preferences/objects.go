package preferences

import (
	"maps"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
)

// objects are what selects pods that have no constraints of their own, and the labels of namespaces.
type objects struct {
	changes      atomic.Uint64 // of what selects pods
	namespaces   corelisters.NamespaceLister
	services     corelisters.ServiceLister
	controllers  corelisters.ReplicationControllerLister
	replicaSets  appslisters.ReplicaSetLister
	statefulSets appslisters.StatefulSetLister
}

// newObjects follows the objects of a factory. Relabelled is called when a namespace gets other labels.
func newObjects(factory informers.SharedInformerFactory, relabelled func()) (*objects, error) {
	core, apps := factory.Core().V1(), factory.Apps().V1()
	o := &objects{
		namespaces:   core.Namespaces().Lister(),
		services:     core.Services().Lister(),
		controllers:  core.ReplicationControllers().Lister(),
		replicaSets:  apps.ReplicaSets().Lister(),
		statefulSets: apps.StatefulSets().Lister(),
	}
	changed := func() { o.changes.Add(1) }
	for _, of := range []struct {
		informer cache.SharedIndexInformer
		same     func(before, now any) bool
		changed  func()
	}{
		{core.Namespaces().Informer(), sameLabels, relabelled},
		{core.Services().Informer(), sameSelector, changed},
		{core.ReplicationControllers().Informer(), sameSelector, changed},
		{apps.ReplicaSets().Informer(), sameSelector, changed},
		{apps.StatefulSets().Informer(), sameSelector, changed},
	} {
		if _, err := of.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { of.changed() },
			DeleteFunc: func(any) { of.changed() },
			UpdateFunc: func(before, now any) {
				if !of.same(before, now) {
					of.changed()
				}
			},
		}); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// seen counts the changes that are known of what selects pods.
func (o *objects) seen() uint64 { return o.changes.Load() }

// selectorOf is what the services and the controller of a pod select; it is empty where there are none.
func (o *objects) selectorOf(pod *v1.Pod) labels.Selector {
	return helper.DefaultSelector(pod, o.services, o.controllers, o.replicaSets, o.statefulSets)
}

// labelsOf is the labels of a namespace, none if it is not known.
func (o *objects) labelsOf(namespace string) labels.Set {
	if known, err := o.namespaces.Get(namespace); err == nil {
		return known.Labels
	}
	return nil
}

func sameLabels(before, now any) bool {
	return maps.Equal(before.(*v1.Namespace).Labels, now.(*v1.Namespace).Labels)
}

func sameSelector(before, now any) bool {
	return equality.Semantic.DeepEqual(selectorIn(before), selectorIn(now))
}

// selectorIn is how an object selects pods.
func selectorIn(object any) any {
	switch of := object.(type) {
	case *v1.Service:
		return of.Spec.Selector
	case *v1.ReplicationController:
		return of.Spec.Selector
	case *appsv1.ReplicaSet:
		return of.Spec.Selector
	case *appsv1.StatefulSet:
		return of.Spec.Selector
	}
	return nil
}
