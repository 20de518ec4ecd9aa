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
)

// An Answer is what a resolver said of a user.
type Answer struct {
	Groups []string // shared and never changed
	Err    error
}

// A Cache remembers answers of one resolver: success for KeepSuccess, failure for
// KeepFailure, and AnswersMax at most, of which that goes first which was not used for the
// longest time. It belongs to one goroutine.
type Cache struct {
	kept *simplelru.LRU[string, keptAnswer]
}

type keptAnswer struct {
	Answer
	until time.Time
}

// NewCache remembers nothing yet.
func NewCache() Cache {
	kept, err := simplelru.NewLRU[string, keptAnswer](AnswersMax, nil)
	if err != nil {
		panic(err) // AnswersMax is above zero
	}
	return Cache{kept}
}

// Look returns what is remembered of a user.
func (c Cache) Look(now time.Time, user string) (Answer, bool) {
	kept, ok := c.kept.Get(user)
	if !ok || !now.Before(kept.until) {
		return Answer{}, false
	}
	return kept.Answer, true
}

// Keep remembers an answer in place of the one before.
func (c Cache) Keep(now time.Time, user string, a Answer) {
	until := now.Add(KeepSuccess)
	if a.Err != nil {
		until = now.Add(KeepFailure)
	}
	c.kept.Add(user, keptAnswer{a, until})
}

// Len is how many answers are remembered.
func (c Cache) Len() int { return c.kept.Len() }
