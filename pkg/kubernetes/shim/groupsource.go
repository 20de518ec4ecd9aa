package shim

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// How long it takes to look again at what the API server serves: the pause doubles while the answer stays the same. A request
// for a resource that is no longer served has it looked earlier, but no sooner than after lookFirst.
const (
	lookFirst = 10 * time.Second
	lookMax   = 5 * time.Minute
)

// A groupSource hears of pod groups, and of composite ones, in the versions that the API server serves, and looks again and again which those
// are. It belongs to one goroutine at a time: that of the start, then that of run.
type groupSource struct {
	groups  *podGroups
	broken  chan struct{} // has a token when a resource was asked for that is not served
	mu      sync.Mutex    // guards what follows
	reading pods.ServedGroups

	podGroups, composites heard
}

// heard is an informer. Nothing is none.
type heard struct {
	synced cache.InformerSynced
	cancel func()
	ended  chan struct{}
}

// end ends an informer, and returns when it tells of nothing any more.
func (h *heard) end() {
	if h.cancel != nil {
		h.cancel()
		<-h.ended
	}
	*h = heard{}
}

func newGroupSource(groups *podGroups) *groupSource {
	return &groupSource{groups: groups, broken: make(chan struct{}, 1)}
}

// resource is that of pod groups that is read, in the version that is served; empty while none is.
func (s *groupSource) resource() schema.GroupVersionResource {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reading.PodGroups
}

// listed are what reports whether everything that was there has been told.
func (s *groupSource) listed() (list []cache.InformerSynced) {
	for _, h := range []*heard{&s.podGroups, &s.composites} {
		if h.synced != nil {
			list = append(list, h.synced)
		}
	}
	return list
}

// look finds out what is served, and hears of groups in that version from then on. It reports whether that is another one.
func (s *groupSource) look() (changed bool, err error) {
	found, err := pods.FindServedGroups(s.groups.options.Client.Discovery())
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	former := s.reading
	s.reading = found
	s.mu.Unlock()
	if found.Composites != former.Composites {
		s.composites.end()
		s.groups.beginComposites()
		if err := s.hear(&s.composites, found.Composites, handlerOf[*unstructured.Unstructured](s.groups.addComposite, s.groups.updateComposite, s.groups.deleteComposite)); err != nil {
			return true, err
		}
	}
	if found.PodGroups == former.PodGroups {
		return found != former, nil
	}
	s.podGroups.end()
	s.groups.begin(found.PodGroups.Version)
	if found.PodGroups.Empty() {
		s.groups.log.Warn("pod groups are no longer served; pods that name one wait", zap.String("former", former.PodGroups.GroupVersion().String()))
		return true, nil
	}
	s.groups.log.Info("pod groups are read", zap.String("version", found.PodGroups.GroupVersion().String()))
	return true, s.hear(&s.podGroups, found.PodGroups, handlerOf[*unstructured.Unstructured](s.groups.Add, s.groups.Update, s.groups.Delete))
}

// hear has the groups hear of a resource; of none, where none is served.
func (s *groupSource) hear(into *heard, resource schema.GroupVersionResource, handler cache.ResourceEventHandler) error {
	if resource.Empty() {
		return nil
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(s.groups.options.Dynamic, resource, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	if err := informer.SetTransform(withoutManagedFields); err != nil {
		return err
	}
	if err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		if !apierrors.IsNotFound(err) {
			cache.DefaultWatchErrorHandler(ctx, r, err)
			return
		}
		select { // the next look tells of it
		case s.broken <- struct{}{}:
		default:
		}
	}); err != nil {
		return err
	}
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(s.groups.ctx)
	*into = heard{registration.HasSynced, cancel, make(chan struct{})}
	ended := into.ended
	s.groups.run(func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	})
	return nil
}

// run looks again until the context ends.
func (s *groupSource) run(ctx context.Context) {
	for next := lookFirst; pause(ctx, lookFirst) && s.pauseOrBroken(ctx, next-lookFirst); {
		changed, err := s.look()
		if err != nil {
			s.groups.log.Warn("what is served is not known", zap.Error(err))
		}
		if next = min(2*next, lookMax); changed {
			next = lookFirst
		}
	}
}

// pauseOrBroken waits as pause does, or until a resource was asked for that is not served.
func (s *groupSource) pauseOrBroken(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-s.broken:
	}
	return true
}
