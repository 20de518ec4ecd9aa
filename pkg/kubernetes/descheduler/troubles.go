package descheduler

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Troubles says what keeps the descheduler from working: objects of the cluster that were not read yet,
// controllers that failed, and plugins that have not answered in time. It is empty where nothing does.
func (d *Descheduler) Troubles() []string {
	return append(d.troubles.list(d.options.Clock.Now()), d.overdue.texts()...)
}

// troubles are those that are not a matter of a call. It is safe for concurrent use.
type troubles struct {
	mu     sync.Mutex
	unread bool // informers are being filled
	failed map[string]failedController
}

// A failedController failed and waits to be started again, or was.
type failedController struct {
	err   error
	wait  time.Duration // until it was to be started again
	again time.Time     // when it was; zero: it waits
}

func (t *troubles) reading(unread bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unread = unread
}

func (t *troubles) controllerFailed(name string, err error, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = map[string]failedController{}
	}
	t.failed[name] = failedController{err: err, wait: wait}
}

// startedAgain notes when a controller that failed was started again. It is well when it has run for as
// long as it had waited.
func (t *troubles) startedAgain(name string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f, ok := t.failed[name]; ok {
		f.again = now
		t.failed[name] = f
	}
}

// controllerEnded forgets a controller that was asked to end.
func (t *troubles) controllerEnded(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.failed, name)
}

func (t *troubles) list(now time.Time) (all []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unread {
		all = append(all, "the objects of the cluster have not all been read yet")
	}
	for _, name := range slices.Sorted(maps.Keys(t.failed)) {
		f := t.failed[name]
		if f.again.IsZero() || now.Sub(f.again) < f.wait {
			all = append(all, fmt.Sprintf("controller %s failed: %s", name, oneLine(f.err)))
		}
	}
	return all
}
