package descheduler

import (
	"cmp"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

const (
	actionDescheduled = "Descheduled"
	actionDrain       = "Drain"
	reasonFailed      = "EvictionFailed"
	reasonNotSet      = "NotSet"

	// The most bytes that the API server takes in an event.
	reasonMax = 128
	noteMax   = 1024

	// warningsMax is how many warnings one cycle writes; the log says that there were more. A
	// plugin that does not stop at a limit would write one for each pod.
	warningsMax = 500
)

// Expecting is what an event recorder implements that is told of each event before, since
// its process ends only when all are written.
type Expecting interface {
	Expect(object types.UID, kind, reason, action string)
}

// announcer writes the events of pods. It is safe for concurrent use.
type announcer struct {
	recorder events.EventRecorder // nil: nothing is written
	log      *zap.Logger

	mu     sync.Mutex
	warned map[types.UID]bool // in this cycle
	full   bool               // there were more than warningsMax
}

// begin starts a cycle.
func (a *announcer) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.warned, a.full = map[types.UID]bool{}, false
}

// evicted says that a pod was evicted, or that this was requested. The reason of an event is one word, for which users
// search: that of the plugin, or else its name. A sentence is in the note.
func (a *announcer) evicted(r request, why string, requested bool) {
	if a.recorder == nil {
		return
	}
	why = text(why)
	reason, note := why, "evicted from node "+r.pod.Spec.NodeName+" by the descheduler"
	if requested {
		note = "the descheduler requested its eviction from node " + r.pod.Spec.NodeName
	}
	if strings.ContainsRune(why, ' ') {
		reason, note = "", note+": "+why
	}
	a.write(r.pod, v1.EventTypeNormal, cut(cmp.Or(reason, r.plugin, reasonNotSet), reasonMax), actionDescheduled, note)
}

// kept warns that a pod was to be evicted and was not, for a limit or for an error of the
// API server; once for each pod and cycle. What filters keep needs no warning.
func (a *announcer) kept(r request, err error) {
	var refused *framework.RefusedError
	if a.recorder == nil || errors.As(err, &refused) && refused.Err == nil {
		return
	}
	a.mu.Lock()
	known, more := a.warned[r.pod.UID], len(a.warned) >= warningsMax
	skip := known || more
	if !skip {
		a.warned[r.pod.UID] = true
	}
	tell := more && !known && !a.full
	a.full = a.full || tell
	a.mu.Unlock()
	if tell {
		a.log.Warn("no more events of pods that are not evicted are written in this cycle", zap.Int("written", warningsMax))
	}
	if !skip {
		a.write(r.pod, v1.EventTypeWarning, reasonFailed, actionDescheduled, "not evicted from node "+r.pod.Spec.NodeName+": "+text(err.Error()))
	}
}

// node writes an event of a node. Those that differ in their note only would be counted as one, which keeps the first note: so each
// has an action of its own.
func (a *announcer) node(now time.Time, node *v1.Node, kind, reason, note string) {
	if a.recorder != nil {
		a.write(node, kind, reason, actionDrain+now.UTC().Format("150405"), text(note))
	}
}

// An object has events.
type object interface {
	runtime.Object
	metav1.Object
}

func (a *announcer) write(about object, kind, reason, action, note string) {
	if e, ok := a.recorder.(Expecting); ok {
		e.Expect(about.GetUID(), kind, reason, action)
	}
	a.recorder.Eventf(about, nil, kind, reason, action, "%s", cut(note, noteMax))
}

// cut shortens a text to a number of bytes, between two characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
