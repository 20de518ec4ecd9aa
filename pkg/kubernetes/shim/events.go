package shim

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// Reasons of events.
const (
	reasonScheduled        = "Scheduled"
	reasonFailedScheduling = "FailedScheduling"
	reasonGangTimeout      = "ResourceReservationTimeout"
	reasonFailedBinding    = "FailedBinding"
	reasonNominated        = "Nominated"
	reasonAwaitsPermit     = "AwaitsPermit"
	reasonPreempted        = "Preempted"
	reasonApplicationTaken = "ApplicationTaken"
	reasonUnreadable       = "UnreadableAnnotation"
	reasonConfigured       = "ConfigurationUpdated"
	reasonRefused          = "ConfigurationRefused"
	reasonOtherPriority    = "OtherPriority"
	reasonGroupBelow       = "BelowMinimum"
	reasonGroupWhole       = "MinimumRuns"

	actionScheduling  = "Scheduling"
	actionConfiguring = "Configuring"
)

// noteMax is the most bytes that the API server takes in the note of an event or in the
// message of a condition.
const noteMax = 1024

// An eventWriter tells people of what happens to pods. It is bounded in every way: what
// waits to be written, how many are written in a second, and how often the same is said of
// a pod. Beyond that, events are dropped and counted. Scheduling never waits for it.
type eventWriter struct {
	recorder EventRecorder // nil records nothing
	waiting  chan Event
	dropped  atomic.Int64

	mu   sync.Mutex
	said map[saidOf]time.Time
}

// An Event is something that people read about an object of the cluster.
type Event struct {
	About  runtime.Object
	Type   string // Normal or Warning
	Reason string // one word
	Action string
	Note   string
}

// An EventRecorder takes events. It should not block.
type EventRecorder interface{ Record(event Event) }

// Events has a recorder of client-go write events to the API server.
func Events(recorder events.EventRecorder) EventRecorder { return clientEvents{recorder} }

type clientEvents struct{ events.EventRecorder }

// Record passes an event on.
func (r clientEvents) Record(e Event) {
	r.Eventf(e.About, nil, e.Type, e.Reason, e.Action, "%s", e.Note)
}

// saidOf is what was said of what.
type saidOf struct{ uid, reason, note string }

func newEventWriter(recorder EventRecorder) *eventWriter {
	return &eventWriter{recorder: recorder, waiting: make(chan Event, eventsMax), said: map[saidOf]time.Time{}}
}

// tell says that something went as it should.
func (w *eventWriter) tell(pod *v1.Pod, reason, note string) {
	w.put(string(pod.UID), Event{pod, v1.EventTypeNormal, reason, actionScheduling, note})
}

// warn says that something is in the way.
func (w *eventWriter) warn(pod *v1.Pod, reason, note string) {
	w.put(string(pod.UID), Event{pod, v1.EventTypeWarning, reason, actionScheduling, note})
}

// warnAbout says that something is wrong with an object that is no pod.
func (w *eventWriter) warnAbout(object runtime.Object, uid, reason, note string) {
	w.put(uid, Event{object, v1.EventTypeWarning, reason, actionConfiguring, note})
}

// put takes an event unless the same was said a moment ago, or too much waits.
func (w *eventWriter) put(uid string, e Event) {
	if w.recorder == nil {
		return
	}
	e.Note = shortened(e.Note)
	now, same := time.Now(), saidOf{uid, e.Reason, e.Note}
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, ok := w.said[same]; ok && now.Sub(at) < eventPause {
		return
	}
	select {
	case w.waiting <- e:
	default:
		w.dropped.Add(1)
		return
	}
	if len(w.said) >= eventsMax {
		clear(w.said) // then something is said twice, which is better than memory without bound
	}
	w.said[same] = now
}

// run writes events until the context ends, a bounded number in a second.
func (w *eventWriter) run(ctx context.Context) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for left := eventsPerSecond; ; {
		if left == 0 {
			select {
			case <-ctx.Done():
				return
			case <-second.C:
				left = eventsPerSecond
			}
		}
		select {
		case <-ctx.Done():
			return
		case e := <-w.waiting:
			w.recorder.Record(e)
			left--
		case <-second.C:
			left = eventsPerSecond
		}
	}
}

// shortened is a text that the API server takes.
func shortened(text string) string {
	if len(text) <= noteMax {
		return text
	}
	const ending = "..."
	end := noteMax - len(ending)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ending
}
