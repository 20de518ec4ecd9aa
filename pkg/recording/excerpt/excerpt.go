package excerpt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
)

// ErrNotShown is wrapped where no scenario shows what was recorded.
var ErrNotShown = errors.New("no scenario shows it")

// Progress is told how many scenarios were played, and how many commands are left.
type Progress func(played, commands int)

// An Excerpt is a scenario that shows what became of a pod.
type Excerpt struct {
	Text   string
	Before int  // commands from which it was made
	After  int  // commands that are left
	Played int  // scenarios
	Whole  bool // no single command, line of the configuration or argument can be left out
	// Shows reports whether a scenario shows what became of the pod.
	Shows func(text string) bool
}

// Make finds the first step of a partition that is wanted, and makes the smallest scenario that shows the same. It begins as late before the step as it can.
// Where the context ends it is the smallest that was found until then; the error is that of the context if there was none.
func Make(ctx context.Context, d *recording.Directory, partition string, w recording.Wanted, progress Progress) (*Excerpt, error) {
	found, key, err := d.First(partition, w, nil)
	if err != nil {
		return nil, err
	}
	found.Close()
	h, err := read(found.File, found.Steps)
	if err != nil {
		return nil, err
	}
	o := h.outcome(w, key)
	r := &reducer{ctx: ctx, progress: progress, tried: map[uint64]bool{}, smaller: map[bool]bool{}}
	begun, err := r.latest(h, &o)
	if err != nil {
		return nil, fmt.Errorf("pod %s %s at %s, in step %d of %s, and a scenario with all that is known before does not show it: %w",
			w.Pod, w, found.Now.Format(time.RFC3339Nano), found.Steps, found.File, err)
	}
	e := &Excerpt{Before: len(begun.lines), Shows: r.shows}
	least := r.reduce(begun.lines)
	if r.smaller[false] || r.smaller[true] {
		begun.notes = append(begun.notes, note{text: "nodes are smaller by what else ran there"})
	}
	if r.smaller[true] {
		begun.notes = append(begun.notes, note{text: "queues may use less by what else they used"})
	}
	e.After, e.Played, e.Whole = len(least), r.played, !r.enough()
	e.Text, err = h.text(e, begun, o, least, r.shows)
	return e, err
}

// A beginning is where a scenario may begin, and what happens from there on.
type beginning struct {
	from  time.Time // which is 0s
	lines []line
	notes []note
}

// A line is a command of a scenario.
type line struct {
	scenario.Line
	step bool // it was a step, and what stands before it is how things stood
}

// A note is what a scenario cannot say.
type note struct {
	about string // a name that stands in the scenario; empty is anything
	text  string
}

// furtherMax is how many earlier beginnings are tried for one from which on the outcome shows as it was, once it shows at all.
const furtherMax = 4

// latest is the latest beginning from which on the outcome shows: as it was if it can be, and otherwise at all.
func (r *reducer) latest(h *history, o *outcome) (*beginning, error) {
	var last error
	var weak *beginning
	further := furtherMax
	for at := range h.beginnings() {
		if weak != nil {
			if further--; further < 0 {
				break
			}
		}
		if err := r.ctx.Err(); err != nil && weak == nil {
			return nil, err
		}
		b, err := h.beginning(at)
		if err != nil {
			return nil, err
		}
		strict, loose, err := r.try(b.lines, *o)
		switch {
		case strict:
			r.shows = o.asItWas()
			return b, nil
		case loose && weak == nil:
			weak = b
		case err != nil:
			last = err
		}
	}
	if weak == nil {
		return nil, errors.Join(ErrNotShown, last)
	}
	weak.notes = append(weak.notes, note{text: "in the recording " + o.String()})
	r.shows, o.loosely = o.atAll(), true
	return weak, nil
}
