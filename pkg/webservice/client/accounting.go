package client

import (
	"context"
	"encoding/csv"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An Account is the work of a user in a queue on a day: amounts times seconds.
type Account struct {
	Day       string  `json:"day"`
	Queue     string  `json:"queueName"`
	User      string  `json:"user"`
	Used      Amounts `json:"used"`
	Wasted    Amounts `json:"wasted"`    // of that, what was lost as pods were preempted
	Preempted Amounts `json:"preempted"` // what was lost of others, for asks of the user
	Evicted   int64   `json:"evicted"`   // the pods of Wasted
	Evictions int64   `json:"evictions"` // the pods of Preempted
}

// Accounting is the work of queues and users by day: all that is kept, or that which the parameters of REST pick.
func (c *Client) Accounting(ctx context.Context, where ...url.Values) (Answer[[]*Account], error) {
	return ask[[]*Account](ctx, c, http.MethodGet, picked("accounting", where), nil)
}

// AccountingTable shows work in hours, and beside what was lost or taken how many pods that is of. Below
// it says when that was written, unless that is zero.
func AccountingTable(accounts []*Account, asOf time.Time) *Table {
	t := &Table{Headings: []string{"DAY", "QUEUE", "USER", "USED, HOURS", "LOST", "PODS", "TAKEN", "PODS"}, numbers: []int{5, 7}}
	for _, a := range accounts {
		t.add(a.Day, orDash(a.Queue), orDash(a.User), a.Used.hours(), a.Wasted.hours(), strconv.FormatInt(a.Evicted, 10), a.Preempted.hours(), strconv.FormatInt(a.Evictions, 10))
	}
	if !asOf.IsZero() {
		t.below = "as of " + asOf.Local().Format(time.DateTime)
	}
	return t
}

// AccountingCSV writes work for spreadsheets, a line for each kind: cores, GiB or pieces times hours. The kind
// "preemptions" counts pods.
func AccountingCSV(out io.Writer, accounts []*Account) error {
	w := csv.NewWriter(out)
	lines := [][]string{{"day", "queue", "user", "kind", "used", "lost", "taken"}}
	for _, a := range accounts {
		kinds := maps.Clone(a.Used)
		if kinds == nil {
			kinds = Amounts{}
		}
		maps.Copy(kinds, a.Wasted)
		maps.Copy(kinds, a.Preempted)
		for _, kind := range slices.SortedFunc(maps.Keys(kinds), resources.CompareKinds) {
			lines = append(lines, []string{a.Day, a.Queue, a.User, label(kind), inHours(kind, a.Used[kind]), inHours(kind, a.Wasted[kind]), inHours(kind, a.Preempted[kind])})
		}
		if a.Evicted > 0 || a.Evictions > 0 {
			lines = append(lines, []string{a.Day, a.Queue, a.User, "preemptions", "", strconv.FormatInt(a.Evicted, 10), strconv.FormatInt(a.Evictions, 10)})
		}
	}
	return w.WriteAll(lines)
}

func inHours(kind string, quantity int64) string {
	value := float64(quantity) / time.Hour.Seconds()
	switch {
	case resources.InThousandths(kind):
		value /= 1000
	case resources.InBytes(kind):
		value /= 1 << 30
	}
	return strconv.FormatFloat(value, 'f', 3, 64)
}
