package archive

import (
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// reasonsMax is how many different reasons are kept of an ask, and reasonBytesMax
// how many bytes of each.
const (
	reasonsMax     = 8
	reasonBytesMax = 512
)

// PendingReasons is why an ask has waited so far.
type PendingReasons struct {
	Reasons []PendingReason // the latest ones, ordered by when each was given last
	ScaleUp bool            // the resource manager was told that no node can take it
}

// A PendingReason is one reason, and how often it was given.
type PendingReason struct {
	Message string
	Last    time.Time
	Count   int64
}

// add adds a reason, again perhaps.
func (w *PendingReasons) add(now time.Time, message string) {
	if len(message) > reasonBytesMax {
		message = strings.ToValidUTF8(message[:reasonBytesMax-3], "") + "..."
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

// explain adds a reason why an ask waits. It returns nil if the application is not
// known.
func (b *Book) explain(ask *api.Allocation, message string) *PendingReasons {
	a := b.find(ask.Application)
	if a == nil {
		return nil
	}
	w := a.pending[ask.Key]
	if w == nil {
		if a.pending == nil {
			a.pending = map[api.AllocationKey]*PendingReasons{}
		}
		w = new(PendingReasons)
		a.pending[ask.Key] = w
	}
	w.add(b.now, message)
	return w
}

// withdrawn notes that an ask waits no more and was not placed.
func (b *Book) withdrawn(e *api.AskEnded) {
	if a := b.find(e.Application); a != nil {
		delete(a.pending, e.Key)
	}
	why := "the ask was released"
	if e.Cause == api.CauseApplicationRemoved {
		why = "the application is over"
	}
	b.plans.close(b.now, e.Key, Withdrawn, why)
}
