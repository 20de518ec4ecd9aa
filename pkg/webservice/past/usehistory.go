package past

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// pointJSON is how much there was of a queue at one moment.
type pointJSON struct {
	Timestamp   encoder.Nanoseconds `json:"timestamp"`
	Used        encoder.Quantities  `json:"used,omitempty"`
	Guaranteed  encoder.Quantities  `json:"guaranteed,omitempty"`
	Capacity    encoder.Quantities  `json:"capacity,omitempty"` // of the root only
	Occupied    encoder.Quantities  `json:"occupied,omitempty"` // the same
	PendingBy   map[string]int64    `json:"pendingBy"`
	Placements  int64               `json:"placements"`
	Preemptions int64               `json:"preemptions"`
}

// UseHistory answers GET /ws/v1/partition/{partition}/history: the points of a queue, the
// oldest first. As with other lists there are none of a queue that is not known.
func UseHistory(at *object.Snapshot, r *http.Request) (any, error) {
	p, err := query.Read(r)
	if err != nil {
		return nil, err
	}
	named, _, err := p.One("queue")
	if err != nil {
		return nil, err
	}
	step, err := stepAsked(p)
	if err != nil {
		return nil, err
	}
	span, err := query.Times(r)
	if err != nil {
		return nil, err
	}
	queue := api.QueuePath(strings.ToLower(cmp.Or(named, string(at.Root.Path))))
	points := query.Within(span, at.Past().History(queue, time.Time{}), func(p archive.Point) time.Time { return p.At })
	if step > 0 {
		points = archive.Merge(points, step)
	}
	return query.List(r, at.Kinds(), points, fillPoint(at), query.By("since", pointsSince))
}

// stepAsked is the time in which there is one point; zero is that of the archive.
func stepAsked(p query.Parameters) (time.Duration, error) {
	value, given, err := p.One("step")
	if err != nil || !given {
		return 0, err
	}
	step, err := strconv.ParseInt(value, 10, 64)
	if err != nil || step <= 0 {
		return 0, failure.Bad("Parameter step is %.40q: nanoseconds, more than 0, are needed", value)
	}
	return time.Duration(step), nil
}

// pointsSince picks points by their age.
func pointsSince(value string) (func(archive.Point) bool, error) {
	since, err := sinceNanoseconds(value)
	return func(p archive.Point) bool { return p.At.UnixNano() >= since }, err
}

func fillPoint(at *object.Snapshot) func(archive.Point, *pointJSON) {
	return func(p archive.Point, out *pointJSON) {
		*out = pointJSON{
			Timestamp: encoder.NanosecondsOf(p.At), Used: at.Amounts(p.Used), Guaranteed: at.Amounts(p.Guaranteed),
			Capacity: at.Amounts(p.Capacity), Occupied: at.Amounts(p.Occupied),
			PendingBy: map[string]int64{}, Placements: p.Placements, Preemptions: p.Preemptions,
		}
		for _, w := range p.Pending {
			out.PendingBy[w.Reason.String()] = w.Asks
		}
	}
}
