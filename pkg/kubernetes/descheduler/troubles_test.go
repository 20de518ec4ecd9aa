package descheduler

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// TestControllersThatFailAreTroubles until they have run for as long as they had waited.
func TestControllersThatFailAreTroubles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := live(t)
		w.options.Interval = time.Hour
		w.policy.Profiles = []policy.Profile{profileOf("p", framework.Controller, "All")}
		starts := 0
		w.plugin("All").run = func(ctx context.Context, _ framework.Handle) error {
			if starts++; starts < 3 { // it is started after 0, 1 and 3 seconds
				return errors.New("no luck\nat all")
			}
			<-ctx.Done()
			return nil
		}
		stop := w.run()
		failed := []string{"controller p/All failed: no luck; at all"}
		for _, c := range []struct {
			after time.Duration
			want  []string
		}{{500 * time.Millisecond, failed}, {2 * time.Second, failed}, {2 * time.Second, failed}, {time.Second, nil}} {
			time.Sleep(c.after)
			synctest.Wait()
			assert.DeepEqual(t, w.d.Troubles(), c.want)
		}
		assert.Equal(t, starts, 3)
		assert.NilError(t, stop())
	})
}

// TestControllersOfAnOldPolicyAreNoTrouble once another one is in use.
func TestControllersOfAnOldPolicyAreNoTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := live(t)
		w.options.Interval = time.Hour
		w.policy.Profiles = []policy.Profile{profileOf("p", framework.Controller, "All")}
		w.plugin("All").run = func(context.Context, framework.Handle) error { return errors.New("no luck") }
		stop := w.run()
		synctest.Wait()
		assert.Equal(t, len(w.d.Troubles()), 1)
		assert.NilError(t, w.d.Reload(t.Context(), &policy.Policy{NodeSelector: w.policy.NodeSelector, Profiles: []policy.Profile{profileOf("p", framework.Deschedule, "All")}}))
		synctest.Wait()
		assert.Equal(t, len(w.d.Troubles()), 0)
		assert.NilError(t, stop())
	})
}

// TestClusterThatCannotBeRead: with an interval the descheduler tries on and says what it waits for. One
// cycle ends with an error that names the kinds.
func TestClusterThatCannotBeRead(t *testing.T) {
	for name, interval := range map[string]time.Duration{"one cycle": 0, "cycles": time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _ := live(t)
				client := fake.NewClientset()
				var open atomic.Bool
				client.PrependReactor("list", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
					return !open.Load(), nil, apierrors.NewForbidden(v1.Resource("pods"), "", errors.New("no role"))
				})
				w.options.Interval, w.options.Objects = interval, nil
				w.options.Informers = informers.NewSharedInformerFactory(client, 0)
				// The usual one waits by a clock of the process, which another test may have set to another time.
				assert.NilError(t, w.options.Informers.Core().V1().Pods().Informer().SetWatchErrorHandler(func(*cache.Reflector, error) {}))
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				d := w.build()
				go func() { ended <- d.Run(ctx) }()
				time.Sleep((2 * time.Minute) - time.Second)
				synctest.Wait()
				assert.DeepEqual(t, d.Troubles(), []string{"the objects of the cluster have not all been read yet"})
				if interval == 0 {
					err := <-ended
					assert.ErrorIs(t, err, ErrUnread)
					assert.ErrorContains(t, err, "v1.Pod")
				} else {
					time.Sleep(10 * (2 * time.Minute))
					synctest.Wait()
					open.Store(true)
					time.Sleep(2 * time.Minute) // an informer tries again after less than one
					synctest.Wait()
					assert.Equal(t, len(d.Troubles()), 0)
				}
				cancel()
				if interval > 0 {
					assert.NilError(t, <-ended)
				}
				w.options.Informers.Shutdown()
			})
		})
	}
}
