package timers_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// BenchmarkSet moves one timer of many, and takes the first now and then.
func BenchmarkSet(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			var q timers.Queue
			all := make([]timers.Timer, n)
			for i := range all {
				q.Set(&all[i], start.Add(time.Duration(r.IntN(n))), timers.Due{Of: i})
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				now := time.Duration(i + n)
				q.Set(&all[r.IntN(n)], start.Add(now), timers.Due{Of: i})
				if due, ok := q.Pop(start.Add(now)); ok {
					of := due.Of.(int)
					q.Set(&all[of%n], start.Add(now+time.Duration(r.IntN(n))), timers.Due{Of: of % n})
				}
			}
		})
	}
}
