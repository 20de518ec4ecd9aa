package shimtest_test

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// listenForSignals has package os/signal begin outside of all bubbles of testing/synctest: kube-scheduler listens for signals.
var listenForSignals = sync.OnceFunc(func() { signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR2) })

// silent takes events of kube-scheduler.
type silent struct{}

func (silent) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

func (s silent) WithLogger(klog.Logger) events.EventRecorderLogger { return s }

// startKubeScheduler has kube-scheduler, as it is by default, schedule the pods that are ours until the function that it
// returns is called.
func startKubeScheduler(t *testing.T, api *shimtest.API) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	config, err := latest.Default()
	assert.NilError(t, err)
	config.Profiles[0].SchedulerName = shimtest.SchedulerName
	factory := scheduler.NewInformerFactory(api, 0, nil)
	s, err := scheduler.New(ctx, api, factory, nil, func(string) events.EventRecorderLogger { return silent{} },
		scheduler.WithProfiles(config.Profiles...), scheduler.WithParallelism(1))
	assert.NilError(t, err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	assert.NilError(t, s.WaitForHandlersSync(ctx))
	ended := make(chan struct{})
	go func() {
		s.Run(ctx)
		close(ended)
	}()
	return func() {
		cancel()
		<-ended
		factory.Shutdown()
		time.Sleep(3 * time.Second) // in virtual time: some of its goroutines look for the end now and then
	}
}
