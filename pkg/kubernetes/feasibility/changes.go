package feasibility

import (
	"k8s.io/client-go/tools/cache"
)

// Notify has a function called after something changes that decides where pods with volumes or
// devices may run and is neither a node nor a pod. It must not block. It is called before the
// factory is started; plugins may hear of a change a moment later than the function.
func (c *Checker) Notify(changed func()) error {
	core, storage, devices := c.factory.Core().V1(), c.factory.Storage().V1(), c.factory.Resource().V1()
	for _, informer := range []cache.SharedIndexInformer{
		core.PersistentVolumeClaims().Informer(), core.PersistentVolumes().Informer(),
		storage.StorageClasses().Informer(), storage.CSINodes().Informer(), storage.CSIStorageCapacities().Informer(),
		devices.ResourceClaims().Informer(), devices.ResourceSlices().Informer(), devices.DeviceClasses().Informer(),
	} {
		if err := c.watch(informer, cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { changed() },
			UpdateFunc: func(any, any) { changed() },
			DeleteFunc: func(any) { changed() },
		}); err != nil {
			return err
		}
	}
	return nil
}
