package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
)

// record records an event of a pod.
func record(to events.EventRecorder, name string) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name)}}
	to.(descheduler.Expecting).Expect(pod.UID, v1.EventTypeNormal, "Moved", "Descheduled")
	to.Eventf(pod, nil, v1.EventTypeNormal, "Moved", "Descheduled", "from a node")
}

// slowSink is an API server that takes its time.
type slowSink struct {
	events.EventSink
	takes time.Duration
	mu    sync.Mutex
	names []string // of pods
}

func (s *slowSink) Create(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.names, e.Regarding.Name) {
		return nil, apierrors.NewAlreadyExists(eventsv1.Resource("events"), e.Regarding.Name)
	}
	s.names = append(s.names, e.Regarding.Name)
	return e, nil
}

func (s *slowSink) Patch(_ context.Context, e *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	if !slices.Contains(s.written(), e.Regarding.Name) {
		return nil, apierrors.NewNotFound(eventsv1.Resource("events"), e.Regarding.Name)
	}
	return e, nil
}

// written are the pods of which there is an event, sorted.
func (s *slowSink) written() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.names))
}

// Events of the last moment are written before the process ends, although the API server is
// slow. The same event again is counted up, and not waited for.
func TestEventsAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &slowSink{takes: 3 * time.Second}
		ctx, cancel := context.WithCancel(t.Context())
		recorder, end, err := startEvents(ctx, sink, zap.NewNop())
		assert.NilError(t, err)
		synctest.Wait() // for the look at events that are there: it would lock the sink for as long as that takes
		for _, name := range []string{"a", "b", "b", "b"} {
			record(recorder, name)
		}
		cancel() // it was asked to stop
		start := time.Now()
		end()
		assert.Equal(t, time.Since(start), 3*time.Second)
		assert.DeepEqual(t, sink.written(), []string{"a", "b"})
	})
}

// TestEventThatIsCountedUpBeforeItIsThere is waited for until it is there.
func TestEventThatIsCountedUpBeforeItIsThere(t *testing.T) {
	w := &eventWriter{sink: &slowSink{}, written: map[eventKey]bool{}}
	w.Expect("uid-a", v1.EventTypeNormal, "Moved", "Descheduled")
	e := &eventsv1.Event{Type: v1.EventTypeNormal, Reason: "Moved", Action: "Descheduled", Regarding: v1.ObjectReference{Name: "a", UID: "uid-a"}}
	_, err := w.Patch(t.Context(), e, nil)
	assert.Assert(t, apierrors.IsNotFound(err))
	assert.Equal(t, w.waiting, 1)
	_, err = w.Create(t.Context(), e)
	assert.NilError(t, err)
	assert.Equal(t, w.waiting, 0)
}

// An API server that does not answer is not waited for without an end.
func TestEventsThatAreNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, log := observer.New(zap.WarnLevel)
		recorder, end, err := startEvents(t.Context(), &slowSink{takes: time.Hour}, zap.New(core))
		assert.NilError(t, err)
		synctest.Wait()
		record(recorder, "a")
		start := time.Now()
		end()
		assert.Equal(t, time.Since(start), 10*time.Second)
		assert.Equal(t, log.Len(), 1)
	})
}

// What is remembered is bounded: what is written is forgotten.
func TestWrittenEventsAreForgotten(t *testing.T) {
	w := &eventWriter{written: map[eventKey]bool{}}
	for i := range 10 * 10_000 {
		object := types.UID(fmt.Sprint(i))
		w.Expect(object, "Normal", "Moved", "Descheduled")
		w.written[keyOf(object, "Normal", "Moved", "Descheduled")] = true
		w.waiting--
		assert.Assert(t, len(w.written) <= 10_000)
	}
	assert.Equal(t, w.wait(0), 0)
}

// What the API server does not take is bounded too, and told in the end.
func TestEventsThatAreNeverWritten(t *testing.T) {
	w := &eventWriter{written: map[eventKey]bool{}}
	for i := range 10 * 10_000 {
		w.Expect(types.UID(fmt.Sprint(i)), "Normal", "Moved", "Descheduled")
	}
	assert.Equal(t, len(w.written), 10_000)
	assert.Equal(t, w.unknown, 9*10_000)
	assert.Equal(t, w.wait(0), 10_000)
}

// regarding is a recorder that keeps what the last event is of, and the actions and notes of all.
type regarding struct {
	of   runtime.Object
	said []string
}

func (r *regarding) Eventf(of, _ runtime.Object, _, _, action, note string, args ...any) {
	r.of = of
	r.said = append(r.said, action+": "+fmt.Sprintf(note, args...))
}

// TestPolicyRefusedNamesThePod: kubectl describe asks for events by the UID.
func TestPolicyRefusedNamesThePod(t *testing.T) {
	t.Setenv("POD_NAME", "descheduler-1")
	t.Setenv("POD_UID", "7d2")
	var recorder regarding
	tellRefused(&recorder, "narwhal")(errors.New("wrong"))
	assert.DeepEqual(t, recorder.of, &v1.ObjectReference{
		Kind: "Pod", APIVersion: "v1", Namespace: "narwhal", Name: "descheduler-1", UID: "7d2",
	})
}

// TestPoliciesThatAreRefusedAreToldApart: kubectl get events shows a note on one line, and events of one
// action are counted as one with the first note.
func TestPoliciesThatAreRefusedAreToldApart(t *testing.T) {
	t.Setenv("POD_NAME", "descheduler-1")
	var recorder regarding
	tell := tellRefused(&recorder, "narwhal")
	tell(errors.New("the policy has 2 errors\n  line 1: a\n  line 2: b"))
	tell(errors.New("the policy has 1 error\n  line 3: c"))
	assert.DeepEqual(t, recorder.said, []string{
		"Reload1: the policy before stays in use: the policy has 2 errors; line 1: a; line 2: b",
		"Reload2: the policy before stays in use: the policy has 1 error; line 3: c",
	})
}

// A policy can have more problems than an event has room for.
func TestPolicyRefusedFits(t *testing.T) {
	recorder := events.NewFakeRecorder(1)
	tellRefused(recorder, "narwhal")(errors.New("outside of a pod"))
	assert.Equal(t, len(recorder.Events), 0)
	t.Setenv("POD_NAME", "descheduler-1")
	tellRefused(recorder, "narwhal")(errors.New(strings.Repeat("é%s", 10*1024)))
	note, ok := strings.CutPrefix(<-recorder.Events, "Warning PolicyRefused ")
	assert.Assert(t, ok && strings.HasPrefix(note, "the policy before stays in use: é%sé"), note)
	assert.Assert(t, len(note) <= 1024 && len(note) > 1024-2 && utf8.ValidString(note), "%d", len(note))
}
