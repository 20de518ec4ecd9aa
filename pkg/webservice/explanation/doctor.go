package explanation

import (
	"context"
	"net/http"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/doctor"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// reportJSON is what is wrong with a partition now, the worst first. The lines are the same for people.
type reportJSON struct {
	Well     bool           `json:"well"` // there is nothing but notes
	Findings []findingJSON  `json:"findings"`
	More     map[string]int `json:"more,omitempty"` // by kind, of those that are left out
	Looked   lookedJSON     `json:"looked"`
	Partial  bool           `json:"partial,omitempty"`
	Lines    []string       `json:"lines"`
	Age      time.Duration  `json:"age,omitempty"` // ns, of the view if it is not the current one
}

// findingJSON is one thing that is wrong.
type findingJSON struct {
	Kind     string              `json:"kind"`
	Severity string              `json:"severity"`
	Subject  string              `json:"subject"`
	Cause    string              `json:"cause"`
	Since    encoder.Nanoseconds `json:"since,omitempty"`
	SinceOf  string              `json:"sinceOf,omitempty"`
	Remedy   string              `json:"remedy"`
	Tried    bool                `json:"tried"` // on a copy
	Detail   string              `json:"detail,omitempty"`

	// For which asks it is bad, and the first of them.
	Harm          string            `json:"harm,omitempty"`
	Asks          int               `json:"asks"`
	QueueName     api.QueuePath     `json:"queueName,omitempty"`
	User          string            `json:"user,omitempty"`
	ApplicationID api.ApplicationID `json:"applicationId,omitempty"`
	AllocationKey api.AllocationKey `json:"allocationKey,omitempty"`
}

// lookedJSON is how much was looked at.
type lookedJSON struct {
	Queues       int `json:"queues"`
	Nodes        int `json:"nodes"`
	Applications int `json:"applications"`
	Asks         int `json:"asks"`
	Evictions    int `json:"evictions"`
	Limits       int `json:"limits"`
}

// Doctor answers GET /ws/v1/partition/{partition}/doctor.
func Doctor(at *object.Snapshot, r *http.Request, of Config) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), min(of.Max, whyMax))
	defer cancel()
	at = at.Named()
	trial, end := trialOf(ctx, at, of)
	defer end()
	found := doctor.Examine(ctx, at.View, at.Kinds(), trial, at.Past())
	if r.Context().Err() != nil {
		return nil, context.Cause(r.Context())
	}
	looked := found.Looked
	out := &reportJSON{
		Well: found.IsWell(), Findings: []findingJSON{}, Partial: found.Partial, Lines: found.Lines(at.Now()), Age: at.Age(),
		Looked: lookedJSON{looked.Queues, looked.Nodes, looked.Applications, looked.Asks, looked.Evictions, looked.Limits},
	}
	for i := range found.Findings {
		f := &found.Findings[i]
		out.Findings = append(out.Findings, findingJSON{
			Kind: f.Kind.String(), Severity: f.Severity.String(), Subject: f.Subject, Cause: f.Cause,
			Since: encoder.NanosecondsOf(f.Since), SinceOf: f.SinceOf, Remedy: f.Remedy, Tried: f.Tried, Detail: f.Detail,
			Harm: f.Harm(), Asks: f.Asks, QueueName: f.Queue, User: f.User, ApplicationID: f.Application, AllocationKey: f.Key,
		})
	}
	for kind, more := range found.More {
		if out.More == nil {
			out.More = map[string]int{}
		}
		out.More[kind.String()] = more
	}
	return query.One(r, out)
}

// trialOf is what remedies are tried with; end gives back what it takes.
func trialOf(ctx context.Context, at *object.Snapshot, of Config) (trial explain.Trial, end context.CancelFunc) {
	of.Max = min(of.Max, whyMax)
	predicates := predicatesOf(ctx, at, of)
	trial = explain.Trial{Now: at.Now(), Free: predicates.none}
	if !predicates.silent {
		trial.MayRun = predicates.mayRun
	}
	return trial, predicates.end
}
