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
	c := NewCache()
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

// A later answer counts from its own time.
func TestALaterAnswerReplacesTheFormerOne(t *testing.T) {
	c := NewCache()
	c.Keep(began, "ann", Answer{Err: errors.New("no answer")})
	later := began.Add(KeepFailure - 1)
	c.Keep(later, "ann", Answer{Groups: []string{"dev"}})
	answer, ok := c.Look(later.Add(KeepSuccess-1), "ann")
	assert.Assert(t, ok)
	assert.DeepEqual(t, answer.Groups, []string{"dev"})
}

// Ten times as many answers come as are kept. What is used stays.
func TestTheCacheIsBounded(t *testing.T) {
	c := NewCache()
	c.Keep(began, "ann", Answer{})
	for i := range 10 * AnswersMax {
		c.Keep(began, fmt.Sprintf("user-%d", i), Answer{})
		assert.Assert(t, c.Len() <= AnswersMax)
		_, ok := c.Look(began, "ann")
		assert.Assert(t, ok)
	}
	_, ok := c.Look(began, fmt.Sprintf("user-%d", 9*AnswersMax+1))
	assert.Assert(t, ok)
	_, ok = c.Look(began, fmt.Sprintf("user-%d", 9*AnswersMax))
	assert.Assert(t, !ok)
}

// Users that do not exist push out no answer, however many of them are named.
func TestFailuresPushOutNoAnswer(t *testing.T) {
	c := NewCache()
	c.Keep(began, "ann", Answer{})
	for i := range 10 * AnswersMax {
		c.Keep(began, fmt.Sprintf("user-%d", i), Answer{Err: errors.New("no such user")})
	}
	_, ok := c.Look(began, "ann")
	assert.Assert(t, ok)
	assert.Equal(t, c.Len(), FailuresMax+1)
	c.Keep(began, "ann", Answer{Err: errors.New("gone")}) // the last answer counts
	answer, ok := c.Look(began, "ann")
	assert.Assert(t, ok && answer.Err != nil)
	assert.Equal(t, c.Len(), FailuresMax)
}
