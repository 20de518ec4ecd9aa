package archive

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// historyPoints is in how many steps the length of a history is divided, so it is the most
// points of the cluster, and of one queue.
const historyPoints = 1080

// Of all points of queues together no more than historyValues numbers of eight bytes are
// kept, which is 64 MiB, and those of one more moment, which are historyValues/8 at most.
const historyValues = 8 << 20

// A Point is how much there was of a queue, with everything below it, at one moment.
type Point struct {
	At               time.Time
	Used, Guaranteed resources.Amounts
	// Capacity is that of all nodes, and Occupied what other schedulers use of it. Only
	// points of the root queue have them.
	Capacity, Occupied resources.Amounts
	Pending            []Waiting // ordered by reason
	// Placements and Preemptions are how many pods were placed and chosen as victims since
	// the point before.
	Placements, Preemptions int64
}

// Waiting is how many asks wait for one reason.
type Waiting struct {
	Reason api.Reason
	Asks   int64
}

// A flow is what happened in a queue since its last point.
type flow struct{ placements, preemptions int64 }

func (f *flow) plus(other flow) {
	f.placements += other.placements
	f.preemptions += other.preemptions
}

// history is the points of the last hours. Those of the cluster come step by step. Those of
// queues come as often as the memory allows: after a moment that took n numbers none is
// kept for n/values of the whole length. So what is kept within that length is at most
// values and the last moment.
type history struct {
	step    time.Duration
	values  int           // most numbers of queues, besides those of one moment
	cluster ring[Point]   // at most historyPoints
	queues  ring[*sample] // the same
	last    int64         // step of the last point
	rest    int64         // step from which on points of queues are kept again
	seen    bool          // there was a point, so that what happens is counted

	whole flow // since the last point of the cluster
	// byLeaf is what happened since the last point of queues, by the queue of the
	// application. It has flowsMax queues at most; what happens in others counts for
	// the cluster only.
	byLeaf map[api.QueuePath]*flow
}

// flowsMax is far more queues than a partition can have at once.
const flowsMax = 1 << 16

func newHistory(length time.Duration) history {
	return history{step: stepOf(length), values: historyValues, byLeaf: map[api.QueuePath]*flow{}}
}

// stepOf is the time from one point to the next. It is a whole number of seconds.
func stepOf(length time.Duration) time.Duration {
	return max((length / historyPoints).Truncate(time.Second), time.Second)
}

// count adds what happened in a queue; an empty one is not known.
func (h *history) count(queue api.QueuePath, one flow) {
	if !h.seen {
		return
	}
	h.whole.plus(one)
	f := h.byLeaf[queue]
	if f == nil {
		if queue == "" || len(h.byLeaf) == flowsMax {
			return
		}
		f = new(flow)
		h.byLeaf[queue] = f
	}
	f.plus(one)
}

// HistoryStep is how often Sample is to be called.
func (a *Archive) HistoryStep() time.Duration { return stepOf(a.config.History) }

// Sample keeps how much there is in a view of the partition, as a point of its history. It
// keeps one in each step, so it can be called too often. A clock that goes back is waited
// for.
func (b *Book) Sample(now time.Time, view *api.View) {
	if b == nil || view == nil || view.Root == nil {
		return
	}
	waiting := waitingIn(view)
	b.mu.Lock()
	defer b.mu.Unlock()
	h := &b.history
	step := now.UnixNano() / int64(h.step)
	if h.seen && step <= h.last {
		return
	}
	b.lives.sample(now, b.since, step, view)
	root := view.Root
	h.cluster.add(Point{
		At: now, Used: root.Used.Clone(), Guaranteed: root.Guaranteed.Clone(), Capacity: view.Capacity.Clone(), Occupied: view.Occupied.Clone(),
		Pending: waiting[root.Path], Placements: h.whole.placements, Preemptions: h.whole.preemptions,
	})
	if step >= h.rest {
		s := newSample(now, root, waiting, inherited(h.byLeaf), h.values/8)
		s.step = step
		h.queues.add(s)
		h.rest = step + max(1, (int64(s.size())*historyPoints+int64(h.values)-1)/int64(h.values))
		h.byLeaf = map[api.QueuePath]*flow{}
	}
	h.seen, h.last, h.whole = true, step, flow{}
	h.forget()
}

// forget drops what is older than the length.
func (h *history) forget() {
	for h.cluster.len() > 0 && h.cluster.all()[0].At.UnixNano()/int64(h.step) <= h.last-historyPoints {
		h.cluster.drop()
	}
	for h.queues.len() > 0 && h.queues.all()[0].step <= h.last-historyPoints {
		h.queues.drop()
	}
}

// History is the points of a queue from a time on, the oldest first. A queue that was away
// has none of that time. The points are shared and must not be changed.
func (b *Book) History(queue api.QueuePath, since time.Time) (out []Point) {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	cluster, samples := append([]Point(nil), b.history.cluster.all()...), append([]*sample(nil), b.history.queues.all()...)
	b.mu.Unlock()
	if queue == rootPath {
		for _, p := range cluster {
			if !p.At.Before(since) {
				out = append(out, p)
			}
		}
		return out
	}
	for _, s := range samples {
		if s.at.Before(since) {
			continue
		}
		if p, known := s.point(queue); known {
			out = append(out, p)
		}
	}
	return out
}

// Merge makes one point of all that are within a step: the last of them, with what happened
// since the step before.
func Merge(points []Point, step time.Duration) []Point {
	var out []Point
	for _, p := range points {
		if n := len(out); n > 0 && out[n-1].At.UnixNano()/int64(step) == p.At.UnixNano()/int64(step) {
			p.Placements += out[n-1].Placements
			p.Preemptions += out[n-1].Preemptions
			out[n-1] = p
			continue
		}
		out = append(out, p)
	}
	return out
}
