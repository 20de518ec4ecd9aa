package scheduler

import (
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

const ms = time.Millisecond

// at is a time so many milliseconds after a beginning.
func at(milliseconds time.Duration) time.Time { return time.Unix(1000, 0).Add(milliseconds * ms) }

func TestAFirstQuestionNeverWaits(t *testing.T) {
	var p pace
	for i := range time.Duration(100) {
		assert.Equal(t, p.wait(core.FirstQuestion, at(10*i)), time.Duration(0))
		p.answered(core.FirstQuestion, at(10*i+10), 10*ms, true)
	}
}

// After five milliseconds of refusals there is a pause of the same length.
func TestRefusalsTakeHalfOfTheTime(t *testing.T) {
	var p pace
	p.answered(core.FirstQuestion, at(2), 2*ms, true)
	p.answered(core.FurtherQuestion, at(4), 2*ms, true)
	assert.Equal(t, p.wait(core.FurtherQuestion, at(4)), time.Duration(0))
	p.answered(core.FurtherQuestion, at(6), 2*ms, true)
	assert.Equal(t, p.wait(core.FurtherQuestion, at(6)), 6*ms)
	assert.Equal(t, p.wait(core.RepeatedQuestion, at(6)), 6*ms)
	assert.Equal(t, p.wait(core.FurtherQuestion, at(11)), ms)
	assert.Equal(t, p.wait(core.FurtherQuestion, at(12)), time.Duration(0))
	// A new stretch has begun.
	p.answered(core.FurtherQuestion, at(16), 4*ms, true)
	assert.Equal(t, p.wait(core.FurtherQuestion, at(16)), time.Duration(0))
	p.answered(core.FurtherQuestion, at(20), 4*ms, true)
	assert.Equal(t, p.wait(core.FurtherQuestion, at(20)), 8*ms)
}

// An answer that allows a placement ends the row of refusals, and so does a time without
// questions.
func TestARowOfRefusalsEnds(t *testing.T) {
	var p pace
	p.answered(core.FurtherQuestion, at(4), 4*ms, true)
	p.answered(core.FurtherQuestion, at(5), ms, false)
	p.answered(core.FurtherQuestion, at(9), 4*ms, true)
	assert.Equal(t, p.wait(core.FurtherQuestion, at(9)), time.Duration(0))
	p.answered(core.FurtherQuestion, at(17), 4*ms, true) // four after the last
	assert.Equal(t, p.wait(core.FurtherQuestion, at(17)), time.Duration(0))
}

// One long question makes one long pause.
func TestALongQuestion(t *testing.T) {
	var p pace
	p.answered(core.RepeatedQuestion, at(50), 50*ms, true)
	assert.Equal(t, p.wait(core.FurtherQuestion, at(50)), 50*ms)
	assert.Equal(t, p.wait(core.RepeatedQuestion, at(50)), 450*ms)
	assert.Equal(t, p.wait(core.FurtherQuestion, at(100)), time.Duration(0))
	assert.Equal(t, p.wait(core.RepeatedQuestion, at(499)), ms)
	assert.Equal(t, p.wait(core.RepeatedQuestion, at(500)), time.Duration(0))
}

// Whatever questions take and however they are answered, repeated ones get a tenth of
// the time, and refusals of all kinds but the first get half.
func TestTheSharesOfQuestions(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		var p pace
		now, begin := at(0), at(0)
		elapsed := map[core.Question]time.Duration{}
		for range 10_000 {
			kind := core.FurtherQuestion + core.Question(random.IntN(2))
			if wait := p.wait(kind, now); wait > 0 {
				now = now.Add(min(wait, time.Duration(random.IntN(int(ms)))))
				continue
			}
			took := time.Duration(random.IntN(int(ms)))
			now = now.Add(took)
			elapsed[kind] += took
			p.answered(kind, now, took, true)
		}
		all := now.Sub(begin) + 10*ms // the last pause is cut
		assert.Assert(t, elapsed[core.RepeatedQuestion] <= all/10, "seed %d: %v of %v", seed, elapsed[core.RepeatedQuestion], all)
		assert.Assert(t, elapsed[core.RepeatedQuestion]+elapsed[core.FurtherQuestion] <= all/2, "seed %d: %v of %v", seed, elapsed, all)
		assert.Assert(t, elapsed[core.FurtherQuestion] > all/4, "seed %d: %v of %v", seed, elapsed, all)
	}
}
