package shim

import (
	"slices"
	"sync"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
)

// Pods that wait are tried again a moment after what they refer to has changed, so that many
// changes are one look at all pods, and so that the plugins know of the change by then. That
// look may send the core every pod that waits for a device, so it is not taken more often
// than every second.
const (
	changesDelay = 100 * time.Millisecond
	changesPause = time.Second
)

// changes are the names of what has changed since the last look.
type changes struct {
	mu    sync.Mutex
	names map[string]bool
	some  chan struct{} // capacity one: there are names
}

func newChanges() *changes {
	return &changes{names: map[string]bool{}, some: make(chan struct{}, 1)}
}

func (s *changes) note(name string) {
	s.mu.Lock()
	s.names[name] = true
	s.mu.Unlock()
	select {
	case s.some <- struct{}{}:
	default:
	}
}

func (s *changes) take() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.names
	s.names = map[string]bool{}
	return taken
}

// anything is the name of a change that may matter to every pod that waits.
const anything = "anything"

// retryOnChange has the core try asks again when volumes, devices and claims come or change,
// and when the labels of namespaces or the classes of pods do. A message about an ask, which
// says nothing new, has the core ask about it again.
func (c *Context) retryOnChange() error {
	refers, _ := c.feasible.Feasibility.(claimReferences)
	if refers != nil {
		if err := refers.Watch(c.changed.note); err != nil {
			return err
		}
	}
	c.run(func() {
		for {
			select {
			case <-c.changed.some:
			case <-c.ctx.Done():
				return
			}
			if !pause(c.ctx, changesDelay) {
				return
			}
			if sent := c.tryAgain(refers, c.changed.take()); sent && !pause(c.ctx, changesPause) {
				return
			}
		}
	})
	return nil
}

// tryAgain sends the asks again that refer to what has changed, and reports whether there
// were any.
func (c *Context) tryAgain(refers claimReferences, changed map[string]bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.started {
		return false // all is sent then
	}
	c.handBacks.look()
	if changed[feasibility.AnyDevice] {
		c.recountDevices()
	}
	concerns := func(t *task) bool {
		return changed[anything] || changed[feasibility.AnyClass] || changed[tiedClass+c.ties.classOf(t.key())] || changed[againAfterPause+t.key()] || refers != nil &&
			slices.ContainsFunc(refers.References(t.pod), func(name string) bool { return changed[name] })
	}
	found := false
	for _, t := range c.sortedTasks() {
		if t.told == asked && !t.foreign() && concerns(t) && !c.pauses(t) {
			found = true
			t.sent = nil
			c.sync(t)
			c.status.again(t.key())
		}
	}
	return found
}
