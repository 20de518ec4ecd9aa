package ledger

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A step is one call of Apply or Schedule: its time, its limits, and its effects.
type step struct {
	Now      time.Time
	Batch    uint64 // number of the Schedule call
	Left     int    // placements that it may still make
	expected int    // events that are likely to be told
	Rests    bool   // nothing more can be placed since the last command
	effects  api.Effects
	spare    api.Effects // memory for the effects of this step and of the next ones
}

// BeginCommand begins with a command, which places nothing.
func (s *step) BeginCommand(now time.Time) { s.Now, s.Left, s.expected, s.Rests = now, 0, 1, false }

// BeginBatch begins a batch of so many placements at most, of which so many are likely.
func (s *step) BeginBatch(now time.Time, most, likely int) {
	s.Batch++
	s.Now, s.Left, s.expected = now, most, min(most, likely)
}

// Spend takes one of the placements that may still be made.
func (s *step) Spend() { s.Left-- }

// EndBatch says whether nothing more can be placed before the next command.
func (s *step) EndBatch(rests bool) { s.Rests = rests }

// effectsAtOnce is for how many events memory is made at once: most commands have one.
const effectsAtOnce = 64

// Tell adds an event to the effects of this step. Those of one batch take one slice, and
// those of many commands share one.
func (s *step) Tell(e api.Event) {
	if s.effects == nil {
		if cap(s.spare) < max(1, s.expected) {
			s.spare = make(api.Effects, 0, max(effectsAtOnce, s.expected))
		}
		s.effects = s.spare
	}
	s.effects = append(s.effects, e)
}

// TakeEffects gives the effects of this step away, with the memory that they take.
func (s *step) TakeEffects() api.Effects {
	effects := slices.Clip(s.effects)
	s.effects = nil
	s.spare = s.spare[min(len(effects), cap(s.spare)):cap(s.spare)][:0]
	return effects
}
