package feasibility

import (
	"fmt"
	"iter"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/outoftree"
)

// AnyDevice is the name of a change of devices for Watch: other ones are there, or one is free.
const AnyDevice = "devices"

// What pods refer to beside nodes and devices: all volumes, or one claim of volumes or devices.
const (
	anyVolume    = "volumes"
	volumeClaim  = "volume claim "
	devicesClaim = "device claim "
)

// References names what the answers about a pod depend on beside nodes and pods, in the
// words that Watch uses. A pod without volumes, devices and extended resources
// refers to nothing, but for itself where there are plugins that are none of kube-scheduler's.
func (c *Checker) References(pod *v1.Pod) []string {
	var names []string
	if c.outOfTree != nil {
		names = append(names, outoftree.Name(pod.UID))
	}
	claims := len(names)
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		switch {
		case volume.PersistentVolumeClaim != nil:
			names = append(names, volumeClaim+pod.Namespace+"/"+volume.PersistentVolumeClaim.ClaimName)
		case volume.Ephemeral != nil:
			names = append(names, volumeClaim+pod.Namespace+"/"+pod.Name+"-"+volume.Name)
		}
	}
	if len(names) > claims {
		names = append(names, anyVolume)
	}
	for name := range claimsNamed(pod) {
		names = append(names, devicesClaim+pod.Namespace+"/"+name)
	}
	if len(pod.Spec.ResourceClaims) > 0 || asksForExtended(pod) {
		names = append(names, AnyDevice)
	}
	return names
}

// claimsNamed visits the names of the claims of devices that a pod refers to. That of one that is made from a template comes later, in
// the status.
func claimsNamed(pod *v1.Pod) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range pod.Spec.ResourceClaims {
			name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
			if err == nil && name != nil && !yield(*name) {
				return
			}
		}
	}
}

// asksForExtended says whether a pod requests what is neither of every node nor of Kubernetes:
// devices may serve it.
func asksForExtended(pod *v1.Pod) bool { return requestsAny(pod, helper.IsExtendedResourceName) }

func requestsAny(pod *v1.Pod, is func(v1.ResourceName) bool) bool {
	for _, containers := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			for name := range containers[i].Resources.Requests {
				if is(name) {
					return true
				}
			}
		}
	}
	return false
}

// Watch has a function called with the name of what changes so that pods which refer to it
// may run where they could not, and with AnyClass. It is called for all there is at first, too. It must not
// block.
func (c *Checker) Watch(changed func(name string)) error {
	c.named.watch(changed)
	if err := c.outOfTree.Watch(c.factory, c.noDevices, c.ended, changed); err != nil {
		return fmt.Errorf("events of plugins: %w", err)
	}
	ofVolumes := func() { changed(anyVolume) }
	for _, one := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{c.factory.Core().V1().PersistentVolumeClaims().Informer(), cache.ResourceEventHandlerFuncs{
			AddFunc:    func(now any) { changed(volumeClaim + keyOf(now)) },
			UpdateFunc: func(_, now any) { changed(volumeClaim + keyOf(now)) },
		}},
		{c.factory.Core().V1().PersistentVolumes().Informer(), cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { ofVolumes() },
			UpdateFunc: func(before, now any) {
				if isMoreUsable(before.(*v1.PersistentVolume), now.(*v1.PersistentVolume)) {
					ofVolumes()
				}
			},
		}},
		{c.factory.Storage().V1().StorageClasses().Informer(), onAnyChange(ofVolumes)},
		{c.factory.Storage().V1().CSINodes().Informer(), onAnyChange(ofVolumes)},
		{c.factory.Storage().V1().CSIStorageCapacities().Informer(), onAnyChange(ofVolumes)},
	} {
		if err := c.watch(one.informer, one.handler); err != nil {
			return err
		}
	}
	if c.noDevices {
		return nil
	}
	return c.watchDevices(changed)
}

// watchDevices listens to the caches of the plugin, which know of a change before they tell
// it. The end of devices is one too, since they count on nodes.
func (c *Checker) watchDevices(changed func(name string)) error {
	if err := c.watch(c.factory.Resource().V1().DeviceClasses().Informer(), onAnyEvent(func() { changed(AnyDevice) })); err != nil {
		return err
	}
	if _, err := c.slices.AddEventHandler(onAnyEvent(func() { changed(AnyDevice) })); err != nil {
		return fmt.Errorf("resource slices: %w", err)
	}
	c.claims.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(now any) { changed(devicesClaim + keyOf(now)) },
		UpdateFunc: func(before, now any) {
			changed(devicesClaim + keyOf(now))
			if holds(before) && (!holds(now) || keptBy(now) < keptBy(before)) {
				changed(AnyDevice) // it is free, or is freed by the end of fewer pods
			}
		},
		DeleteFunc: func(last any) {
			if holds(last) {
				changed(AnyDevice)
			}
		},
	})
	return nil
}

// onAnyChange leaves out ends: what is gone lets no pod run.
func onAnyChange(changed func()) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }}
}

func keyOf(object any) string {
	key, _ := cache.MetaNamespaceKeyFunc(object) // what informers hand out has one
	return key
}

// isMoreUsable leaves out the changes of a volume that make it that of a claim: there is one
// with each binding.
func isMoreUsable(before, now *v1.PersistentVolume) bool {
	return now.Status.Phase == v1.VolumeAvailable && before.Status.Phase != v1.VolumeAvailable ||
		!equality.Semantic.DeepEqual(before.Spec.NodeAffinity, now.Spec.NodeAffinity)
}

// holds says whether a claim holds devices. What is not known any more held some.
func holds(object any) bool {
	claim, ok := object.(*resourcev1.ResourceClaim)
	return !ok || claim.Status.Allocation != nil
}

// keptBy is for how many a claim is reserved.
func keptBy(object any) int {
	claim, ok := object.(*resourcev1.ResourceClaim)
	if !ok {
		return 0
	}
	return len(claim.Status.ReservedFor)
}
