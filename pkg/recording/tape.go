package recording

import (
	"sync/atomic"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/image"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/wire"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// chunkMax is how many steps are handed over together at most.
const chunkMax = 256

// partitionBegan is why the first segment of a recording begins.
const partitionBegan = "the partition began"

// A tape is a partition that is recorded. Its steps belong to the goroutine of the partition.
type tape struct {
	recorder  *Recorder
	name      string
	partition *core.Partition
	kinds     *resources.Kinds
	functions uint16 // which questions the resource manager answers

	chunk   *chunk // what was not handed over
	scratch wire.Writer
	digest  wire.Digester
	inStep  bool
	asked   int  // answers in the step at hand
	lost    bool // steps are not noted until a segment begins

	renew   atomic.Bool   // by the writer: a segment is to begin
	afresh  atomic.Bool   // with an image of the partition
	imaged  atomic.Uint64 // the last segment that has an image, and how many bytes that has
	size    atomic.Int64
	waiting atomic.Int64 // steps that are handed over and not written

	file  *writing // the writer's own
	next  uint64   // number of the segment that begins next, the writer's too
	from  time.Time
	retry time.Time // when a segment is begun after one was refused
}

// A chunk is some steps in a row.
type chunk struct {
	tape    *tape
	steps   []step
	effects api.Effects
	answers wire.Writer

	begins *beginning // before the steps, a segment begins
	ends   bool       // the recording ends after them
	broken bool       // the segment ends after them, as the steps that follow were lost
}

// A beginning is how the segment before ends, and the next one begins.
type beginning struct {
	view  *api.View // at the end of the one before, if nothing was lost
	image []byte    // nil if the segment goes on after the one before
	err   error
	now   time.Time
	kinds int
	after string // why a segment begins
}

// A step is one call of Apply or Schedule: what it was given, how many effects and answers there are.
type step struct {
	command          api.Command // nil for Schedule
	now              time.Time
	kinds            int // known before the step
	effects          int
	answers, written int // how many, and up to which byte
	more             bool
	digest           uint64 // of the effects, where it cannot wait for the writer
	digested         bool
}

// isShared reports whether effects have more than allocations and texts: plans and reasons are shared with the partition, so that their
// digest is made before it goes on.
func isShared(effects api.Effects) bool {
	for _, event := range effects {
		switch event.(type) {
		case api.AskAdded, api.AskResized, api.Placed, api.Adopted, *api.Ended, *api.AskEnded, api.ForeignAdded, api.ForeignRemoved,
			*api.ApplicationAccepted, *api.ApplicationChanged, *api.ApplicationGone:
		default:
			return true
		}
	}
	return false
}

// Apply is that of the partition.
func (t *tape) Apply(now time.Time, c api.Command) api.Effects {
	t.begin(now)
	s := step{command: lasting(c), now: now, kinds: t.kinds.Len()}
	effects := t.partition.Apply(now, c)
	t.done(s, effects)
	if len(t.chunk.steps) >= chunkMax {
		t.handOver()
	}
	return effects
}

// Schedule is that of the partition.
func (t *tape) Schedule(now time.Time) (effects api.Effects, more bool) {
	t.begin(now)
	s := step{now: now, kinds: t.kinds.Len()}
	effects, s.more = t.partition.Schedule(now)
	t.done(s, effects)
	t.handOver()
	return effects, s.more
}

// Renew has the next step begin a segment.
func (t *tape) Renew() { t.renew.Store(true) }

// End ends the recording.
func (t *tape) End() {
	t.chunk.ends = true
	t.handOver()
}

// begin begins a step, and a segment if it is time.
func (t *tape) begin(now time.Time) {
	t.inStep, t.asked = true, 0
	switch {
	case t.lost:
		if t.waiting.Load() == 0 {
			t.startSegment(now, nil, "steps were lost, as the disk was slow")
		}
	case t.renew.Load():
		t.handOver()
		if !t.lost {
			t.startSegment(now, t.partition.View(), "the one before was large or old enough")
		}
	}
}

// startSegment begins a segment. If it does not go on after the one before, it begins with an image of the partition.
func (t *tape) startSegment(now time.Time, last *api.View, after string) {
	t.renew.Store(false)
	t.lost = false
	b := &beginning{view: last, now: now, kinds: t.kinds.Len(), after: after}
	if t.afresh.Swap(false) || last == nil {
		b.image, b.err = image.Of(t.partition)
	}
	t.chunk.begins = b
}

// done notes a step that was made.
func (t *tape) done(s step, effects api.Effects) {
	t.inStep = false
	if t.lost {
		t.chunk.answers.Out = t.chunk.answers.Out[:0]
		return
	}
	if s.digested = isShared(effects); s.digested {
		s.digest = t.digest.Effects(effects, s.more)
		effects = nil
	}
	s.effects, s.answers, s.written = len(effects), t.asked, len(t.chunk.answers.Out)
	t.chunk.steps = append(t.chunk.steps, s)
	t.chunk.effects = append(t.chunk.effects, effects...) // readers of effects may drop some of them in place
}

// handOver gives the steps to the writer. If too many wait there, the segment ends before them.
func (t *tape) handOver() {
	c := t.chunk
	if len(c.steps) == 0 && c.begins == nil && !c.ends {
		return
	}
	if most := t.recorder.config.StepsMax; t.waiting.Load()+int64(len(c.steps)) > int64(most) && !c.ends {
		t.lost = true
		c.clear()
		c.broken = true
	}
	t.waiting.Add(int64(len(c.steps)))
	t.chunk = t.recorder.take(c)
	t.chunk.tape = t
}

func (c *chunk) clear() {
	clear(c.steps)
	clear(c.effects)
	c.steps, c.effects, c.answers.Out = c.steps[:0], c.effects[:0], c.answers.Out[:0]
	c.begins, c.ends, c.broken = nil, false, false
}

// lasting is a command of which the partition changes nothing.
func lasting(c api.Command) api.Command {
	switch c := c.(type) {
	case api.AddNode:
		c.Capacity = c.Capacity.Clone()
		return c
	case api.UpdateNode:
		c.Capacity = c.Capacity.Clone()
		return c
	case api.AddApplication:
		c.Placeholders = c.Placeholders.Clone()
		return c
	}
	return c
}
