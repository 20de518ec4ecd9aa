package archive

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// rootPath is the queue above all others. Its points are those of the cluster.
const rootPath api.QueuePath = "root"

// A sample is the points of all queues but the root at one time. Its numbers stand in one
// list, as there are very many samples:
//
//	numbers of a queue = lengths, used…, guaranteed…, pending…, placements, preemptions
//	lengths            = len(used) | len(guaranteed) << 20 | len(pending) << 40
//	pending            = reason << 48 | asks
//
// If the numbers of all queues are too many, those of the queues farthest below are left out.
type sample struct {
	at      time.Time
	step    int64
	paths   []api.QueuePath
	starts  []int // of the numbers of each path
	numbers []int64
}

// pathValues is how many numbers of eight bytes a path and where it starts take.
const pathValues = 3

// size is how many numbers of eight bytes a sample takes.
func (s *sample) size() int { return len(s.numbers) + pathValues*len(s.paths) }

// newSample makes a sample of at most so many numbers.
func newSample(at time.Time, root *api.QueueView, waiting map[api.QueuePath][]Waiting, flows map[api.QueuePath]flow, most int) *sample {
	s := &sample{at: at}
	level := root.Queues
	for len(level) > 0 {
		var below []*api.QueueView
		for _, q := range level {
			if !s.add(q, waiting[q.Path], flows[q.Path], most) {
				return s.clipped()
			}
			below = append(below, q.Queues...)
		}
		level = below
	}
	return s.clipped()
}

// clipped gives back what the lists have too much.
func (s *sample) clipped() *sample {
	s.paths, s.starts, s.numbers = slices.Clone(s.paths), slices.Clone(s.starts), slices.Clone(s.numbers)
	return s
}

// add adds the numbers of a queue, or says false if they are too many.
func (s *sample) add(q *api.QueueView, waiting []Waiting, f flow, most int) bool {
	used, guaranteed := trimmed(q.Used), trimmed(q.Guaranteed)
	if s.size()+pathValues+3+len(used)+len(guaranteed)+len(waiting) > most {
		return false
	}
	s.paths, s.starts = append(s.paths, q.Path), append(s.starts, len(s.numbers))
	s.numbers = append(s.numbers, int64(len(used)|len(guaranteed)<<20|len(waiting)<<40))
	s.numbers = append(append(s.numbers, used...), guaranteed...)
	for _, w := range waiting {
		s.numbers = append(s.numbers, int64(w.Reason)<<48|w.Asks)
	}
	s.numbers = append(s.numbers, f.placements, f.preemptions)
	return true
}

// trimmed is amounts without the zeros at their end.
func trimmed(a resources.Amounts) resources.Amounts {
	for len(a) > 0 && a[len(a)-1] == 0 {
		a = a[:len(a)-1]
	}
	return a
}

// point is that of one queue, if it was there.
func (s *sample) point(queue api.QueuePath) (Point, bool) {
	i := slices.Index(s.paths, queue)
	if i < 0 {
		return Point{}, false
	}
	numbers := s.numbers[s.starts[i]:]
	lengths := numbers[0]
	next := func(n int64) (out []int64) {
		out, numbers = numbers[:n:n], numbers[n:]
		return out
	}
	next(1)
	p := Point{At: s.at, Used: next(lengths & (1<<20 - 1)), Guaranteed: next(lengths >> 20 & (1<<20 - 1))}
	for _, w := range next(lengths >> 40) {
		p.Pending = append(p.Pending, Waiting{api.Reason(w >> 48), w & (1<<48 - 1)})
	}
	p.Placements, p.Preemptions = numbers[0], numbers[1]
	return p, true
}

// parentOf is the queue above one; empty for the root.
func parentOf(queue api.QueuePath) api.QueuePath {
	return queue[:max(0, strings.LastIndexByte(string(queue), '.'))]
}

// inherited adds what happened in queues to those above them.
func inherited(flows map[api.QueuePath]*flow) map[api.QueuePath]flow {
	out := make(map[api.QueuePath]flow, len(flows))
	for leaf, f := range flows {
		for q := leaf; q != ""; q = parentOf(q) {
			sum := out[q]
			sum.plus(*f)
			out[q] = sum
		}
	}
	return out
}

// waitingIn counts the asks of each queue, and of those above, by why they wait.
func waitingIn(view *api.View) map[api.QueuePath][]Waiting {
	out := map[api.QueuePath][]Waiting{}
	for _, app := range view.Applications {
		var own []Waiting
		for i := range app.Asks {
			own = withWaiting(own, Waiting{app.Asks[i].Reason, 1})
		}
		for q := app.Queue; q != "" && len(own) > 0; q = parentOf(q) {
			sum := out[q]
			for _, one := range own {
				sum = withWaiting(sum, one)
			}
			out[q] = sum
		}
	}
	return out
}

// withWaiting adds asks to a list, which stays ordered by reason.
func withWaiting(list []Waiting, one Waiting) []Waiting {
	i, found := slices.BinarySearchFunc(list, one.Reason, func(w Waiting, reason api.Reason) int { return cmp.Compare(w.Reason, reason) })
	if !found {
		return slices.Insert(list, i, one)
	}
	list[i].Asks += one.Asks
	return list
}
