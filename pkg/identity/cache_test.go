package identity

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestSuccessIsRememberedLongerThanFailure(t *testing.T) {
	var c Cache
	c.Keep(began, "ann", Answer{Groups: []string{"dev"}})
	c.Keep(began, "bob", Answer{Err: errors.New("no answer")})
	for _, step := range []struct {
		after    time.Duration
		ann, bob bool
	}{
		{0, true, true},
		{KeepFailure - 1, true, true},
		{KeepFailure, true, false},
		{KeepSuccess - 1, true, false},
		{KeepSuccess, false, false},
	} {
		_, ann := c.Look(began.Add(step.after), "ann")
		_, bob := c.Look(began.Add(step.after), "bob")
		assert.Equal(t, ann, step.ann, "ann after %v", step.after)
		assert.Equal(t, bob, step.bob, "bob after %v", step.after)
	}
}

// A later answer counts from its own time, also when the stamp of the former one goes.
func TestALaterAnswerReplacesTheFormerOne(t *testing.T) {
	var c Cache
	c.Keep(began, "ann", Answer{Err: errors.New("no answer")})
	later := began.Add(KeepFailure - 1)
	c.Keep(later, "ann", Answer{Groups: []string{"dev"}})
	c.Keep(began.Add(KeepFailure), "bob", Answer{}) // the first stamp goes
	answer, ok := c.Look(later.Add(KeepSuccess-1), "ann")
	assert.Assert(t, ok)
	assert.DeepEqual(t, answer.Groups, []string{"dev"})
}

func TestTheCacheIsBounded(t *testing.T) {
	var c Cache
	for i := range 10 * AnswersMax {
		answer := Answer{}
		if i%3 == 0 {
			answer.Err = errors.New("no answer")
		}
		c.Keep(began, fmt.Sprintf("user-%d", i), answer)
		assert.Assert(t, c.Len() <= AnswersMax && len(c.failures)+len(c.successes) <= AnswersMax)
	}
	_, ok := c.Look(began, fmt.Sprintf("user-%d", 10*AnswersMax-1))
	assert.Assert(t, ok)
	for range 10 * AnswersMax { // the same user again and again
		c.Keep(began, "ann", Answer{})
	}
	assert.Assert(t, len(c.successes) <= AnswersMax)
	_, ok = c.Look(began, "ann")
	assert.Assert(t, ok)
}
