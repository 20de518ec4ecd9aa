// Package past answers about what a partition has been, from the archive: plans to make room
// and what came of them, the pods that they chose, and how much of each queue there was.
//
// Read in this order:
//
//	preemptions.go   plans and their victims
//	victims.go       pods by how often they were preempted
//	usehistory.go    queues over time
//	changes.go       what changed in between
package past

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/planned"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// preemptionJSON is a plan to make room, or to bring a queue below its max, and what
// came of it.
type preemptionJSON struct {
	Time          encoder.Nanoseconds `json:"time"`
	Trigger       string              `json:"trigger"`
	AllocationKey api.AllocationKey   `json:"allocationKey,omitempty"` // the ask; none with the trigger quota
	ApplicationID api.ApplicationID   `json:"applicationId,omitempty"`
	QueueName     api.QueuePath       `json:"queueName,omitempty"`
	User          string              `json:"user,omitempty"`
	NodeID        api.NodeID          `json:"nodeId,omitempty"`
	Summary       string              `json:"summary"`
	Lines         []string            `json:"lines"`
	Victims       []evictedJSON       `json:"victims"`
	Outcome       string              `json:"outcome"`
	OutcomeReason string              `json:"outcomeReason,omitempty"`
	OutcomeTime   encoder.Nanoseconds `json:"outcomeTime,omitempty"`
	PlacedNode    api.NodeID          `json:"placedNode,omitempty"` // where the ask runs
}

// evictedJSON is an allocation that was evicted: it is releasing, is overdue because
// it has not ended in time, or has ended.
type evictedJSON struct {
	AllocationKey api.AllocationKey   `json:"allocationKey"`
	ApplicationID api.ApplicationID   `json:"applicationId,omitempty"` // not of another scheduler
	QueueName     api.QueuePath       `json:"queueName,omitempty"`
	User          string              `json:"user,omitempty"`
	Class         string              `json:"class"`
	NodeID        api.NodeID          `json:"nodeId,omitempty"`
	Resource      encoder.Quantities  `json:"resource,omitempty"`
	Priority      int32               `json:"priority,string"`
	OwnPriority   int32               `json:"ownPriority,string"`
	State         string              `json:"state"`
	StartTime     encoder.Nanoseconds `json:"startTime,omitempty"`
	EndTime       encoder.Nanoseconds `json:"endTime,omitempty"`
	RunTime       int64               `json:"runTime,omitempty"`  // until it ended, or was chosen while it runs
	LostWork      encoder.Quantities  `json:"lostWork,omitempty"` // what it held, times the seconds of that
	Wasted        string              `json:"wasted,omitempty"`   // why, if it is wasted
}

// Preemptions answers GET /ws/v1/partition/{partition}/preemptions: the last plans,
// the newest first.
func Preemptions(at *object.Snapshot, r *http.Request) (any, error) {
	span, err := query.Times(r)
	if err != nil {
		return nil, err
	}
	plans := query.Within(span, at.Past().Plans(), func(p *archive.Plan) time.Time { return p.At })
	return query.List(r, at.Kinds(), plans, func(p *archive.Plan, out *preemptionJSON) { fillPreemption(at, p, out) },
		query.CountedWords("trigger", Triggers(), func(p *archive.Plan) string { return p.Trigger.String() }),
		query.By("application", planTest(func(p *archive.Plan) string { return string(p.Application) },
			func(v archive.Victim) string { return string(v.Application) })),
		query.By("node", planTest(func(p *archive.Plan) string { return string(p.Node) },
			func(v archive.Victim) string { return string(v.Node) })),
		query.By("user", planTest(func(p *archive.Plan) string { return p.User }, func(v archive.Victim) string { return v.User })),
		query.By("class", victimClassTest),
		query.By("since", sinceTest),
		query.Truth("victims", func(p *archive.Plan) bool { return len(p.Victims) > 0 }))
}

// planTest picks plans by something of the ask or of a victim.
func planTest(of func(*archive.Plan) string, ofVictim func(archive.Victim) string) func(string) (func(*archive.Plan) bool, error) {
	return func(value string) (func(*archive.Plan) bool, error) {
		matches := query.TextMatch(value)
		return func(p *archive.Plan) bool {
			return matches(of(p)) || slices.ContainsFunc(p.Victims, func(v archive.Victim) bool { return matches(ofVictim(v)) })
		}, nil
	}
}

// sinceTest picks plans by their age.
func sinceTest(value string) (func(*archive.Plan) bool, error) {
	since, err := sinceNanoseconds(value)
	return func(p *archive.Plan) bool { return p.At.UnixNano() >= since }, err
}

func sinceNanoseconds(value string) (int64, error) {
	since, err := strconv.ParseInt(value, 10, 64)
	if err != nil || since < 0 {
		return 0, failure.Bad("Parameter since is %.40q: nanoseconds since 1970 are needed", value)
	}
	return since, nil
}

func fillPreemption(at *object.Snapshot, p *archive.Plan, out *preemptionJSON) {
	*out = preemptionJSON{
		Time: encoder.NanosecondsOf(p.At), Trigger: p.Trigger.String(), AllocationKey: p.Key, ApplicationID: p.Application, QueueName: p.Queue, User: p.User, NodeID: p.Node,
		Summary: planned.Summary(p.Decision, at.Kinds()), Lines: strings.Split(planned.Explain(p.Decision, at.Kinds()), "\n"),
		Outcome: p.Outcome.String(), OutcomeReason: p.Reason, OutcomeTime: encoder.NanosecondsOf(p.Until), PlacedNode: p.On, Victims: []evictedJSON{},
	}
	for i := range p.Victims {
		out.Victims = append(out.Victims, victimOf(at, &p.Victims[i]))
	}
}

func victimOf(at *object.Snapshot, v *archive.Victim) evictedJSON {
	out := evictedJSON{
		AllocationKey: v.Key, ApplicationID: v.Application, QueueName: v.Queue, User: v.User, Class: v.Class.String(), NodeID: v.Node,
		Resource: at.Amounts(v.Amounts), Priority: v.Priority, OwnPriority: v.OwnPriority, State: "releasing",
		StartTime: encoder.NanosecondsOf(v.Started), EndTime: encoder.NanosecondsOf(v.Ended), RunTime: int64(v.Ran()), LostWork: at.Amounts(v.Lost()), Wasted: v.Wasted,
	}
	n := at.Node(v.Node)
	switch {
	case !v.Ended.IsZero():
		out.State = "ended"
	case n != nil && slices.ContainsFunc(n.Evictions, func(l api.Eviction) bool { return l.Key == v.Key && l.Overdue }):
		out.State = "overdue"
	}
	return out
}

var victimClasses = []string{preemptor.Regular.String(), preemptor.Owner.String(), preemptor.Foreign.String(), preemptor.OptedOut.String()}

// Triggers are what preemptions can be picked by, as REST names them.
func Triggers() []string { return query.WordsOf(preemptor.Trigger(preemptor.Triggers)) }

// VictimClasses are the classes that preemptions can be picked by, as REST names them.
func VictimClasses() []string { return slices.Clone(victimClasses) }

// victimClassTest picks plans with a victim of a class.
func victimClassTest(value string) (func(*archive.Plan) bool, error) {
	return func(p *archive.Plan) bool {
		return slices.ContainsFunc(p.Victims, func(v archive.Victim) bool { return v.Class.String() == value })
	}, query.OneOf("class", value, victimClasses)
}
