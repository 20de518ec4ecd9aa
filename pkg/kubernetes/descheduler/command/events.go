package command

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	v1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
)

const (
	// reporter is what events are from: the name that the descheduler of Kubernetes has.
	reporter = "sigs.k8s.io/descheduler"

	// writingMax is how long the process waits in the end until its events are written.
	writingMax = 10 * time.Second

	// noteMax is the most bytes that the API server takes in the note of an event.
	noteMax = 1024

	// writtenMax is how many events are remembered, written or not.
	writtenMax = 10_000
)

// An eventKey is one kind of event of one object. Events of the same key are written as one,
// which is counted up.
type eventKey struct {
	object types.UID
	kind   string // type, reason and action
}

// An eventWriter writes events as client-go does, in the background, and can wait until those
// that it was told to expect are written. It is safe for concurrent use.
type eventWriter struct {
	events.EventRecorder
	sink events.EventSink

	mu      sync.Mutex
	written map[eventKey]bool // false: not yet
	waiting int               // how many are not
	unknown int               // how many were not remembered, for want of room
	changed chan struct{}     // closed when none is left
}

// startEvents begins to write events. The function that it returns ends that, when all are
// written or that takes too long.
func startEvents(ctx context.Context, sink events.EventSink, log *zap.Logger) (events.EventRecorder, func(), error) {
	w := &eventWriter{sink: sink, written: map[eventKey]bool{}}
	broadcaster := events.NewBroadcaster(w)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // those of the last moment are written too
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		cancel()
		return nil, nil, fmt.Errorf("events: %w", err)
	}
	w.EventRecorder = broadcaster.NewRecorder(scheme.Scheme, reporter)
	return w, func() {
		if left := w.wait(writingMax); left > 0 {
			log.Warn("events were not all written", zap.Int("left", left), zap.Int("unknown", w.unknown))
		}
		cancel()
		broadcaster.Shutdown()
	}, nil
}

var _ descheduler.Expecting = (*eventWriter)(nil)

func keyOf(object types.UID, kind, reason, action string) eventKey {
	return eventKey{object, kind + "/" + reason + "/" + action}
}

// Expect implements descheduler.Expecting. Another event of a key that was written may be
// counted up only later, and is not waited for.
func (w *eventWriter) Expect(object types.UID, kind, reason, action string) {
	key := keyOf(object, kind, reason, action)
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.written[key]; known {
		return
	}
	if len(w.written) >= writtenMax && w.waiting < len(w.written) {
		w.forget()
	}
	if len(w.written) >= writtenMax { // the API server takes none
		w.unknown++
		return
	}
	w.written[key] = false
	w.waiting++
}

// forget makes room: all that is written.
func (w *eventWriter) forget() {
	for key, written := range w.written {
		if written {
			delete(w.written, key)
		}
	}
}

// done notes that a try to write an event has ended. A try that will be repeated is not told
// apart: what the API server did not take in the end is lost.
func (w *eventWriter) done(e *v1.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := keyOf(e.Regarding.UID, e.Type, e.Reason, e.Action)
	if written, asked := w.written[key]; asked && !written {
		w.written[key] = true
		w.waiting--
	}
	if w.waiting == 0 && w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// wait waits until all events are written, but not for ever, and returns how many are left.
func (w *eventWriter) wait(most time.Duration) int {
	w.mu.Lock()
	if w.waiting == 0 {
		w.mu.Unlock()
		return 0
	}
	none := make(chan struct{})
	w.changed = none
	w.mu.Unlock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-none:
	case <-timer.C:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting
}

// Create implements events.EventSink.
func (w *eventWriter) Create(ctx context.Context, e *v1.Event) (*v1.Event, error) {
	defer w.done(e)
	return w.sink.Create(ctx, e)
}

// Update implements events.EventSink.
func (w *eventWriter) Update(ctx context.Context, e *v1.Event) (*v1.Event, error) {
	defer w.done(e)
	return w.sink.Update(ctx, e)
}

// Patch implements events.EventSink. An event that is not there yet is being created still.
func (w *eventWriter) Patch(ctx context.Context, e *v1.Event, data []byte) (*v1.Event, error) {
	patched, err := w.sink.Patch(ctx, e, data)
	if !apierrors.IsNotFound(err) {
		w.done(e)
	}
	return patched, err
}

// tellRefused writes an event of the pod in which this program runs. Outside of one there
// is nothing to write it of.
func tellRefused(recorder events.EventRecorder, namespace string) func(error) {
	name := os.Getenv("POD_NAME")
	if name == "" {
		return func(error) {}
	}
	pod := &corev1.ObjectReference{
		Kind: "Pod", APIVersion: "v1", Namespace: namespace, Name: name,
		UID: types.UID(os.Getenv("POD_UID")), // without it, kubectl describe does not find the event
	}
	refused := 0
	return func(err error) {
		refused++
		lines := strings.Split(err.Error(), "\n")
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		note := "the policy before stays in use: " + strings.Join(lines, "; ")
		if len(note) > noteMax {
			note = strings.ToValidUTF8(note[:noteMax], "") // between two characters
		}
		// Events that differ in their note only are counted as one, which keeps the first note.
		recorder.Eventf(pod, nil, corev1.EventTypeWarning, "PolicyRefused", fmt.Sprintf("Reload%d", refused), "%s", note)
	}
}
