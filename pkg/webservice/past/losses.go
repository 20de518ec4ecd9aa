package past

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// lossJSON is the work that was lost by preemption in a queue on a day, of a user. What
// another scheduler runs is in no queue and of no user.
type lossJSON struct {
	Day       string             `json:"day"` // of Greenwich
	QueueName api.QueuePath      `json:"queueName,omitempty"`
	User      string             `json:"user,omitempty"`
	Victims   int                `json:"victims"`
	Wasted    int                `json:"wasted,omitempty"` // of these, for nothing
	Running   int                `json:"running,omitempty"`
	RunTime   int64              `json:"runTime"` // of all together that have ended, in nanoseconds
	LostWork  encoder.Quantities `json:"lostWork,omitempty"`

	lost resources.Amounts // becomes LostWork
}

// Losses answers GET /ws/v1/partition/{partition}/losses: what was lost by the plans that
// are kept, the last day first, then by queue and user.
func Losses(at *object.Snapshot, r *http.Request) (any, error) {
	return query.List(r, at.Kinds(), lossesOf(at), func(from *lossJSON, out *lossJSON) { *out = *from },
		query.Texts("day", func(l *lossJSON) string { return l.Day }),
		query.Texts("user", func(l *lossJSON) string { return l.User }),
		object.InQueue(func(l *lossJSON) api.QueuePath { return l.QueueName }))
}

// lossesOf adds up the victims of the plans that are kept. A victim counts on the day on which
// it was chosen. What one has that still runs is not lost yet.
func lossesOf(at *object.Snapshot) []*lossJSON {
	type place struct {
		day   string
		queue api.QueuePath
		user  string
	}
	known := map[place]*lossJSON{}
	var out []*lossJSON
	for _, plan := range at.Past().Plans() {
		for i := range plan.Victims {
			v := &plan.Victims[i]
			on := place{plan.At.UTC().Format(time.DateOnly), v.Queue, v.User}
			one := known[on]
			if one == nil {
				one = &lossJSON{Day: on.day, QueueName: v.Queue, User: v.User}
				known[on], out = one, append(out, one)
			}
			one.Victims++
			if v.Wasted != "" {
				one.Wasted++
			}
			if v.Ended.IsZero() {
				one.Running++
				continue
			}
			one.RunTime += int64(v.Ran())
			one.lost.Add(v.Lost())
		}
	}
	for _, one := range out {
		one.LostWork = at.Amounts(one.lost)
	}
	slices.SortFunc(out, func(a, b *lossJSON) int {
		return cmp.Or(strings.Compare(b.Day, a.Day), cmp.Compare(a.QueueName, b.QueueName), strings.Compare(a.User, b.User))
	})
	return out
}
