package core

import (
	"errors"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// TestMoves walks all pairs of states.
func TestMoves(t *testing.T) {
	now := time.Unix(1, 0)
	for from := New; from <= Failed; from++ {
		for to := New; to <= Failed; to++ {
			a := &application{id: "a", state: from}
			err := a.moveTo(to, now)
			if slices.Contains(moves[from], to) {
				assert.NilError(t, err)
				assert.Equal(t, a.state, to)
				assert.Equal(t, a.since, now)
				continue
			}
			assert.Assert(t, errors.Is(err, ErrNoMove), "%s to %s", from, to)
			assert.ErrorContains(t, err, "application a: "+from.String()+" to "+to.String())
			assert.Equal(t, a.state, from)
		}
	}
}

// TestAlarmsRingInOrder takes alarms out by time, and by number at one time.
func TestAlarmsRingInOrder(t *testing.T) {
	var h alarms
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	for _, second := range []int{5, 3, 9, 3, 1, 7, 3} {
		h.add(alarm{at: at(second)})
	}
	first, ok := h.next()
	assert.Assert(t, ok)
	assert.Equal(t, first, at(1))
	var seconds, numbers []int
	for {
		a, ok := h.pop(at(7))
		if !ok {
			break
		}
		seconds, numbers = append(seconds, int(a.at.Unix())), append(numbers, int(a.number))
	}
	assert.DeepEqual(t, seconds, []int{1, 3, 3, 3, 5, 7})
	assert.DeepEqual(t, numbers, []int{5, 2, 4, 7, 1, 6})
}
