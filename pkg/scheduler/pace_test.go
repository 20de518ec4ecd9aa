package scheduler

import (
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

const ms = time.Millisecond

// at is a time so many milliseconds after a beginning.
func at(milliseconds time.Duration) time.Time { return time.Unix(1000, 0).Add(milliseconds * ms) }

func TestAFirstQuestionNeverWaits(t *testing.T) {
	var p pace
	for i := range time.Duration(100) {
		assert.Equal(t, p.wait(api.FirstQuestion, at(10*i)), time.Duration(0))
		p.answered(api.FirstQuestion, at(10*i+10), 10*ms, true)
	}
}

// After four milliseconds of refusals there is a pause of the same length.
func TestRefusalsTakeHalfOfTheTime(t *testing.T) {
	var p pace
	p.answered(api.FirstQuestion, at(2), 2*ms, true)
	p.answered(api.FurtherQuestion, at(3), ms, true)
	assert.Equal(t, p.wait(api.FurtherQuestion, at(3)), time.Duration(0))
	p.answered(api.FurtherQuestion, at(6), 3*ms, true)
	assert.Equal(t, p.wait(api.FurtherQuestion, at(6)), 6*ms)
	assert.Equal(t, p.wait(api.RepeatedQuestion, at(6)), 6*ms)
	assert.Equal(t, p.wait(api.FurtherQuestion, at(11)), ms)
	p.beginBatch()
	assert.Equal(t, p.wait(api.FurtherQuestion, at(11)), ms)
	assert.Equal(t, p.wait(api.FurtherQuestion, at(12)), time.Duration(0))
	// A new stretch has begun.
	p.answered(api.FurtherQuestion, at(15), 3*ms, true)
	assert.Equal(t, p.wait(api.FurtherQuestion, at(15)), time.Duration(0))
	p.answered(api.FurtherQuestion, at(19), 4*ms, true)
	assert.Equal(t, p.wait(api.FurtherQuestion, at(19)), 7*ms)
}

// An answer that allows a placement ends the row of refusals, and so does a time without
// questions.
func TestARowOfRefusalsEnds(t *testing.T) {
	var p pace
	p.answered(api.FurtherQuestion, at(3), 3*ms, true)
	p.answered(api.FurtherQuestion, at(5), 2*ms, false)
	p.beginBatch()
	p.answered(api.FurtherQuestion, at(8), 3*ms, true)
	assert.Equal(t, p.wait(api.FurtherQuestion, at(8)), time.Duration(0))
	p.beginBatch()
	p.answered(api.FurtherQuestion, at(14), 3*ms, true) // three after the last
	assert.Equal(t, p.wait(api.FurtherQuestion, at(14)), time.Duration(0))
}

// Refusals have a stretch in each batch, though some asks were agreed to between them.
// What was left over goes on with the next batch.
func TestRefusalsOfABatch(t *testing.T) {
	var p pace
	p.answered(api.FurtherQuestion, at(3), 3*ms, true)
	p.answered(api.FurtherQuestion, at(4), ms, false)
	assert.Equal(t, p.wait(api.FurtherQuestion, at(4)), time.Duration(0))
	p.answered(api.FurtherQuestion, at(5), ms, true)
	p.answered(api.FurtherQuestion, at(6), ms, false)
	assert.Equal(t, p.wait(api.FirstQuestion, at(6)), time.Duration(0))
	assert.Equal(t, p.wait(api.FurtherQuestion, at(6)), nextBatch)
	assert.Equal(t, p.wait(api.RepeatedQuestion, at(6)), nextBatch)
	p.beginBatch()
	assert.Equal(t, p.wait(api.FurtherQuestion, at(6)), time.Duration(0))
}

// One long question makes one long pause.
func TestALongQuestion(t *testing.T) {
	var p pace
	p.answered(api.RepeatedQuestion, at(50), 50*ms, true)
	assert.Equal(t, p.wait(api.FurtherQuestion, at(50)), 50*ms)
	p.beginBatch()
	assert.Equal(t, p.wait(api.RepeatedQuestion, at(50)), 450*ms)
	assert.Equal(t, p.wait(api.FurtherQuestion, at(100)), time.Duration(0))
	assert.Equal(t, p.wait(api.RepeatedQuestion, at(499)), ms)
	assert.Equal(t, p.wait(api.RepeatedQuestion, at(500)), time.Duration(0))
}

// Whatever questions take and however they are answered, repeated ones get a tenth of
// the time, and refusals of all kinds but the first get half.
func TestTheSharesOfQuestions(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		var p pace
		now, begin := at(0), at(0)
		elapsed := map[api.Question]time.Duration{}
		for range 10_000 {
			kind := api.FurtherQuestion + api.Question(random.IntN(2))
			if wait := p.wait(kind, now); wait > 0 {
				p.beginBatch()
				now = now.Add(min(wait, time.Duration(random.IntN(int(ms)))))
				continue
			}
			took := time.Duration(random.IntN(int(ms)))
			now = now.Add(took)
			elapsed[kind] += took
			p.answered(kind, now, took, true)
		}
		all := now.Sub(begin) + 10*ms // the last pause is cut
		assert.Assert(t, elapsed[api.RepeatedQuestion] <= all/10, "seed %d: %v of %v", seed, elapsed[api.RepeatedQuestion], all)
		assert.Assert(t, elapsed[api.RepeatedQuestion]+elapsed[api.FurtherQuestion] <= all/2, "seed %d: %v of %v", seed, elapsed, all)
		assert.Assert(t, elapsed[api.FurtherQuestion] > all/4, "seed %d: %v of %v", seed, elapsed, all)
	}
}
