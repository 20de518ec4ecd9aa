package shim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// ConfigMaps are the names of the ConfigMaps of a namespace that make up a configuration. A
// later one goes before an earlier one; one that does not exist is empty.
type ConfigMaps struct {
	Namespace string
	Names     []string
}

// Read reads the configuration once, before a scheduler starts. An error of the API server
// is returned as it is; what is wrong in the ConfigMaps is in problem.
func (m ConfigMaps) Read(ctx context.Context, client kubernetes.Interface) (c Configuration, problem, err error) {
	var found []*v1.ConfigMap
	for _, name := range m.Names {
		one, err := client.CoreV1().ConfigMaps(m.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return Configuration{}, nil, fmt.Errorf("ConfigMap %s/%s: %w", m.Namespace, name, err)
		}
		if err == nil {
			found = append(found, one)
		}
	}
	c, problem = ReadConfiguration(found...)
	return c, problem, nil
}

// Follow has a context take over each change of ConfigMaps from now on, until Stop. There is
// one informer for each name, so that no others need to be readable.
func (c *Context) Follow(m ConfigMaps) error {
	f := &follower{
		Context: c, names: m.Names, maps: map[string]*v1.ConfigMap{}, used: c.options.Config, queue: newQueue(c.options),
	}
	var listed []cache.InformerSynced
	for _, name := range m.Names {
		factory := informers.NewSharedInformerFactoryWithOptions(c.options.Client, 0, informers.WithNamespace(m.Namespace),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) {
				o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
			}))
		registration, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(handlerOf[*v1.ConfigMap](
			f.set, func(_, one *v1.ConfigMap) { f.set(one) }, f.remove))
		if err != nil {
			return fmt.Errorf("ConfigMap %s/%s: %w", m.Namespace, name, err)
		}
		listed = append(listed, registration.HasSynced)
		factory.Start(c.ctx.Done())
		c.run(factory.Shutdown)
	}
	if !cache.WaitForCacheSync(c.ctx.Done(), listed...) {
		return context.Cause(c.ctx)
	}
	c.run(func() { work(c, f.queue, f.apply) })
	context.AfterFunc(c.ctx, f.queue.ShutDown)
	return nil
}

// A follower applies the last state of some ConfigMaps. Informers only note what changed, as
// the update of a configuration waits for the core.
type follower struct {
	*Context
	names []string
	maps  map[string]*v1.ConfigMap // by name, guarded by the lock of the context
	used  Configuration            // the last one that was tried
	queue workqueue.TypedRateLimitingInterface[string]
}

func (f *follower) set(one *v1.ConfigMap) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.maps[one.Name] = one
	f.queue.Add("")
}

func (f *follower) remove(one *v1.ConfigMap) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.maps, one.Name)
	f.queue.Add("")
}

// apply tries the configuration as it is now. Only a core that does not answer is a reason
// to try it again.
func (f *follower) apply(string) error {
	f.mu.RLock()
	known := maps.Clone(f.maps)
	f.mu.RUnlock()
	var found []*v1.ConfigMap
	for _, name := range f.names {
		if one := known[name]; one != nil {
			found = append(found, one)
		}
	}
	next, problem := ReadConfiguration(found...)
	if reflect.DeepEqual(next, f.used) {
		return nil
	}
	var about *v1.ConfigMap
	if len(found) > 0 {
		about = found[len(found)-1]
	}
	if err := f.Configure(next, problem, about); errors.Is(err, scheduler.ErrNotAnswering) {
		return err
	}
	f.used = next
	return nil
}
