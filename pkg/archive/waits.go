package archive

import (
	"slices"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// reasonsMax is how many different reasons are kept of an ask, and wordsMax how
// many bytes of each.
const (
	reasonsMax = 8
	wordsMax   = 512
)

// Waits is why an ask waited.
type PendingReasons struct {
	Reasons []PendingReason // that were told last, by when they were told last
	ScaleUp bool            // the resource manager was told that no node can take it
}

// A Wait is one reason, and how often it was told.
type PendingReason struct {
	Message string
	Last    time.Time
	Count   int64
}

// say tells a reason, again perhaps.
func (w *PendingReasons) say(now time.Time, message string) {
	if len(message) > wordsMax {
		message = strings.ToValidUTF8(message[:wordsMax-3], "") + "..."
	}
	one := PendingReason{Message: message, Last: now, Count: 1}
	i := slices.IndexFunc(w.Reasons, func(other PendingReason) bool { return other.Message == message })
	switch {
	case i >= 0:
		one.Count += w.Reasons[i].Count
	case len(w.Reasons) == reasonsMax:
		i = 0
	}
	if i >= 0 {
		w.Reasons = slices.Delete(w.Reasons, i, i+1)
	}
	w.Reasons = append(w.Reasons, one)
}

// waits tells why an ask waits. It gives nothing for one that runs, or whose
// application is not known.
func (b *Book) waits(id core.ApplicationID, key core.AllocationKey, message string) *PendingReasons {
	l := b.life(id)
	if l == nil {
		return nil
	}
	if _, runs := b.running[key]; runs {
		return nil
	}
	w := l.waits[key]
	if w == nil {
		if l.waits == nil {
			l.waits = map[core.AllocationKey]*PendingReasons{}
		}
		w = new(PendingReasons)
		l.waits[key] = w
	}
	w.say(b.now, message)
	return w
}

// hinted notes that the resource manager is told why an ask waits.
func (b *Book) hinted(e *si.UpdateContainerSchedulingStateRequest) {
	w := b.waits(core.ApplicationID(e.ApplicationID), core.AllocationKey(e.AllocationKey), e.Reason)
	if w != nil && e.State == si.UpdateContainerSchedulingStateRequest_FAILED {
		w.ScaleUp = true
	}
}

// recorded notes what is recorded of an ask: why nobody makes room.
func (b *Book) recorded(e *si.EventRecord) {
	if e.Type == si.EventRecord_REQUEST && e.EventChangeType == si.EventRecord_NONE {
		b.waits(core.ApplicationID(e.ReferenceID), core.AllocationKey(e.ObjectID), e.Message)
	}
}
