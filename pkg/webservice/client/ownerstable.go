package client

import (
	"cmp"
	"strconv"
	"time"
)

// An Owner is a user or a group of users, and what is theirs in each queue.
type Owner struct {
	User         string `json:"userName"`
	Group        string `json:"groupName"`
	LimitPercent *int64 `json:"limitPercent"` // the part of a limit that is used most; nil where nothing is limited
	Usage        *Usage `json:"queues"`
}

// Usage is what is used and waits in a queue and below.
type Usage struct {
	Queue       string   `json:"queuePath"`
	Used        Amounts  `json:"resourceUsage"`
	PendingAsks int      `json:"pendingAsks"`
	Oldest      int64    `json:"oldestRequestTime"` // of those that wait, in nanoseconds since 1970
	Arrivals    int      `json:"arrivals"`          // in the last five minutes
	Children    []*Usage `json:"children"`
}

// An Application is an active application.
type Application struct {
	ID          string  `json:"applicationID"`
	Queue       string  `json:"queueName"`
	User        string  `json:"user"`
	State       string  `json:"applicationState"`
	Used        Amounts `json:"heldResource"` // placeholders included
	PendingAsks int     `json:"pendingAsks"`
	Oldest      int64   `json:"oldestRequestTime"`
	Submitted   int64   `json:"submissionTime"`
}

// ApplicationFields are the fields of an application that a table needs: the others are its
// allocations and asks, of which there may be very many.
const ApplicationFields = "applicationID,queueName,user,applicationState,heldResource,pendingAsks,oldestRequestTime,submissionTime"

// OwnersTable shows users, or groups of users: what waits of each, since when, how much came lately
// and what is used; in all, and then in each leaf queue if there are several.
func OwnersTable(owners []*Owner, now time.Time) *Table {
	t := &Table{Headings: []string{"USER", "QUEUE", "PENDING", "OLDEST", "CAME IN 5M", "USES", "OF ITS LIMIT"}, numbers: []int{2, 4, 6}}
	for _, o := range owners {
		if o.Group != "" {
			t.Headings[0] = "GROUP"
		}
		tone, limit := Plain, "-"
		if o.LimitPercent != nil {
			limit = strconv.FormatInt(*o.LimitPercent, 10) + "%"
			if *o.LimitPercent > 100 {
				tone = Bad
			}
		}
		leaves := o.Usage.leaves()
		queue := o.Usage.Queue
		if len(leaves) == 1 {
			queue = leaves[0].Queue
		}
		t.addIn(tone, o.Usage.row(orDash(cmp.Or(o.Group, o.User)), queue, limit, now)...)
		for _, leaf := range leaves {
			if len(leaves) > 1 {
				t.add(leaf.row("", leaf.Queue, "", now)...)
			}
		}
	}
	return t
}

func (u *Usage) row(name, queue, limit string, now time.Time) []string {
	return []string{name, queue, strconv.Itoa(u.PendingAsks), waitOf(u.Oldest, now), strconv.Itoa(u.Arrivals), u.Used.String(), limit}
}

// leaves are the queues below without any below them.
func (u *Usage) leaves() (all []*Usage) {
	if len(u.Children) == 0 {
		return []*Usage{u}
	}
	for _, child := range u.Children {
		all = append(all, child.leaves()...)
	}
	return all
}

// waitOf is how long the oldest ask waits; a dash if none does.
func waitOf(oldest int64, now time.Time) string {
	if oldest == 0 {
		return "-"
	}
	return Age(now.Sub(time.Unix(0, oldest)))
}

// ApplicationsTable shows applications: what they use and what waits of them.
func ApplicationsTable(applications []*Application, now time.Time) *Table {
	t := &Table{Headings: []string{"NAME", "QUEUE", "USER", "STATE", "PENDING", "OLDEST", "USES", "AGE"}, numbers: []int{4}}
	for _, a := range applications {
		t.add(a.ID, a.Queue, orDash(a.User), a.State, strconv.Itoa(a.PendingAsks), waitOf(a.Oldest, now), a.Used.String(),
			Age(now.Sub(time.Unix(0, a.Submitted))))
	}
	return t
}
