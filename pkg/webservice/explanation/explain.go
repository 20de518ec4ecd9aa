package explanation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// explanationJSON says why an ask waits, or why an allocation is evicted, which may
// have ended since. The lines are the same for people.
type explanationJSON struct {
	AllocationKey api.AllocationKey `json:"allocationKey"`
	ApplicationID api.ApplicationID `json:"applicationId"`
	QueueName     api.QueuePath     `json:"queueName"`
	NodeID        api.NodeID        `json:"nodeId,omitempty"` // where it runs, or ran
	Why           string            `json:"why,omitempty"`
	Detail        string            `json:"detail,omitempty"`
	NominatedNode api.NodeID        `json:"nominatedNode,omitempty"`
	Nodes         []nodeGroupJSON   `json:"nodes,omitempty"`
	Quota         []quotaJSON       `json:"quota,omitempty"`
	Limits        []limitJSON       `json:"limits,omitempty"`
	Guarantee     *lackJSON         `json:"guarantee,omitempty"`
	WouldFit      *wouldFitJSON     `json:"wouldFit,omitempty"`
	Before        int               `json:"before,omitempty"` // asks of its application that come before it
	Plan          *planJSON         `json:"plan,omitempty"`
	Eviction      *evictionPlanJSON `json:"eviction,omitempty"`
	Life          *lifeJSON         `json:"life,omitempty"`
	Forecast      *forecastJSON     `json:"forecast,omitempty"` // of an ask
	Lines         []string          `json:"lines"`
	Age           time.Duration     `json:"age,omitempty"` // ns, of the view if it is not the current one
}

// nodeGroupJSON is the nodes that have the first reason in common that keeps the
// ask away. Every node is in one group.
type nodeGroupJSON struct {
	Why     string             `json:"why"`
	Nodes   int                `json:"nodes"`
	Nearest api.NodeID         `json:"nearest"`
	Lacking encoder.Quantities `json:"lacking,omitempty"`
	For     api.AllocationKey  `json:"for,omitempty"`
	First   []api.NodeID       `json:"first,omitempty"` // the first few nodes by name
	Text    string             `json:"text,omitempty"`  // what the resource manager said of them
}

// lackJSON is what asks wait for that is guaranteed to the queues of one of them and not used,
// and why nothing is evicted for it.
type lackJSON struct {
	Queues     []queueLackJSON `json:"queues"`
	NoEviction string          `json:"noEviction,omitempty"`
}

type queueLackJSON struct {
	QueueName api.QueuePath      `json:"queueName"`
	Lacking   encoder.Quantities `json:"lacking"`
}

// wouldFitJSON is what makes an ask run, as was tried: all of the quotas and one of the nodes. With
// Remains it is not enough.
type wouldFitJSON struct {
	Quota   []string `json:"quota,omitempty"`
	Nodes   []string `json:"nodes,omitempty"`
	Remains string   `json:"remains,omitempty"`

	// Ahead is how many asks come before it, for which there is room then, too. Of Instead, one is enough where the others are not.
	Ahead   int      `json:"ahead,omitempty"`
	Instead []string `json:"instead,omitempty"`
	Untried bool     `json:"untried,omitempty"`

	// Moves are one of Nodes: what would end and run elsewhere, which opens a domain if the ask needs one.
	Moves []moveJSON `json:"moves,omitempty"`
	Opens string     `json:"opens,omitempty"`
}

// moveJSON is an allocation that would run elsewhere.
type moveJSON struct {
	AllocationKey api.AllocationKey `json:"allocationKey"`
	ApplicationID api.ApplicationID `json:"applicationId"`
	From          api.NodeID        `json:"from"`
	To            api.NodeID        `json:"to"`
}

// quotaJSON is a queue on the way from the leaf to the root.
type quotaJSON struct {
	QueueName api.QueuePath      `json:"queueName"`
	Used      encoder.Quantities `json:"used,omitempty"`
	Max       encoder.Quantities `json:"max,omitempty"`
	Nominated encoder.Quantities `json:"nominated,omitempty"`
	Lacking   encoder.Quantities `json:"lacking,omitempty"`
}

// limitJSON is a limit of a user or a group.
type limitJSON struct {
	QueueName api.QueuePath      `json:"queueName"`
	User      string             `json:"user,omitempty"`
	Group     string             `json:"group,omitempty"`
	Used      encoder.Quantities `json:"used,omitempty"`
	Max       encoder.Quantities `json:"max,omitempty"`
	Lacking   encoder.Quantities `json:"lacking,omitempty"`
}

type planJSON struct {
	Time    encoder.Nanoseconds `json:"time"`
	Summary string              `json:"summary"`
	Lines   []string            `json:"lines"`
}

// evictionPlanJSON is an eviction and the plan that chose it.
type evictionPlanJSON struct {
	Time    encoder.Nanoseconds `json:"time"`
	Trigger string              `json:"trigger"`
	For     api.AllocationKey   `json:"for,omitempty"`
	Overdue bool                `json:"overdue,omitempty"`
	EndTime encoder.Nanoseconds `json:"endTime,omitempty"`
	Plan    *planJSON           `json:"plan,omitempty"`

	// What is lost: since when it ran and how long, and what it held, times the seconds of that.
	StartTime encoder.Nanoseconds `json:"startTime,omitempty"`
	RunTime   int64               `json:"runTime,omitempty"`
	LostWork  encoder.Quantities  `json:"lostWork,omitempty"`

	// What came of it: the outcome of the plan, when the ask in For started, and both priorities.
	Outcome      string              `json:"outcome,omitempty"`
	Priority     *int32              `json:"priority,omitempty"`
	ForPriority  *int32              `json:"forPriority,omitempty"`
	ForStartTime encoder.Nanoseconds `json:"forStartTime,omitempty"`
}

// lost adds what is lost with a victim.
func (e *evictionPlanJSON) lost(at *object.Snapshot, v *archive.Victim) {
	e.StartTime, e.RunTime, e.LostWork = encoder.NanosecondsOf(v.Started), int64(v.Ran()), at.Amounts(v.Lost())
}

// timeOf says in a line how long a victim ran; none if that is not known. One that still runs had run so long when it was chosen.
func timeOf(v *archive.Victim) []string {
	name, until := "ran", ""
	if v.Ended.IsZero() {
		name, until = "had run", " when it was told to end"
	}
	if v.Ran() == 0 {
		return nil
	}
	return inMargin(name, []string{fmt.Sprintf("for %s%s, from %s", v.Ran().Truncate(time.Second), until, v.Started.UTC().Format(time.RFC3339))})
}

// priorities are those of a victim: its own, and what decided.
func priorities(v *archive.Victim) string {
	if v.Priority == v.OwnPriority {
		return fmt.Sprintf("priority %d", v.OwnPriority)
	}
	return fmt.Sprintf("priority %d, which is %d as the queue of the ask sees it", v.OwnPriority, v.Priority)
}

// Why answers GET
// /ws/v1/partition/{partition}/application/{application}/allocation/{allocation}/explain.
func Why(at *object.Snapshot, r *http.Request, of Config) (any, error) {
	application, key := api.ApplicationID(r.PathValue("application")), api.AllocationKey(r.PathValue("allocation"))
	at = at.Named()
	answer, err := explain.Ask(at.View, at.Kinds(), application, key)
	plan := at.Past().PlanOf(application, key)
	life, lived := at.Past().Life(application, key)
	switch {
	case errors.Is(err, explain.ErrUnknown) && plan != nil:
		out := evictedBefore(at, plan, plan.Victim(key))
		if lived {
			out.addLife(&life, at.Now())
		}
		return query.One(r, out)
	case errors.Is(err, explain.ErrUnknown) && lived:
		return query.One(r, endedBefore(at, &life))
	case errors.Is(err, explain.ErrUnknown):
		return nil, failure.Missing("Allocation")
	case err != nil:
		return nil, err
	}
	if l := answer.Eviction; l != nil && l.Plan == nil && plan != nil {
		l.Plan = kept(at, plan)
	}
	waits := answer.Allocation.Node == ""
	ctx, cancel := context.WithTimeout(r.Context(), min(of.Max, whyMax))
	defer cancel()
	trial, end := trialOf(ctx, at, of)
	defer end()
	if waits {
		answer.Try(ctx, trial)
	}
	out := explanationOf(at, answer)
	if waits {
		out.addForecast(ctx, at, trial, answer)
	}
	if answer.Eviction != nil && plan != nil {
		v := plan.Victim(key)
		out.Eviction.lost(at, v)
		out.Eviction.came(at, plan, v)
		out.Lines = append(append(out.Lines, timeOf(v)...), worth(at.View, at.Kinds(), plan, v)...)
	}
	life = lifeOf(at, answer.Allocation)
	out.addLife(&life, at.Now())
	return query.One(r, out)
}

// whyMax is how long it is tried what would make an ask run. Half of that is for questions.
const whyMax = 2 * time.Second

// endedBefore is what is known of an allocation or ask that has ended.
func endedBefore(at *object.Snapshot, l *archive.Life) *explanationJSON {
	out := &explanationJSON{AllocationKey: l.Key, ApplicationID: l.Application, Age: at.Age()}
	for _, app := range at.Applications {
		if app.ID == l.Application {
			out.QueueName = app.Queue
		}
	}
	out.Lines = []string{fmt.Sprintf("%s of application %s has ended", l.Key, l.Application)}
	out.addLife(l, at.Now())
	return out
}

// kept is a plan of the archive.
func kept(at *object.Snapshot, p *archive.Plan) *explain.Plan {
	return explain.NewPlan(p.At, p.Decision, at.Kinds())
}

// evictedBefore says why an allocation was evicted that has ended since.
func evictedBefore(at *object.Snapshot, p *archive.Plan, v *archive.Victim) *explanationJSON {
	plan := kept(at, p)
	out := &explanationJSON{
		AllocationKey: v.Key, ApplicationID: v.Application, QueueName: v.Queue, NodeID: v.Node,
		Eviction: &evictionPlanJSON{
			Time: encoder.NanosecondsOf(p.At), Trigger: p.Trigger.String(), For: p.Key, EndTime: encoder.NanosecondsOf(v.Ended), Plan: planOf(plan),
		},
		Age: at.Age(),
	}
	out.Eviction.lost(at, v)
	out.Eviction.came(at, p, v)
	add := func(name, format string, args ...any) {
		out.Lines = append(out.Lines, fmt.Sprintf("  %-10s", name)+fmt.Sprintf(format, args...))
	}
	out.Lines = []string{fmt.Sprintf("%s of application %s ran on node %s, in queue %s", v.Key, v.Application, v.Node, v.Queue)}
	add("held", "%s", at.Kinds().Format(v.Amounts))
	out.Lines = append(out.Lines, timeOf(v)...)
	if p.Key == "" {
		add("evicted", "by %s of queue %s", p.Trigger, p.Queue)
	} else {
		add("evicted", "by %s for %s of application %s in queue %s", p.Trigger, p.Key, p.Application, p.Queue)
	}
	add("", "requested at %s", p.At.UTC().Format(time.RFC3339))
	if !v.Ended.IsZero() {
		add("", "ended at %s", v.Ended.UTC().Format(time.RFC3339))
	}
	out.Lines = append(out.Lines, worth(at.View, at.Kinds(), p, v)...)
	name := "plan"
	for _, line := range plan.Lines {
		add(name, "%s", line)
		name = ""
	}
	return out
}

func explanationOf(at *object.Snapshot, a *explain.Answer) *explanationJSON {
	out := &explanationJSON{
		AllocationKey: a.Allocation.Key, ApplicationID: a.Allocation.Application, QueueName: a.Queue, NodeID: a.Allocation.Node,
		Detail: a.Detail, NominatedNode: a.Nominated, Before: a.Before, Plan: planOf(a.Plan), Lines: strings.Split(a.Text(), "\n"),
		Age: at.Age(),
	}
	if a.Allocation.Node == "" {
		out.Why = a.Reason.String()
	}
	for _, g := range a.Nodes {
		out.Nodes = append(out.Nodes, nodeGroupJSON{
			Why: g.Why.String(), Nodes: g.Nodes, Nearest: g.Nearest, Lacking: at.Amounts(g.Lacking), For: g.For,
			First: g.First, Text: g.Text,
		})
	}
	if r := a.Remedies; r.Sentence() != "" {
		out.WouldFit = &wouldFitJSON{Quota: r.Quota, Nodes: r.Nodes, Remains: r.Remains, Ahead: r.Ahead, Instead: r.Instead, Untried: r.Untried, Opens: a.Opens}
		for _, m := range a.Moves {
			out.WouldFit.Moves = append(out.WouldFit.Moves, moveJSON{m.Key, m.Application, m.From, m.To})
		}
	}
	for i, l := range a.Lack.Queues {
		if i == 0 {
			out.Guarantee = &lackJSON{NoEviction: a.Lack.NoEviction}
		}
		out.Guarantee.Queues = append(out.Guarantee.Queues, queueLackJSON{l.Queue, at.Amounts(l.Lacking)})
	}
	for _, l := range a.Quota {
		out.Quota = append(out.Quota, quotaJSON{
			QueueName: l.Queue, Used: at.Amounts(l.Used), Max: at.Limits(l.Max), Nominated: at.Amounts(l.Nominated), Lacking: at.Amounts(l.Lacking),
		})
	}
	for _, l := range a.Limits {
		one := limitJSON{QueueName: l.Queue, User: l.Limit.Name, Used: at.Amounts(l.Used), Max: at.Limits(l.Max), Lacking: at.Amounts(l.Lacking)}
		if l.Limit.Group {
			one.User, one.Group = "", l.Limit.Name
		}
		out.Limits = append(out.Limits, one)
	}
	if l := a.Eviction; l != nil {
		out.Eviction = &evictionPlanJSON{Time: encoder.NanosecondsOf(l.Since), Trigger: l.Trigger, For: l.For, Overdue: l.Overdue, Plan: planOf(l.Plan)}
	}
	return out
}

func planOf(p *explain.Plan) *planJSON {
	if p == nil {
		return nil
	}
	return &planJSON{Time: encoder.NanosecondsOf(p.At), Summary: p.Summary, Lines: p.Lines}
}
