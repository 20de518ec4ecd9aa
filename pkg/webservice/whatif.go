package webservice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// The bounds of a question.
const (
	whatIfAsksMax   = 1000
	whatIfWithinMax = time.Hour

	whatIfsOpen = 8 // that are played or wait for it
)

// DefaultWhatIfMax is how long a what-if is played if nothing else is configured.
const DefaultWhatIfMax = 5 * time.Second

// questionJSON is the body of a what-if: asks that would come, a configuration
// that would be in effect, and for how long to wait for what comes of it.
type questionJSON struct {
	Asks   []newAskJSON `json:"asks"`
	Config string       `json:"config"` // YAML, of all partitions
	Within string       `json:"within"` // such as 30s
}

// newAskJSON is asks that would come, all alike.
type newAskJSON struct {
	AllocationKey  core.AllocationKey `json:"allocationKey"`
	ApplicationID  core.ApplicationID `json:"applicationId"`
	Resource       map[string]int64   `json:"resource"`
	Priority       int32              `json:"priority"`
	RequiredNodeID core.NodeID        `json:"requiredNodeId"`
	Count          int                `json:"count"` // zero is one; more get numbers after their key
}

// outcomeJSON is what would come of it.
type outcomeJSON struct {
	Asks    []askOutcomeJSON `json:"asks"`
	Victims []victimJSON     `json:"victims"`
	Others  []askOutcomeJSON `json:"others"`  // asks that wait now and would not
	OverUse []overUseJSON    `json:"overUse"` // queues that would use more than their max

	// Partial says that playing it took too long: the outcome is that of the first part
	// of the time, which is Played.
	Partial bool          `json:"partial,omitempty"`
	Played  time.Duration `json:"played,omitempty"` // ns

	Age time.Duration `json:"age,omitempty"` // ns, of the view if it is not the current one
}

type askOutcomeJSON struct {
	AllocationKey core.AllocationKey `json:"allocationKey"`
	NodeID        core.NodeID        `json:"nodeId,omitempty"`        // where it would run at once
	NominatedNode core.NodeID        `json:"nominatedNode,omitempty"` // where room would be made
	Refused       string             `json:"refused,omitempty"`
	Waits         *explanationJSON   `json:"waits,omitempty"`
}

type victimJSON struct {
	AllocationKey core.AllocationKey `json:"allocationKey"`
	ApplicationID core.ApplicationID `json:"applicationId"`
	Message       string             `json:"message"`
}

type overUseJSON struct {
	QueueName core.QueuePath `json:"queueName"`
	By        quantities     `json:"by"`
}

// offerWhatIf answers what-ifs in places of their own, so that they hold up nothing
// else. More than a few at once are refused. JSON is asked for so that no page of
// another origin can send one without being asked about first.
func (s *Service) offerWhatIf() http.Handler {
	answer := s.answerFrom(s.whatIfs, s.looking(s.whatIf))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
			s.refuse(w, r, &failure{errMediaType, "Content-Type must be application/json"})
			return
		}
		defer s.asked.Add(-1)
		if s.asked.Add(1) > whatIfsOpen {
			w.Header().Set("Retry-After", strconv.Itoa(int((s.config.WhatIfMax+time.Second-1)/time.Second)))
			s.refuse(w, r, &failure{errBusy, "Too many what-ifs are asked at the same time"})
			return
		}
		answer.ServeHTTP(w, r)
	})
}

// whatIf answers POST /ws/v1/partition/{partition}/whatif. It changes nothing.
func (s *Service) whatIf(at *snapshot, r *http.Request) (any, error) {
	now := at.now()
	question, err := at.question(r, now)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.config.WhatIfMax)
	defer cancel()
	outcome, err := explain.WhatIf(ctx, at.View, at.kinds, now, question)
	switch {
	case r.Context().Err() != nil:
		return nil, context.Cause(r.Context())
	case err != nil:
		return nil, bad("%v", err)
	}
	out := &outcomeJSON{
		Asks: at.askOutcomes(outcome.Asks), Others: at.askOutcomes(outcome.Others), Victims: []victimJSON{}, OverUse: []overUseJSON{}, Age: at.age,
	}
	if outcome.Partial {
		out.Partial, out.Played = true, outcome.Played
	}
	for _, v := range outcome.Victims {
		out.Victims = append(out.Victims, victimJSON{v.Key, v.Application, v.Message})
	}
	for _, u := range outcome.OverUse {
		out.OverUse = append(out.OverUse, overUseJSON{u.Queue, at.amounts(u.By)})
	}
	return one(r, out)
}

func (at *snapshot) askOutcomes(outcomes []explain.AskOutcome) []askOutcomeJSON {
	list := make([]askOutcomeJSON, len(outcomes))
	for i, o := range outcomes {
		list[i] = askOutcomeJSON{AllocationKey: o.Key, NodeID: o.Placed, NominatedNode: o.Nominated, Refused: o.Refused}
		if o.Waits != nil {
			list[i].Waits = at.explanationOf(o.Waits)
		}
	}
	return list
}

// question reads the body of a request.
func (at *snapshot) question(r *http.Request, now time.Time) (explain.Question, error) {
	var q explain.Question
	var asked questionJSON
	decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, bodyMax))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil {
		return q, bad("Body is no question: %v", err)
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return q, bad("Body is more than one question")
	}
	if asked.Within != "" {
		within, err := time.ParseDuration(asked.Within)
		if err != nil || within < 0 || within > whatIfWithinMax {
			return q, bad("within: %q is not a duration from 0s to %s", asked.Within, whatIfWithinMax)
		}
		q.Within = within
	}
	for i, ask := range asked.Asks {
		if err := at.addAsks(&q, ask, now); err != nil {
			return q, bad("asks[%d]: %v", i, err)
		}
	}
	if asked.Config != "" {
		config, err := at.parseConfig(asked.Config)
		if err != nil {
			return q, bad("config: %v", err)
		}
		q.Config = config
	}
	return q, nil
}

// addAsks adds asks that are alike to a question.
func (at *snapshot) addAsks(q *explain.Question, w newAskJSON, now time.Time) error {
	count := max(w.Count, 1)
	switch {
	case w.AllocationKey == "":
		return errors.New("allocationKey is missing")
	case w.Count < 0 || count > whatIfAsksMax-len(q.Asks):
		return fmt.Errorf("count is %d, and a question has from 1 to %d asks", w.Count, whatIfAsksMax)
	}
	var amounts resources.Amounts
	for _, name := range slices.Sorted(maps.Keys(w.Resource)) {
		kind, known := at.kinds.Lookup(name)
		switch {
		case !known:
			return fmt.Errorf("no node or queue has any %q", name)
		case w.Resource[name] < 0 || w.Resource[name] == math.MaxInt64:
			return fmt.Errorf("%s is %d, which is no amount", name, w.Resource[name])
		}
		amounts.Set(kind, w.Resource[name])
	}
	for i := range count {
		key := w.AllocationKey
		if w.Count > 1 {
			key = core.AllocationKey(fmt.Sprintf("%s-%d", w.AllocationKey, i+1))
		}
		q.Asks = append(q.Asks, &core.Allocation{
			Key: key, Application: w.ApplicationID, Amounts: amounts.Clone(), Priority: w.Priority,
			Required: w.RequiredNodeID, Created: now,
		})
	}
	return nil
}

// parseConfig is the configuration of the partition in a text. Kinds that are not
// known yet are refused, for a question adds none.
func (at *snapshot) parseConfig(text string) (*core.Config, error) {
	kinds := new(resources.Kinds)
	if _, err := config.Load(text, kinds); err != nil {
		return nil, err
	}
	for i := range kinds.Len() {
		if name := kinds.Name(resources.Kind(i)); !known(at.kinds, name) {
			return nil, fmt.Errorf("no node or queue has any %q", name)
		}
	}
	document, err := config.Load(text, at.kinds)
	if err != nil {
		return nil, err
	}
	for i := range document.Partitions {
		if document.Partitions[i].Name == at.name {
			return &document.Partitions[i], nil
		}
	}
	return nil, fmt.Errorf("there is no partition %q in it", at.name)
}

func known(kinds *resources.Kinds, name string) bool {
	_, ok := kinds.Lookup(name)
	return ok
}
