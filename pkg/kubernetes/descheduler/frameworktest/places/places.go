// Package places is the landing that the program uses, for tests that need to know where pods can run and
// are about something else. It is apart from package frameworktest, which the tests of landings use.
package places

import (
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/landing"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
)

// EndingMax is how long a landing takes to end: filter plugins of kube-scheduler look for it once in a second. A bubble of synctest is not
// over before that.
const EndingMax = 2 * time.Second

// New returns a function that follows snapshots, for Options.Landing of a descheduler. For the landing all pods are those of
// another scheduler, of which nothing is known: they go to the first node that will do. It is made when it is needed first, and
// ends with the test.
func New(t testing.TB) func(*framework.Snapshot) (framework.Landing, error) {
	made := sync.OnceValues(func() (*landing.Cluster, error) {
		client := fake.NewClientset()
		factory := informers.NewSharedInformerFactory(client, 0)
		checker, err := feasibility.New(t.Context(), client, factory, feasibility.Options{Workers: 1})
		if err != nil {
			return nil, err
		}
		factory.Start(t.Context().Done())
		t.Cleanup(factory.Shutdown)
		if err := checker.WaitForSync(t.Context()); err != nil {
			return nil, err
		}
		return landing.New(checker, landing.Options{})
	})
	return func(s *framework.Snapshot) (framework.Landing, error) {
		c, err := made()
		if err != nil {
			return nil, err
		}
		c.Sync(s)
		return c, nil
	}
}
