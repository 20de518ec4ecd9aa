package identity

import (
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// How long an answer is remembered, and how many are.
const (
	KeepSuccess = 5 * time.Minute
	KeepFailure = 30 * time.Second
	AnswersMax  = 10_000
	FailuresMax = 1_000
)

// An Answer is what a resolver said of a user.
type Answer struct {
	Groups []string // shared and never changed
	Err    error
}

// A Cache remembers answers of one resolver: success for KeepSuccess, failure for
// KeepFailure, AnswersMax and FailuresMax of them at most, of which that goes first which was not
// used for the longest time. Failures are apart, so that users which do not exist push out no
// answer. It belongs to one goroutine.
type Cache struct {
	kept, failed *simplelru.LRU[string, keptAnswer]
}

type keptAnswer struct {
	Answer
	until time.Time
}

// NewCache remembers nothing yet.
func NewCache() Cache { return Cache{kept: atMost(AnswersMax), failed: atMost(FailuresMax)} }

func atMost(most int) *simplelru.LRU[string, keptAnswer] {
	kept, err := simplelru.NewLRU[string, keptAnswer](most, nil)
	if err != nil {
		panic(err) // both are above zero
	}
	return kept
}

// Look returns what is remembered of a user.
func (c Cache) Look(now time.Time, user string) (Answer, bool) {
	kept, ok := c.kept.Get(user)
	if !ok {
		kept, ok = c.failed.Get(user)
	}
	if !ok || !now.Before(kept.until) {
		return Answer{}, false
	}
	return kept.Answer, true
}

// Keep remembers an answer in place of the one before.
func (c Cache) Keep(now time.Time, user string, a Answer) {
	if a.Err != nil {
		c.kept.Remove(user)
		c.failed.Add(user, keptAnswer{a, now.Add(KeepFailure)})
		return
	}
	c.failed.Remove(user)
	c.kept.Add(user, keptAnswer{a, now.Add(KeepSuccess)})
}

// Len is how many answers are remembered.
func (c Cache) Len() int { return c.kept.Len() + c.failed.Len() }
