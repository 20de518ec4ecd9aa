package webservice

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// preemptionJSON is a plan to make room, or to have a queue give back, and what
// came of it.
type preemptionJSON struct {
	Time          time.Time          `json:"time"`
	Trigger       string             `json:"trigger"`
	AllocationKey core.AllocationKey `json:"allocationKey,omitempty"` // the ask, unless a queue gives back
	ApplicationID core.ApplicationID `json:"applicationId,omitempty"`
	QueueName     core.QueuePath     `json:"queueName,omitempty"`
	NodeID        core.NodeID        `json:"nodeId,omitempty"`
	Verdict       string             `json:"verdict"`
	Lines         []string           `json:"lines"`
	Victims       []evictedJSON      `json:"victims"`
	Outcome       string             `json:"outcome"`
	OutcomeReason string             `json:"outcomeReason,omitempty"`
	OutcomeTime   time.Time          `json:"outcomeTime,omitempty"`
	PlacedNode    core.NodeID        `json:"placedNode,omitempty"` // where the ask runs
}

// evictedJSON is an allocation that was told to go: it leaves, is stuck because it
// has not gone in time, or has ended.
type evictedJSON struct {
	AllocationKey core.AllocationKey `json:"allocationKey"`
	ApplicationID core.ApplicationID `json:"applicationId,omitempty"` // not of another scheduler
	QueueName     core.QueuePath     `json:"queueName,omitempty"`
	NodeID        core.NodeID        `json:"nodeId,omitempty"`
	Resource      resources.Amounts  `json:"resource,omitempty"`
	Priority      int32              `json:"priority,string"`
	State         string             `json:"state"`
	EndTime       time.Time          `json:"endTime,omitempty"`
}

// preemptions answers GET /ws/v1/partition/{partition}/preemptions: the last plans,
// the newest first.
func (s *Service) preemptions(r *http.Request) (any, error) {
	at, err := s.snapshot(r)
	if err != nil {
		return nil, err
	}
	return list(r, at.past.Plans(), at.fillPreemption,
		texts("trigger", func(p *archive.Plan) string { return p.Trigger.String() }),
		filter[*archive.Plan]{name: "application", test: planTest(func(p *archive.Plan) string { return string(p.Application) },
			func(v archive.Victim) string { return string(v.Application) })},
		filter[*archive.Plan]{name: "node", test: planTest(func(p *archive.Plan) string { return string(p.Node) },
			func(v archive.Victim) string { return string(v.Node) })},
		filter[*archive.Plan]{name: "since", test: sinceTest})
}

// planTest picks plans by something of the ask or of a victim.
func planTest(of func(*archive.Plan) string, ofVictim func(archive.Victim) string) func(string) (func(*archive.Plan) bool, error) {
	return func(value string) (func(*archive.Plan) bool, error) {
		matches := textMatch(value)
		return func(p *archive.Plan) bool {
			return matches(of(p)) || slices.ContainsFunc(p.Victims, func(v archive.Victim) bool { return matches(ofVictim(v)) })
		}, nil
	}
}

// sinceTest picks plans by their age.
func sinceTest(value string) (func(*archive.Plan) bool, error) {
	since, err := strconv.ParseInt(value, 10, 64)
	if err != nil || since < 0 {
		return nil, bad("Parameter since is %.40q: nanoseconds since 1970 are needed", value)
	}
	return func(p *archive.Plan) bool { return p.At.UnixNano() >= since }, nil
}

func (at *snapshot) fillPreemption(p *archive.Plan, out *preemptionJSON) {
	*out = preemptionJSON{
		Time: p.At, Trigger: p.Trigger.String(), AllocationKey: p.Key, ApplicationID: p.Application, QueueName: p.Queue, NodeID: p.Node,
		Verdict: p.Decision.Summary(at.kinds), Lines: strings.Split(p.Decision.Explain(at.kinds), "\n"),
		Outcome: p.Outcome.String(), OutcomeReason: p.Reason, OutcomeTime: p.Until, PlacedNode: p.On,
	}
	for i := range p.Victims {
		out.Victims = append(out.Victims, at.victimOf(&p.Victims[i]))
	}
}

func (at *snapshot) victimOf(v *archive.Victim) evictedJSON {
	out := evictedJSON{
		AllocationKey: v.Key, ApplicationID: v.Application, QueueName: v.Queue, NodeID: v.Node,
		Resource: v.Amounts, Priority: v.Priority, State: "leaving", EndTime: v.Ended,
	}
	n := at.node(v.Node)
	switch {
	case !v.Ended.IsZero():
		out.State = "ended"
	case n != nil && slices.ContainsFunc(n.Evictions, func(l core.Eviction) bool { return l.Key == v.Key && l.Overdue }):
		out.State = "stuck"
	}
	return out
}
