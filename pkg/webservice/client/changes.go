package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A Change is what changed at one time.
type Change struct {
	Time    int64    `json:"time"` // nanoseconds since 1970
	Kind    string   `json:"kind"`
	Summary string   `json:"summary"`
	Lines   []string `json:"lines"` // of a configuration, one for each field
}

// Changes are what changed, the newest first: all that is kept, or those that the parameters of REST pick.
func (c *Client) Changes(ctx context.Context, where ...url.Values) (Answer[[]*Change], error) {
	return ask[[]*Change](ctx, c, http.MethodGet, picked("changes", where), nil)
}

// ChangesTable shows what changed, in the time of a place.
func ChangesTable(changes []*Change, in *time.Location) *Table {
	t := &Table{Headings: []string{"TIME", "WHAT", "CHANGE"}}
	for _, c := range changes {
		t.add(time.Unix(0, c.Time).In(in).Format("01-02 15:04:05"), c.Kind, c.Summary)
		for _, line := range c.Lines {
			t.add("", "", "  "+line)
		}
	}
	return t
}

// timeLayouts are how people write a time with its day.
var timeLayouts = []string{time.RFC3339Nano, time.DateTime, "2006-01-02 15:04", time.DateOnly}

// TimeAt is the time that people mean: 14:03 is the last one that was, 30m is so long ago, and a time with its day is that one,
// in the time of the place of now where it names none.
func TimeAt(text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{"15:04", time.TimeOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			moment := time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, now.Location())
			if moment.After(now) {
				moment = moment.AddDate(0, 0, -1)
			}
			return moment, nil
		}
	}
	for _, layout := range timeLayouts {
		if at, err := time.ParseInLocation(layout, strings.TrimSpace(text), now.Location()); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: it is written like 14:03, 2h30m for so long ago, %q or 2026-01-31T14:03:00Z", text, "2026-01-31 14:03")
}
