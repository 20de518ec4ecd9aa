package core

import "slices"

// A tally counts how many there are of each priority, the lowest first. There
// are few priorities.
type tally []tallied

type tallied struct {
	priority int32
	count    int
}

// find is where a priority is, or would have to be.
func (t tally) find(priority int32) (at int, found bool) {
	for at < len(t) && t[at].priority < priority {
		at++
	}
	return at, at < len(t) && t[at].priority == priority
}

func (t *tally) add(priority int32) {
	at, ok := t.find(priority)
	if !ok {
		*t = slices.Insert(*t, at, tallied{priority: priority})
	}
	(*t)[at].count++
}

func (t *tally) remove(priority int32) {
	at, _ := t.find(priority)
	(*t)[at].count--
	if (*t)[at].count == 0 {
		*t = slices.Delete(*t, at, at+1)
	}
}

// below reports whether there is anything of a lower priority.
func (t tally) below(priority int32) bool { return len(t) > 0 && t[0].priority < priority }
