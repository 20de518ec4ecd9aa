package identity

import "time"

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
// KeepFailure, and AnswersMax at most, of which the oldest goes first. The zero value is
// empty. It belongs to one goroutine.
//
//	each answer that is kept stands in the list of its kind, by time
type Cache struct {
	kept                map[string]keptAnswer
	successes, failures []stamp // the oldest first; a stamp may be of an answer that was replaced
}

type keptAnswer struct {
	Answer
	until time.Time
}

type stamp struct {
	user  string
	until time.Time
}

// Look returns what is remembered of a user.
func (c *Cache) Look(now time.Time, user string) (Answer, bool) {
	kept, ok := c.kept[user]
	if !ok || !now.Before(kept.until) {
		return Answer{}, false
	}
	return kept.Answer, true
}

// Keep remembers an answer in place of the one before.
func (c *Cache) Keep(now time.Time, user string, a Answer) {
	if c.kept == nil {
		c.kept = map[string]keptAnswer{}
	}
	list, until := &c.successes, now.Add(KeepSuccess)
	if a.Err != nil {
		list, until = &c.failures, now.Add(KeepFailure)
	}
	c.forget(now)
	c.kept[user] = keptAnswer{a, until}
	*list = append(*list, stamp{user, until})
}

// forget drops what is too old, and the oldest of what is too many.
func (c *Cache) forget(now time.Time) {
	for _, list := range []*[]stamp{&c.failures, &c.successes} {
		for len(*list) > 0 && !now.Before((*list)[0].until) {
			c.drop(list)
		}
	}
	for len(c.failures)+len(c.successes) >= AnswersMax {
		oldest := &c.failures
		if len(c.failures) == 0 {
			oldest = &c.successes
		}
		c.drop(oldest)
	}
}

// drop forgets the oldest answer of a list, unless another took its place.
func (c *Cache) drop(list *[]stamp) {
	oldest := (*list)[0]
	*list = (*list)[1:]
	if kept, ok := c.kept[oldest.user]; ok && kept.until.Equal(oldest.until) {
		delete(c.kept, oldest.user)
	}
}

// Len is how many answers are remembered.
func (c *Cache) Len() int { return len(c.kept) }
