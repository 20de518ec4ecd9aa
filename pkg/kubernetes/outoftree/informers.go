package outoftree

import (
	"fmt"
	"maps"
	"slices"

	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// resources are where events come from, but for nodes and pods.
var resources = map[fwk.EventResource]func(informers.SharedInformerFactory) cache.SharedIndexInformer{
	fwk.PersistentVolume: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().PersistentVolumes().Informer()
	},
	fwk.PersistentVolumeClaim: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().PersistentVolumeClaims().Informer()
	},
	fwk.StorageClass: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Storage().V1().StorageClasses().Informer()
	},
	fwk.CSINode: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Storage().V1().CSINodes().Informer()
	},
	fwk.CSIDriver: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Storage().V1().CSIDrivers().Informer()
	},
	fwk.CSIStorageCapacity: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Storage().V1().CSIStorageCapacities().Informer()
	},
	fwk.VolumeAttachment: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Storage().V1().VolumeAttachments().Informer()
	},
	fwk.ResourceClaim: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Resource().V1().ResourceClaims().Informer()
	},
	fwk.ResourceSlice: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Resource().V1().ResourceSlices().Informer()
	},
	fwk.DeviceClass: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Resource().V1().DeviceClasses().Informer()
	},
}

// devices are the resources that an API server may not serve.
var devices = []fwk.EventResource{fwk.ResourceClaim, fwk.ResourceSlice, fwk.DeviceClass}

// Watch has a function called with the Name of each pod that is to be tried again, from any goroutine. The informers are those of a
// factory that is started after it. Events of devices are not heard of without devices.
func (s *Set) Watch(factory informers.SharedInformerFactory, withoutDevices bool, stop <-chan struct{}, changed func(name string)) error {
	if s == nil {
		return nil
	}
	s.Notify(changed)
	wanted := map[fwk.EventResource]bool{}
	for _, events := range s.waker.wants {
		for _, e := range events {
			wanted[e.Event.Resource] = true
		}
	}
	if wanted[fwk.WildCard] {
		delete(wanted, fwk.WildCard)
		for name := range resources {
			wanted[name] = true
		}
	}
	listen := func(informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) error {
		_, err := informer.AddEventHandler(handler)
		return err
	}
	if err := listen(factory.Core().V1().Pods().Informer(), s.ofPods()); err != nil {
		return err
	}
	if err := listen(factory.Core().V1().Nodes().Informer(), s.ofNodes()); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		informer := resources[name]
		switch {
		case name == fwk.Pod || name == fwk.Node || withoutDevices && slices.Contains(devices, name):
		case informer != nil:
			if err := listen(informer(factory), s.ofResource(name)); err != nil {
				return err
			}
		default:
			if err := s.watchOther(name, stop); err != nil {
				return err
			}
		}
	}
	return nil
}

// watchOther hears of a resource that Kubernetes does not have, by the name RESOURCE.VERSION.GROUP.
func (s *Set) watchOther(name fwk.EventResource, stop <-chan struct{}) error {
	resource, _ := schema.ParseResourceArg(string(name))
	if resource == nil || s.options.Dynamic == nil {
		s.log.Warn("events of a resource are not heard of that a plugin registered; pods that wait are tried again after a minute",
			zap.String("resource", string(name)))
		return nil
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(s.options.Dynamic, 0)
	if _, err := factory.ForResource(*resource).Informer().AddEventHandler(s.ofResource(name)); err != nil {
		return fmt.Errorf("informer of %s: %w", name, err)
	}
	factory.Start(stop)
	return nil
}

// ofResource tells of a resource whose events are its comings, changes and ends.
func (s *Set) ofResource(name fwk.EventResource) cache.ResourceEventHandler {
	event := func(action fwk.ActionType) fwk.ClusterEvent {
		return fwk.ClusterEvent{Resource: name, ActionType: action}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { s.Happened(event(fwk.Add), nil, now) },
		UpdateFunc: func(before, now any) { s.Happened(event(fwk.Update), before, now) },
		DeleteFunc: func(last any) { s.Happened(event(fwk.Delete), pods.LastKnown(last), nil) },
	}
}

func (s *Set) ofNodes() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(now any) { s.Happened(fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}, nil, now) },
		UpdateFunc: func(before, now any) {
			for _, e := range framework.NodeSchedulingPropertiesChange(now.(*v1.Node), before.(*v1.Node)) {
				s.Happened(e, before, now)
			}
		},
		DeleteFunc: func(last any) {
			s.Happened(fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Delete}, pods.LastKnown(last), nil)
		},
	}
}

func (s *Set) ofPods() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { s.podChanged(nil, now.(*v1.Pod)) },
		UpdateFunc: func(before, now any) { s.podChanged(before.(*v1.Pod), now.(*v1.Pod)) },
		DeleteFunc: func(last any) {
			if pod, ok := pods.LastKnown(last).(*v1.Pod); ok {
				s.podEnded(pod)
			}
		},
	}
}

func (s *Set) podChanged(before, now *v1.Pod) {
	added := before == nil
	switch {
	case pods.IsTerminal(now):
		if before != nil && !pods.IsTerminal(before) {
			s.podEnded(before)
		}
		return
	case !added && before.UID != now.UID:
		s.podEnded(before)
		added = true
	case !added && before.ResourceVersion == now.ResourceVersion:
		return
	}
	switch {
	case pods.IsBound(now) && (added || !pods.IsBound(before)):
		s.Forget(now.UID)
		s.Happened(framework.EventAssignedPodAdd, nil, now)
	case added:
		s.Happened(framework.EventUnscheduledPodAdd, nil, now)
	default:
		for _, e := range framework.PodSchedulingPropertiesChange(now, before, false) {
			s.Happened(e, before, now)
		}
	}
}

func (s *Set) podEnded(pod *v1.Pod) {
	s.Forget(pod.UID)
	event := framework.EventUnscheduledPodDelete
	if pods.IsBound(pod) {
		event = framework.EventAssignedPodDelete
	}
	s.Happened(event, pod, nil)
}
