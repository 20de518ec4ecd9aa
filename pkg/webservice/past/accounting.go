package past

import (
	"context"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// accountJSON is the work of a user in a queue on a day: amounts times seconds.
type accountJSON struct {
	Day       string             `json:"day"` // of Greenwich
	QueueName api.QueuePath      `json:"queueName,omitempty"`
	User      string             `json:"user,omitempty"`
	Used      encoder.Quantities `json:"used,omitempty"`
	Wasted    encoder.Quantities `json:"wasted,omitempty"`    // of that, what was lost as pods were preempted
	Preempted encoder.Quantities `json:"preempted,omitempty"` // what was lost of others, for asks of the user
	Evicted   int64              `json:"evicted,omitempty"`   // the pods of wasted
	Evictions int64              `json:"evictions,omitempty"` // the pods of preempted
}

// Accounts reads the work of a partition on the days that begin with a text, and says as of when that is; zero if it is not known.
type Accounts func(ctx context.Context, partition, day string) (rows []archive.AccountRow, asOf time.Time, err error)

// Accounting answers GET /ws/v1/partition/{partition}/accounting: the work of days, the last day first.
func Accounting(read Accounts) func(*object.Snapshot, *http.Request) (any, error) {
	return func(at *object.Snapshot, r *http.Request) (any, error) {
		if read == nil {
			return nil, failure.New(failure.ErrMissing, "Accounting is not kept; --accounting FILE keeps it")
		}
		p, err := query.Read(r)
		if err != nil {
			return nil, err
		}
		day, _, err := p.One("day")
		if err != nil {
			return nil, err
		}
		rows, asOf, err := read(r.Context(), at.FullName(), strings.TrimSuffix(day, "*"))
		if err != nil {
			return nil, failure.New(failure.ErrUnavailable, "Accounting cannot be read: %v", err)
		}
		list, err := query.List(r, at.Kinds(), accountsOf(rows), func(from *accountJSON, out *accountJSON) { *out = *from },
			query.Texts("day", func(a *accountJSON) string { return a.Day }),
			query.Texts("user", func(a *accountJSON) string { return a.User }),
			object.InQueue(func(a *accountJSON) api.QueuePath { return a.QueueName }))
		if page, ok := list.(*query.Selection); ok {
			page.AsOf = asOf
		}
		return list, err
	}
}

// accountsOf joins the rows of each day, queue and user, which follow each other.
func accountsOf(rows []archive.AccountRow) (out []*accountJSON) {
	for _, r := range rows {
		n := len(out)
		if n == 0 || out[n-1].Day != r.Day || string(out[n-1].QueueName) != r.Queue || out[n-1].User != r.User {
			out = append(out, &accountJSON{
				Day: r.Day, QueueName: api.QueuePath(r.Queue), User: r.User, Used: encoder.Quantities{}, Wasted: encoder.Quantities{}, Preempted: encoder.Quantities{},
			})
			n++
		}
		one := out[n-1]
		if r.Kind == archive.EvictionsKind {
			one.Evicted, one.Evictions = whole(r.Wasted), whole(r.Preempted)
			continue
		}
		for to, value := range map[*encoder.Quantities]float64{&one.Used: r.Used, &one.Wasted: r.Wasted, &one.Preempted: r.Preempted} {
			if value != 0 {
				(*to)[r.Kind] = whole(value)
			}
		}
	}
	return out
}

// whole is a number without its fraction, or the largest one that there is.
func whole(value float64) int64 {
	if value >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(math.Round(value))
}
