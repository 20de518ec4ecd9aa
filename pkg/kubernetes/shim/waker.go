package shim

import (
	"fmt"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
)

// wakePause is how long changes of volumes and devices are collected before pods that wait are
// sent again. It also gives the filters time to hear of them.
const wakePause = time.Second

// A waker has the core try pods again that wait and use volumes or devices, when one of those
// changed: the core remembers what was refused until a node changes, and no node did. However
// much changes within a pause, each such pod is sent once.
type waker struct {
	*Context
	changed chan struct{} // capacity one: something has changed
	changes atomic.Int64  // how often pods were sent again
}

func newWaker(c *Context) *waker { return &waker{Context: c, changed: make(chan struct{}, 1)} }

// note takes in that something changed. It never blocks.
func (w *waker) note() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// listen has the filters tell of changes, if they know of any.
func (w *waker) listen() error {
	if tells, ok := w.feasible.(interface{ Notify(changed func()) error }); ok {
		return tells.Notify(w.note)
	}
	return nil
}

// run sends pods again until the context ends.
func (w *waker) run() {
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-w.changed:
		}
		if !pause(w.ctx, wakePause) {
			return
		}
		select { // what came during the pause is counted in
		case <-w.changed:
		default:
		}
		w.wake()
	}
}

// wake sends all pods again that wait and use volumes or devices.
func (w *waker) wake() {
	w.changes.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.sortedTasks() {
		if t.told == asked && t.binding == nil && hasVolumesOrClaims(t.pod) {
			t.sent = nil
			w.sync(t)
		}
	}
}

// classOf names the class of a pod like which there is no other. It changes with volumes and
// devices, so that an ask which is sent again is asked about again.
func (w *waker) classOf(pod *v1.Pod) string {
	if !hasVolumesOrClaims(pod) {
		return ""
	}
	return fmt.Sprintf("pod %s, change %d", pod.UID, w.changes.Load())
}
