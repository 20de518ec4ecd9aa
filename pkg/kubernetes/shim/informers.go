package shim

import (
	apps "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	scheduling "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// NewFactory makes the informers of a context. They keep nothing of objects that only
// matters to what writes them.
func NewFactory(client kubernetes.Interface) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(withoutManagedFields))
}

func withoutManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

// listen has a context hear of everything. What is returned says whether all that there was
// at the beginning has been heard of.
func (c *Context) listen(factory informers.SharedInformerFactory) ([]cache.InformerSynced, error) {
	var listed []cache.InformerSynced
	add := func(informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) error {
		registration, err := informer.AddEventHandler(handler)
		if err == nil {
			listed = append(listed, registration.HasSynced)
		}
		return err
	}
	for _, one := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{factory.Core().V1().Namespaces().Informer(), handlerOf[*v1.Namespace](c.refers.AddNamespace, c.refers.UpdateNamespace, c.refers.DeleteNamespace)},
		{factory.Scheduling().V1().PriorityClasses().Informer(), handlerOf[*scheduling.PriorityClass](c.refers.AddPriorityClass, c.refers.UpdatePriorityClass, c.refers.DeletePriorityClass)},
		{factory.Apps().V1().DaemonSets().Informer(), handlerOf[*apps.DaemonSet](c.refers.AddDaemonSet, c.refers.UpdateDaemonSet, c.refers.DeleteDaemonSet)},
		{factory.Policy().V1().PodDisruptionBudgets().Informer(), handlerOf[*policy.PodDisruptionBudget](c.budgets.AddPodDisruptionBudget, c.budgets.UpdatePodDisruptionBudget, c.budgets.DeletePodDisruptionBudget)},
		{factory.Core().V1().Nodes().Informer(), handlerOf[*v1.Node](c.AddNode, c.UpdateNode, c.DeleteNode)},
		{factory.Core().V1().Pods().Informer(), handlerOf[*v1.Pod](c.AddPod, c.UpdatePod, c.DeletePod)},
	} {
		if err := add(one.informer, one.handler); err != nil {
			return nil, err
		}
	}
	if _, err := c.groups.source.look(); err != nil {
		return nil, err
	}
	listed = append(listed, c.groups.source.listed()...)
	c.run(func() { c.groups.source.run(c.ctx) })
	return listed, nil
}

// handlerOf makes a handler of three methods.
func handlerOf[T any](add func(T), update func(old, object T), remove func(T)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { add(object.(T)) },
		UpdateFunc: func(old, object any) { update(old.(T), object.(T)) },
		DeleteFunc: func(object any) {
			if known, ok := pods.LastKnown(object).(T); ok {
				remove(known)
			}
		},
	}
}
