package shim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

	"go.uber.org/zap"
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

const (
	plainMax    = 512 << 10        // bytes of queues that are kept as they are; more are packed
	remindPause = 10 * time.Minute // until what is wrong is told again
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

// InUse is the queues that were in use last in the scheduler that followed these ConfigMaps; nil if
// none were. They are kept in a ConfigMap of their own.
func (m ConfigMaps) InUse(ctx context.Context, client kubernetes.Interface) (*string, error) {
	if len(m.Names) == 0 {
		return nil, nil //nolint:nilnil // as documented
	}
	kept, err := client.CoreV1().ConfigMaps(m.Namespace).Get(ctx, m.keptIn(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // as documented
	}
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s: %w", m.Namespace, m.keptIn(), err)
	}
	c, err := ReadConfiguration(kept)
	if err != nil {
		return nil, err
	}
	return &c.Queues, nil
}

// keptIn is the name of the ConfigMap in which the queues are kept that are in use.
func (m ConfigMaps) keptIn() string { return m.Names[len(m.Names)-1] + "-in-use" }

// keep writes the queues that are in use.
func (m ConfigMaps) keep(ctx context.Context, client kubernetes.Interface, queues string) error {
	kept := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.keptIn()}}
	if len(queues) <= plainMax {
		kept.Data = map[string]string{defaultGroup + ".yaml": queues}
	} else {
		kept.BinaryData = map[string][]byte{defaultGroup + ".yaml.gz": pack(queues)}
	}
	maps := client.CoreV1().ConfigMaps(m.Namespace)
	_, err := maps.Update(ctx, kept, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = maps.Create(ctx, kept, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("ConfigMap %s/%s: %w", m.Namespace, m.keptIn(), err)
	}
	return nil
}

// Follow has a context take over each change of ConfigMaps from now on, until Stop. There is
// one informer for each name, so that no others need to be readable. The queues that are in use are kept in a ConfigMap,
// for a start at which those of the ConfigMaps are wrong.
func (c *Context) Follow(m ConfigMaps) error {
	if len(m.Names) == 0 {
		return nil
	}
	f := &follower{
		Context: c, of: m, maps: map[string]*v1.ConfigMap{}, used: c.options.Config, queue: newQueue(c.options),
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
	f.queue.Add("")
	c.run(func() { work(c, f.queue, f.apply) })
	context.AfterFunc(c.ctx, f.queue.ShutDown)
	return nil
}

// A follower applies the last state of some ConfigMaps. Informers only note what changed, as
// the update of a configuration waits for the core.
type follower struct {
	*Context
	of    ConfigMaps
	maps  map[string]*v1.ConfigMap // by name, guarded by the lock of the context
	used  Configuration            // the last one that was tried
	kept  *string                  // the queues that were kept last; nil are none
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
	for _, name := range f.of.Names {
		if one := known[name]; one != nil {
			found = append(found, one)
		}
	}
	var about *v1.ConfigMap
	if len(found) > 0 {
		about = found[len(found)-1]
	}
	if next, problem := ReadConfiguration(found...); !reflect.DeepEqual(next, f.used) {
		if err := f.Configure(next, problem, about); errors.Is(err, scheduler.ErrNotAnswering) {
			return err
		}
		f.used = next
	} else {
		f.tellRefusal(about)
	}
	f.keep()
	return nil
}

// keep writes the queues that are in use if that was not done, and has the follower come back where something is left to
// do: what is wrong is told until it is mended.
func (f *follower) keep() {
	queues, refusal := f.inUse.get()
	if f.kept == nil || *f.kept != queues {
		ctx, cancel := context.WithTimeout(f.ctx, f.options.BindTimeout)
		defer cancel()
		if err := f.of.keep(ctx, f.options.Client, queues); err != nil {
			f.log.Warn("the configuration in use is not kept for the next start", zap.Error(err))
		} else {
			f.kept = &queues
		}
	}
	if refusal != nil || f.kept == nil || *f.kept != queues {
		f.queue.AddAfter("", remindPause)
	}
}

// inUse is the queues that the core has, and what is wrong with newer ones. Its methods may be called from any goroutine.
type inUse struct {
	mu      sync.Mutex
	queues  string
	refusal error
}

func (u *inUse) get() (queues string, refusal error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.queues, u.refusal
}

// use notes queues that the core has taken.
func (c *Context) use(queues string) {
	c.inUse.mu.Lock()
	defer c.inUse.mu.Unlock()
	c.inUse.queues, c.inUse.refusal = queues, nil
	c.options.Metrics.wrong.Set(0)
}

// refuse notes what is wrong with a configuration.
func (c *Context) refuse(err error) {
	c.inUse.mu.Lock()
	defer c.inUse.mu.Unlock()
	c.inUse.refusal = err
	c.options.Metrics.wrong.Set(1)
}

// tellRefusal says what is wrong with the configuration, as long as it is.
func (c *Context) tellRefusal(about *v1.ConfigMap) {
	if _, err := c.inUse.get(); err != nil {
		c.log.Warn("configuration refused", zap.Error(err))
		c.events.about(about, v1.EventTypeWarning, reasonRefused, err.Error())
	}
}
