package timers_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

var start = time.Unix(0, 0).UTC()

// entry is what the naive twin knows of a timer that is set.
type entry struct {
	at     time.Duration
	number int
	of     int
}

// TestQueueAgainstList sets, moves, cancels and pops timers at random, beside a list
// that is searched: both give the same, and there is one entry for each timer that is
// set.
func TestQueueAgainstList(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var q timers.Queue
		all := make([]timers.Timer, 20)
		list := map[int]entry{}
		for number := range 500 {
			i, at := r.IntN(len(all)), time.Duration(r.IntN(30))
			switch r.IntN(5) {
			case 0, 1:
				if was, set := list[i]; !set || was.at != at {
					list[i] = entry{at, number, i}
				}
				q.Set(&all[i], start.Add(at), timers.Due{Of: i})
			case 2:
				if was, set := list[i]; !set || was.at > at {
					list[i] = entry{at, number, i}
				}
				q.SetBy(&all[i], start.Add(at), timers.Due{Of: i})
			case 3:
				delete(list, i)
				q.Cancel(&all[i])
			default:
				pop(t, &q, list, at)
			}
			assert.Equal(t, q.Len(), len(list))
			_, set := list[i]
			assert.Equal(t, all[i].Set(), set)
			if next, ok := q.Next(); ok {
				assert.Equal(t, next, start.Add(first(list).at))
			}
		}
	}
}

func first(list map[int]entry) entry {
	var all []entry
	for _, e := range list {
		all = append(all, e)
	}
	return slices.MinFunc(all, func(a, b entry) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.number - b.number
	})
}

func pop(t *testing.T, q *timers.Queue, list map[int]entry, now time.Duration) {
	t.Helper()
	of, ok := q.Pop(start.Add(now))
	if len(list) == 0 || first(list).at > now {
		assert.Assert(t, !ok)
		return
	}
	want := first(list)
	assert.Assert(t, ok)
	assert.Equal(t, of.Of, want.of)
	delete(list, want.of)
}

// TestSetAgainKeepsOneEntry moves one timer often.
func TestSetAgainKeepsOneEntry(t *testing.T) {
	var q timers.Queue
	var one timers.Timer
	for i := range 20_000 {
		q.Set(&one, start.Add(time.Duration(i)), timers.Due{Of: "one"})
	}
	assert.Equal(t, q.Len(), 1)
	_, ok := q.Pop(start.Add(19_998))
	assert.Assert(t, !ok)
	of, ok := q.Pop(start.Add(19_999))
	assert.Assert(t, ok && of.Of == "one" && !one.Set())
	q.Cancel(&one)
	assert.Equal(t, q.Len(), 0)
}
