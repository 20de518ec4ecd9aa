package webservice

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// explanationJSON says why an ask waits, or an allocation was told to go, which may
// have gone since. The lines are the same for people.
type explanationJSON struct {
	AllocationKey core.AllocationKey `json:"allocationKey"`
	ApplicationID core.ApplicationID `json:"applicationId"`
	QueueName     core.QueuePath     `json:"queueName"`
	NodeID        core.NodeID        `json:"nodeId,omitempty"` // where it runs, or ran
	Why           string             `json:"why,omitempty"`
	Detail        string             `json:"detail,omitempty"`
	NominatedNode core.NodeID        `json:"nominatedNode,omitempty"`
	Nodes         []nodeGroupJSON    `json:"nodes,omitempty"`
	Quota         []quotaJSON        `json:"quota,omitempty"`
	Before        int                `json:"before,omitempty"` // asks of its application that come before it
	Plan          *planJSON          `json:"plan,omitempty"`
	Leaving       *departureJSON     `json:"leaving,omitempty"`
	Lines         []string           `json:"lines"`
}

// nodeGroupJSON is the nodes that have the first reason in common that keeps the
// ask away. Every node is in one group.
type nodeGroupJSON struct {
	Why     string             `json:"why"`
	Nodes   int                `json:"nodes"`
	Nearest core.NodeID        `json:"nearest"`
	Lacking resources.Amounts  `json:"lacking,omitempty"`
	For     core.AllocationKey `json:"for,omitempty"`
}

// quotaJSON is a queue on the way from the leaf to the root.
type quotaJSON struct {
	QueueName core.QueuePath    `json:"queueName"`
	Used      resources.Amounts `json:"used,omitempty"`
	Max       resources.Limits  `json:"max,omitempty"`
	Promised  resources.Amounts `json:"promised,omitempty"`
	Lacking   resources.Amounts `json:"lacking,omitempty"`
}

type planJSON struct {
	Time    time.Time `json:"time"`
	Verdict string    `json:"verdict"`
	Lines   []string  `json:"lines"`
}

type departureJSON struct {
	Time    time.Time          `json:"time"`
	Trigger string             `json:"trigger"`
	For     core.AllocationKey `json:"for,omitempty"`
	Stuck   bool               `json:"stuck,omitempty"`
	EndTime time.Time          `json:"endTime,omitempty"` // when it had gone
	Plan    *planJSON          `json:"plan,omitempty"`
}

// explain answers GET
// /ws/v1/partition/{partition}/application/{application}/allocation/{allocation}/explain.
func (s *Service) explain(r *http.Request) (any, error) {
	at, err := s.snapshot(r)
	if err != nil {
		return nil, err
	}
	application, key := core.ApplicationID(r.PathValue("application")), core.AllocationKey(r.PathValue("allocation"))
	answer, err := explain.Ask(at.View, at.kinds, application, key)
	plan := at.past.PlanOf(application, key)
	switch {
	case errors.Is(err, explain.ErrUnknown) && plan != nil:
		return object(r, at.farewell(plan, plan.Victim(key)))
	case errors.Is(err, explain.ErrUnknown):
		return nil, missing("Allocation")
	case err != nil:
		return nil, err
	}
	if l := answer.Leaving; l != nil && l.Plan == nil && plan != nil {
		l.Plan = at.kept(plan)
	}
	return object(r, explanationOf(answer))
}

// kept is a plan of the archive.
func (at *snapshot) kept(p *archive.Plan) *explain.Plan {
	return &explain.Plan{At: p.At, Verdict: p.Decision.Summary(at.kinds), Lines: strings.Split(p.Decision.Explain(at.kinds), "\n")}
}

// farewell says why an allocation is gone that was told to go.
func (at *snapshot) farewell(p *archive.Plan, v *archive.Victim) *explanationJSON {
	plan := at.kept(p)
	out := &explanationJSON{
		AllocationKey: v.Key, ApplicationID: v.Application, QueueName: v.Queue, NodeID: v.Node,
		Leaving: &departureJSON{Time: p.At, Trigger: p.Trigger.String(), For: p.Key, EndTime: v.Ended, Plan: planOf(plan)},
	}
	add := func(name, format string, args ...any) {
		out.Lines = append(out.Lines, fmt.Sprintf("  %-10s", name)+fmt.Sprintf(format, args...))
	}
	out.Lines = []string{fmt.Sprintf("%s of application %s ran on node %s, in queue %s", v.Key, v.Application, v.Node, v.Queue)}
	add("held", "%s, priority %d", at.kinds.Format(v.Amounts), v.Priority)
	if p.Key == "" {
		add("left", "by %s of queue %s", p.Trigger, p.Queue)
	} else {
		add("left", "by %s for %s of application %s in queue %s", p.Trigger, p.Key, p.Application, p.Queue)
	}
	add("", "was told at %s", p.At.UTC().Format(time.RFC3339))
	if !v.Ended.IsZero() {
		add("", "had gone at %s", v.Ended.UTC().Format(time.RFC3339))
	}
	outcome := p.Outcome.String()
	if p.On != "" {
		outcome += " on node " + string(p.On)
	}
	add("outcome", "%s", strings.TrimSuffix(outcome+": "+p.Reason, ": "))
	name := "plan"
	for _, line := range plan.Lines {
		add(name, "%s", line)
		name = ""
	}
	return out
}

func explanationOf(a *explain.Answer) *explanationJSON {
	out := &explanationJSON{
		AllocationKey: a.Allocation.Key, ApplicationID: a.Allocation.Application, QueueName: a.Queue, NodeID: a.Allocation.Node,
		Detail: a.Detail, NominatedNode: a.Nominated, Before: a.Before, Plan: planOf(a.Plan), Lines: strings.Split(a.Text(), "\n"),
	}
	if a.Allocation.Node == "" {
		out.Why = a.Reason.String()
	}
	for _, g := range a.Nodes {
		out.Nodes = append(out.Nodes, nodeGroupJSON{
			Why: g.Why.String(), Nodes: g.Nodes, Nearest: g.Nearest, Lacking: g.Lacking, For: g.For,
		})
	}
	for _, l := range a.Quota {
		out.Quota = append(out.Quota, quotaJSON{QueueName: l.Queue, Used: l.Used, Max: l.Max, Promised: l.Promised, Lacking: l.Lacking})
	}
	if l := a.Leaving; l != nil {
		out.Leaving = &departureJSON{Time: l.Since, Trigger: l.Trigger, For: l.For, Stuck: l.Stuck, Plan: planOf(l.Plan)}
	}
	return out
}

func planOf(p *explain.Plan) *planJSON {
	if p == nil {
		return nil
	}
	return &planJSON{Time: p.At, Verdict: p.Verdict, Lines: p.Lines}
}
