package scheduler

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// What questions to the resource manager may take of the owner's time: so much at a
// stretch, and then a pause of so many times as long. An ask that comes during a batch
// of placements is tried in the next one and told at the end of that, so two stretches
// are shorter than the ten milliseconds that it waits at most behind the refusals of
// others.
const (
	refusedStretch, refusedPause   = 4 * time.Millisecond, 1
	repeatedStretch, repeatedPause = 2 * time.Millisecond, 9
)

// nextBatch is how long to wait for the next batch of placements, which follows at once.
const nextBatch = time.Nanosecond

// A pace says when the core may ask a question. The first question about an ask is
// always allowed; those after a refusal wait while refusals have taken half of the
// time, or a stretch in the same batch; repeated ones also while they have taken a tenth
// of it.
//
// It belongs to the owner and has no clock: every call is told the time.
type pace struct {
	refused  stretch // questions that were refused, one after the other
	repeated stretch
	batch    time.Duration // that refusals took in this batch
}

// beginBatch says that a batch of placements begins.
func (p *pace) beginBatch() { p.batch = 0 }

// wait is how long to wait before a question of a kind; zero is not at all.
func (p *pace) wait(kind api.Question, now time.Time) time.Duration {
	if kind == api.FirstQuestion {
		return 0
	}
	wait := p.refused.wait(now, refusedStretch, refusedPause)
	if kind == api.RepeatedQuestion {
		wait = max(wait, p.repeated.wait(now, repeatedStretch, repeatedPause))
	}
	if p.batch >= refusedStretch {
		wait = max(wait, nextBatch)
	}
	return wait
}

// answered says that a question of a kind was asked and how long that took until now.
func (p *pace) answered(kind api.Question, now time.Time, took time.Duration, refused bool) {
	if refused {
		p.batch += took
		p.refused.spend(now, took, refusedPause)
	} else {
		p.refused = stretch{}
	}
	if kind == api.RepeatedQuestion {
		p.repeated.spend(now, took, repeatedPause)
	}
}

// A stretch is questions that follow each other without a sufficient pause. For each
// stretch and the pause after it
//
//	pause >= times * used
type stretch struct {
	used  time.Duration
	ended time.Time // the last question
}

// wait is how long to wait, when so much time may be used in a stretch and the pause is so
// many times as long.
func (s *stretch) wait(now time.Time, most time.Duration, times int64) time.Duration {
	rest := s.rest(now, times)
	if rest <= 0 || s.used < most {
		return 0
	}
	return rest
}

// rest is what is left of the pause that ends the stretch.
func (s *stretch) rest(now time.Time, times int64) time.Duration {
	return s.ended.Add(time.Duration(times) * s.used).Sub(now)
}

// spend adds a question that took so long. It begins a new stretch if the pause before it
// was long enough.
func (s *stretch) spend(now time.Time, took time.Duration, times int64) {
	if s.rest(now.Add(-took), times) <= 0 {
		s.used = 0
	}
	s.used += took
	s.ended = now
}
