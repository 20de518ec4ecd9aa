// Package doctor finds what is wrong with a partition now: what starves, what floods it, what stands
// idle or hangs, and what can never come true. It says of each finding why, since when and for which asks that
// is bad, and what would help. A remedy is tried on a copy of the partition, or it is said that none was.
//
// Examine reads a view and asks what a Trial allows. It changes nothing. Its work is bounded: a few looks at
// each queue, node and ask, and at most triedMax trials, each linear in the size of the view.
//
// Read in this order:
//
//	doctor.go      Finding, Report, Examine, their order
//	starving.go    queues that lack what is guaranteed to them
//	floods.go      users and applications of which most asks are that wait
//	devices.go     devices that are idle on nodes where other kinds are full
//	victims.go     evictions that do not end
//	nodes.go       nodes that take nothing new; nodes that went
//	impossible.go  asks that can run nowhere; rooms that are made in vain again and again
//	refused.go     asks that every node refuses which could hold them
//	groups.go      groups of which too little runs
//	overmax.go     queues that use more than they may
//	quotas.go      queues, users and groups whose asks wait as they use all they may
//	limits.go      guarantees and limits that are out of reach
//	remedies.go    what was tried
//	text.go        the report for people to read
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Kind is what a finding is of.
type Kind uint8

// The kinds, in the order in which those of the same severity and harm are told.
const (
	Starving Kind = iota
	Hanging
	IdleDevices
	Impossible
	LoopStopped
	Flood
	ClosedNodes
	LostNodes
	BrokenGroup
	OverMax
	AtQuota
	OutOfReach

	kindsEnd
)

var kindWords = [kindsEnd]string{
	Starving: "starving queue", Hanging: "hanging eviction", IdleDevices: "idle devices", Impossible: "impossible ask",
	LoopStopped: "loop stopped", Flood: "flood", ClosedNodes: "closed nodes", LostNodes: "lost nodes", BrokenGroup: "broken group",
	OverMax: "queue over its max", AtQuota: "waiting for quota", OutOfReach: "out of reach",
}

func (k Kind) String() string { return kindWords[k] }

// A Severity is how soon people should look.
type Severity uint8

// The severities: something is owed to asks that wait; something is wrong that will not pass by itself;
// something is good to know.
const (
	Urgent Severity = iota
	Wrong
	Note
)

var severityWords = [...]string{Urgent: "urgent", Wrong: "wrong", Note: "note"}

func (s Severity) String() string { return severityWords[s] }

// A Finding is one thing that is wrong.
type Finding struct {
	Kind     Kind
	Severity Severity
	Subject  string // the queue, user, application, node or kind of resource that it is about
	Cause    string // one sentence, without a full stop
	Since    time.Time
	SinceOf  string // what that is the time of; the time is zero, and this empty, if it is not known

	// For which asks it is bad: how many, and of the one that waits longest, or the worst, its key, its queue and user.
	Asks        int
	Queue       api.QueuePath
	User        string
	Application api.ApplicationID
	Key         api.AllocationKey

	// Remedy is what would help, or why nothing is known. Tried says that it was tried on a copy.
	Remedy string
	Tried  bool
	Detail string // what else is known of it; may be empty

	of  int                              // asks that it is about, if that are others than it is bad for
	try func(e *examination, f *Finding) // finds the remedy; nil if it is there
	as  *Finding                         // an earlier one of the same cause; nil if there is none
}

// Looked is how much was looked at.
type Looked struct{ Queues, Nodes, Applications, Asks, Evictions, Limits int }

// A Report is what was found, the worst first.
type Report struct {
	Findings []Finding
	More     map[Kind]int // that are left out, as there are too many of a kind
	Looked   Looked
	Partial  bool // the time was over before all remedies were tried
}

// IsWell reports whether there is nothing that is more than a note.
func (r *Report) IsWell() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity != Note })
}

const (
	foundMax = 20 // findings that are told of a kind
	triedMax = 10 // remedies that are tried
)

// An examination is one look at a partition.
type examination struct {
	ctx     context.Context
	view    *api.View
	kinds   *resources.Kinds
	trial   explain.Trial
	past    *archive.Book
	changes []archive.Change                         // those of the past, the newest first
	byLeaf  map[api.QueuePath][]*api.ApplicationView // those with asks
	never   *never
	found   []Finding
	looked  Looked
	tried   int
	// refusedBefore are the asks that were refused on all nodes with room as long as the nodes that went were there, most likely there too.
	refusedBefore map[api.AllocationKey]bool
	atRest        *explain.Would // what would run if nothing was done
	partial       bool
}

// Examine finds what is wrong in a view. Kinds must be those of the view. Remedies are tried as long as the
// context lasts; the findings themselves do not depend on it. The past is that of the partition, nil if it is not known.
func Examine(ctx context.Context, view *api.View, kinds *resources.Kinds, trial explain.Trial, past *archive.Book) *Report {
	e := &examination{ctx: ctx, view: view, kinds: kinds, trial: trial, past: past, changes: past.Changes(), byLeaf: map[api.QueuePath][]*api.ApplicationView{}}
	e.never = newNever(e)
	e.looked.Nodes, e.looked.Applications = len(view.Nodes), len(view.Applications)
	for _, app := range view.Applications {
		e.looked.Asks += len(app.Asks)
		if len(app.Asks) > 0 {
			e.byLeaf[app.Queue] = append(e.byLeaf[app.Queue], app)
		}
	}
	e.starving(view.Root)
	e.floods()
	e.devices()
	e.victims()
	e.closedNodes()
	e.lostNodes()
	e.groups()
	e.overMax(view.Root)
	e.impossible()
	e.refused()
	e.loops()
	e.atQuota()
	e.limits()
	return e.report()
}

// report orders what was found, leaves out what is too much, and tries remedies of the worst.
func (e *examination) report() *Report {
	slices.SortStableFunc(e.found, compare)
	e.same()
	r := &Report{More: map[Kind]int{}, Looked: e.looked}
	var told [kindsEnd]int
	for i := range e.found {
		f := &e.found[i]
		if told[f.Kind]++; told[f.Kind] > foundMax {
			r.More[f.Kind]++
			continue
		}
		switch {
		case f.as != nil && f.Kind.triesFirst() && f.as.Kind.triesFirst(): // the same would be tried of the same ask
			f.Remedy, f.Tried = f.as.Remedy, f.as.Tried
		case f.try != nil:
			e.remedy(f)
		}
		if f.as != nil {
			f.Detail = strings.TrimSuffix(fmt.Sprintf("the same asks wait as above, %s, %s; %s", f.as.Kind, f.as.Subject, f.Detail), "; ")
		}
		r.Findings = append(r.Findings, *f)
	}
	r.Partial = e.partial
	return r
}

// same says of each finding that is urgent, or about quota, whether an earlier one is about the same ask, and so has the same cause.
func (e *examination) same() {
	first := map[api.AllocationKey]*Finding{}
	for i := range e.found {
		f := &e.found[i]
		if f.Key == "" || f.Severity != Urgent && f.Kind != IdleDevices && f.Kind != AtQuota {
			continue
		}
		if as := first[f.Key]; as != nil {
			f.as = as
			continue
		}
		first[f.Key] = f
	}
}

// compare orders findings: by severity, the number of asks, kind and name.
func compare(a, b Finding) int {
	return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(max(b.Asks, b.of), max(a.Asks, a.of)), cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Subject, b.Subject))
}

// askOf is an ask that waits, and its application.
type askOf struct {
	*api.AskView
	of *api.ApplicationView
}

// eachAsk visits the asks that wait in a queue and below it and have been tried.
func (e *examination) eachAsk(q *api.QueueView, visit func(askOf)) {
	for _, app := range e.byLeaf[q.Path] {
		for i := range app.Asks {
			if app.Asks[i].Reason != api.NotTried {
				visit(askOf{&app.Asks[i], app})
			}
		}
	}
	for _, child := range q.Queues {
		e.eachAsk(child, visit)
	}
}

// A harm is which asks a finding is bad for.
type harm struct {
	asks  int
	first askOf // the one that waits longest; of those nothing is done for, if there is one
}

// add adds an ask.
func (h *harm) add(a askOf) {
	h.asks++
	if h.first.AskView == nil || a.before(h.first) {
		h.first = a
	}
}

// before is the order in which asks are named: those first for which no room is made.
func (a askOf) before(b askOf) bool {
	if (a.Nominated == "") != (b.Nominated == "") {
		return a.Nominated == ""
	}
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(string(a.Key), string(b.Key))) < 0
}

// to writes the harm into a finding.
func (h *harm) to(f *Finding) {
	f.Asks = h.asks
	if a := h.first; a.AskView != nil {
		f.Queue, f.User, f.Application, f.Key = a.of.Queue, a.of.User, a.of.ID, a.Key
		if f.Since.IsZero() {
			f.Since, f.SinceOf = a.Created, "the oldest ask"
		}
	}
}

// add adds a finding.
func (e *examination) add(f Finding) { e.found = append(e.found, f) }
