package explanation

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// The bounds of a question.
const (
	whatIfAsksMax   = 1000
	whatIfNodesMax  = 1000 // that come, and those that are drained or removed
	whatIfWithinMax = time.Hour
	whatIfKindsMax  = 64 // that its nodes, and its configuration, make known
	whatIfTriedMax  = 10 // asks of which it is tried what would make them run
)

// QuestionMax is how many bytes a question has at most; most of them may be a configuration.
const QuestionMax = config.TextMax + 1<<20

// Config is how long a what-if may take, and what it asks the resource manager of a
// partition. An error that wraps errors.ErrUnsupported is that there is nothing of that; nil
// is that it cannot be asked.
type Config struct {
	Max time.Duration // what came of it by then is the answer
	// Budgets are the disruption budgets of allocations.
	Budgets func(ctx context.Context, partition string, allocations []api.AllocationKey) ([]api.DisruptionBudget, error)
	// Feasible is whether an ask that waits may run on a node; refused says why not.
	Feasible func(ctx context.Context, partition string, ask api.AllocationKey, node api.NodeID) (refused, err error)
}

// A WhatIf answers what-ifs of all partitions. The zero value is ready.
type WhatIf struct {
	budgets atomic.Pointer[toldBudgets] // of the view that was looked at last
}

// questionJSON is the body of a what-if: applications and asks that would come, nodes
// that would come, be drained or removed, a configuration that would be in effect, and for how long to wait for what comes of it.
type questionJSON struct {
	Applications []newApplicationJSON `json:"applications"`
	Asks         []newAskJSON         `json:"asks"`
	Nodes        newNodesJSON         `json:"nodes"`
	Config       string               `json:"config"` // YAML, of all partitions
	Within       string               `json:"within"` // such as 30s; empty is for the delays that run then
}

// newNodesJSON is what would be done to nodes.
type newNodesJSON struct {
	Add    []newNodeJSON `json:"add"`
	Drain  []api.NodeID  `json:"drain"`
	Remove []api.NodeID  `json:"remove"`
}

// newNodeJSON is nodes that would come, all alike.
type newNodeJSON struct {
	NodeID     api.NodeID        `json:"nodeId"`
	Capacity   map[string]int64  `json:"capacity"`
	Attributes map[string]string `json:"attributes"`
	Count      int               `json:"count"` // zero is one; more get numbers after their name
}

// newApplicationJSON is an application that would come.
type newApplicationJSON struct {
	ApplicationID api.ApplicationID `json:"applicationId"`
	QueueName     api.QueuePath     `json:"queueName"`
	User          string            `json:"user"`
	Groups        []string          `json:"groups"`
	Tags          map[string]string `json:"tags"`
}

// newAskJSON is asks that would come, all alike.
type newAskJSON struct {
	AllocationKey  api.AllocationKey `json:"allocationKey"`
	ApplicationID  api.ApplicationID `json:"applicationId"`
	Resource       map[string]int64  `json:"resource"`
	Priority       int32             `json:"priority"`
	RequiredNodeID api.NodeID        `json:"requiredNodeId"`
	Count          int               `json:"count"` // zero is one; more get numbers after their key

	Tags             map[string]string     `json:"tags"`
	PreemptionPolicy *preemptionPolicyJSON `json:"preemptionPolicy"`
}

// preemptionPolicyJSON is the policy that an ask comes with. What it does not allow is
// not allowed.
type preemptionPolicyJSON struct {
	AllowPreemptSelf  bool `json:"allowPreemptSelf"`
	AllowPreemptOther bool `json:"allowPreemptOther"`
}

// outcomeJSON is what would come of it.
type outcomeJSON struct {
	Asks    []askOutcomeJSON `json:"asks"`
	Victims []victimJSON     `json:"victims"`
	Moved   []askOutcomeJSON `json:"moved,omitempty"` // pods in place of those on removed nodes
	Others  []askOutcomeJSON `json:"others"`          // asks that wait now and would not

	// Waited is how many asks wait now beside those of the question, and Waiting those that would go on waiting.
	Waited  int                `json:"waited,omitempty"`
	Waiting []stillWaitingJSON `json:"waiting,omitempty"`
	Staying []stayingJSON      `json:"staying,omitempty"` // what stays on drained nodes

	OverUse []overUseJSON `json:"overUse"` // queues that would use more than their max

	// OverLimits are users and groups that would use more than their limits.
	OverLimits []overLimitJSON `json:"overLimits,omitempty"`

	// Untried is of how many asks of the question, or in place of others, that would wait it was not tried what makes them run.
	Untried int `json:"untried,omitempty"`

	Rejected []rejectedJSON `json:"rejected,omitempty"` // applications that would not be taken in
	Budgets  budgetsAsked   `json:"budgets"`

	Predicates predicatesAsked `json:"predicates"`

	// Simulated is of how much time the outcome is. Partial says that simulating more took too long.
	Partial   bool          `json:"partial,omitempty"`
	Simulated time.Duration `json:"simulated,omitempty"` // ns
	// Delays is for how much longer one of the delays goes on that were not waited for.
	Delays time.Duration `json:"delays,omitempty"` // ns

	Age time.Duration `json:"age,omitempty"` // ns, of the view if it is not the current one
}

type askOutcomeJSON struct {
	AllocationKey api.AllocationKey `json:"allocationKey"`
	NodeID        api.NodeID        `json:"nodeId,omitempty"`        // where it would run at once
	NominatedNode api.NodeID        `json:"nominatedNode,omitempty"` // where room would be made
	After         time.Duration     `json:"after,omitempty"`         // ns, until it is placed; none is at once
	Refused       string            `json:"refused,omitempty"`
	Waits         *explanationJSON  `json:"waits,omitempty"`
	Unasked       bool              `json:"unasked,omitempty"` // amounts alone decided about it
}

// stillWaitingJSON is asks that would go on waiting for one reason, and the one that waits longest.
type stillWaitingJSON struct {
	Why           string            `json:"why"`
	Asks          int               `json:"asks"`
	AllocationKey api.AllocationKey `json:"allocationKey"`
}

type stayingJSON struct {
	NodeID      api.NodeID `json:"nodeId"`
	Allocations int        `json:"allocations"`
}

type victimJSON struct {
	AllocationKey api.AllocationKey `json:"allocationKey"`
	ApplicationID api.ApplicationID `json:"applicationId"`
	Message       string            `json:"message"`
	After         time.Duration     `json:"after,omitempty"` // ns; none is at once
}

type rejectedJSON struct {
	ApplicationID api.ApplicationID `json:"applicationId"`
	Message       string            `json:"message"`
}

// budgetsAsked says whether the victims respect disruption budgets.
type budgetsAsked string

// The answers: they do; there are none; they may not, as nothing could be asked.
const (
	budgetsTold    budgetsAsked = "asked"
	budgetsNone    budgetsAsked = "none"
	budgetsUnknown budgetsAsked = "not asked"
)

type overUseJSON struct {
	QueueName api.QueuePath      `json:"queueName"`
	By        encoder.Quantities `json:"by"`
}

// overLimitJSON is how much a user or group would use over its limit in a queue.
type overLimitJSON struct {
	QueueName    api.QueuePath      `json:"queueName"`
	User         string             `json:"user,omitempty"`
	Group        string             `json:"group,omitempty"`
	By           encoder.Quantities `json:"by,omitempty"`
	Applications int                `json:"applications,omitempty"`
}

func overLimit(at *object.Snapshot, o explain.OverLimit) overLimitJSON {
	out := overLimitJSON{QueueName: o.Queue, User: o.Owner.Name, By: at.Amounts(o.By), Applications: o.Applications}
	if o.Owner.Group {
		out.User, out.Group = "", o.Owner.Name
	}
	return out
}

// Answer answers POST /ws/v1/partition/{partition}/whatif. It changes nothing.
func (w *WhatIf) Answer(at *object.Snapshot, r *http.Request, of Config) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), of.Max)
	defer cancel()
	now := at.Now()
	seen := at
	at = at.Named()
	question, err := question(at, r, now)
	if err != nil {
		return nil, err
	}
	var told budgetsAsked
	question.Budgets, told = w.budgetsOf(ctx, seen, of)
	predicates := predicatesOf(ctx, at, of)
	defer predicates.end()
	question.Feasible = predicates.feasible()
	outcome, err := explain.WhatIf(ctx, at.View, at.Kinds(), now, question)
	switch {
	case r.Context().Err() != nil:
		return nil, context.Cause(r.Context())
	case err != nil:
		return nil, failure.Bad("%v", err)
	}
	untried := tryFirst(ctx, explain.Trial{Now: now.Add(outcome.Simulated), Free: predicates.none}, outcome.Asks, outcome.Moved)
	out := &outcomeJSON{
		Victims: []victimJSON{}, OverUse: []overUseJSON{}, Budgets: told,
		Predicates: predicates.told(outcome.Unasked), Age: at.Age(), Waited: outcome.Waited, Untried: untried,
		Partial: outcome.Partial, Simulated: outcome.Simulated, Delays: outcome.Delays,
	}
	silent := out.Predicates == predicatesSilent
	out.Asks, out.Others = askOutcomes(at, outcome.Asks, silent), askOutcomes(at, outcome.Others, silent)
	for _, w := range outcome.Waiting {
		out.Waiting = append(out.Waiting, stillWaitingJSON{w.Reason.String(), w.Asks, w.First})
	}
	for _, s := range outcome.Staying {
		out.Staying = append(out.Staying, stayingJSON{s.Node, s.Allocations})
	}
	if len(outcome.Moved) > 0 {
		out.Moved = askOutcomes(at, outcome.Moved, silent)
	}
	for _, v := range outcome.Victims {
		out.Victims = append(out.Victims, victimJSON{v.Key, v.Application, v.Message, v.After})
	}
	for _, id := range slices.Sorted(maps.Keys(outcome.Rejected)) {
		out.Rejected = append(out.Rejected, rejectedJSON{id, outcome.Rejected[id]})
	}
	for _, u := range outcome.OverUse {
		out.OverUse = append(out.OverUse, overUseJSON{u.Queue, at.Amounts(u.By)})
	}
	for _, over := range outcome.OverLimits {
		out.OverLimits = append(out.OverLimits, overLimit(at, over))
	}
	return query.One(r, out)
}

// tryFirst finds what would make the first asks run that would wait, of which the resource
// manager knows nothing. It returns how many more there are.
func tryFirst(ctx context.Context, trial explain.Trial, lists ...[]explain.AskOutcome) (untried int) {
	tried := 0
	for _, o := range slices.Concat(lists...) {
		switch {
		case o.Waits == nil:
		case tried == whatIfTriedMax || ctx.Err() != nil:
			untried++
		default:
			o.Waits.Try(ctx, trial)
			tried++
		}
	}
	return untried
}

// budgetsOf asks for the disruption budgets of all that runs, once for each view.
func (w *WhatIf) budgetsOf(ctx context.Context, at *object.Snapshot, of Config) ([]api.DisruptionBudget, budgetsAsked) {
	if of.Budgets == nil {
		return nil, budgetsUnknown
	}
	if last := w.budgets.Load(); last != nil && last.of == at.View {
		return last.budgets, last.told
	}
	var keys []api.AllocationKey
	for _, n := range at.Nodes {
		for _, a := range n.Allocations {
			keys = append(keys, a.Key)
		}
		for _, a := range n.ForeignAllocations {
			keys = append(keys, a.Key)
		}
	}
	slices.Sort(keys)
	ctx, cancel := context.WithTimeout(ctx, of.Max/5) // the rest is for simulating
	defer cancel()
	budgets, err := of.Budgets(ctx, at.View.Partition, keys)
	told := toldBudgets{of: at.View, budgets: append([]api.DisruptionBudget{}, budgets...), told: budgetsTold}
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		told.budgets, told.told = nil, budgetsNone
	case err != nil:
		return nil, budgetsUnknown // another time it may answer
	}
	w.budgets.Store(&told)
	return told.budgets, told.told
}

// toldBudgets is what was told of the budgets in a view.
type toldBudgets struct {
	of      *api.View
	budgets []api.DisruptionBudget
	told    budgetsAsked
}

// askOutcomes are outcomes in JSON; silent says that the resource manager was asked about none.
func askOutcomes(at *object.Snapshot, outcomes []explain.AskOutcome, silent bool) []askOutcomeJSON {
	list := make([]askOutcomeJSON, len(outcomes))
	for i, o := range outcomes {
		list[i] = askOutcomeJSON{AllocationKey: o.Key, NodeID: o.Placed, NominatedNode: o.Nominated, After: o.After, Refused: o.Refused, Unasked: o.Unasked || silent && o.Placed != ""}
		if o.Waits != nil {
			list[i].Waits = explanationOf(at, o.Waits)
		}
	}
	return list
}
