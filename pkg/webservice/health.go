package webservice

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// healthJSON is what was checked, just now.
type healthJSON struct {
	Healthy      bool
	HealthChecks []checkJSON
}

type checkJSON struct {
	Name             string
	Succeeded        bool
	Description      string
	DiagnosisMessage string
}

// A check looks at all partitions and says what is wrong; nothing, if it holds.
type check struct {
	name        string
	description string
	holds       string // the diagnosis if nothing is wrong; empty counts the reservations
	faults      func(*object.Snapshot) []string
}

// checks are in the order that clients know. Each can fail.
var checks = []check{
	{"Negative resources", "no partition has or uses less than nothing", "none does", negativePartition},
	{"Negative resources", "no node has or uses less than nothing", "none does", negativeNodes},
	{"Consistency of data", "what a partition has is what its nodes have together", "they agree", unequalPartition},
	{"Consistency of data", "what a node has is allocated, occupied or available", "it adds up", unequalNodes},
	{"Reservation check", "every node that is reserved and its ask that waits know of each other", "", reservationFaults},
	{"Orphan allocation on node check", "all allocations on a node are of an application", "they are", orphansOnNodes},
	{"Orphan allocation on app check", "all allocations of an application run on the node that they name", "they do", orphansOfApplications},
}

// healthWait is how long the health check waits for a partition that is not current,
// so that the answer comes within a second. One that has been silent for as long
// fails the check.
const healthWait = 800 * time.Millisecond

// offerHealth answers with the health. It waits for no other answer: those that ask
// whether the scheduler lives would take a queue for its death. What comes at the same
// time for the same views is checked once.
func (s *Service) offerHealth() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := query.Read(r); err != nil {
			s.refuse(w, r, err)
			return
		}
		r = takeViews(r, s.config.Views.Partitions(), s.examine)
		var out *healthJSON
		err := s.checked.Use(r.Context(), viewsOf(r).name(), func(context.Context) (*healthJSON, error) {
			defer s.reportCost(r, time.Now())
			defer logPanic(r)
			return s.health(r)
		}, func(h *healthJSON) { out = h })
		switch {
		case r.Context().Err() != nil: // the client went away
		case err != nil:
			s.refuse(w, r, err)
		case !out.Healthy:
			s.write(r, out, failure.StatusOf(failure.ErrUnhealthy)).send(w, r)
		default:
			s.write(r, out, http.StatusOK).send(w, r)
		}
	})
}

// examine reads a partition, and says how long it has not answered. A busy one that
// goes on with its work is read as it was a moment ago, and is not unhealthy.
func (rd *reader) examine(ctx context.Context, partition string) requestView {
	ctx, cancel := context.WithTimeout(ctx, healthWait)
	defer cancel()
	last, err := rd.config.Views.Snapshot(ctx, partition)
	out := requestView{partition: partition, view: last.View, age: last.Age, err: err}
	if ctx.Err() == nil {
		if current := err == nil && last.Age == 0; current || err != nil && rd.config.Views.Unanswered(partition) == 0 {
			return out
		}
		view, err := rd.config.Views.View(ctx, partition)
		if err == nil || ctx.Err() == nil {
			return requestView{partition: partition, view: view, err: err}
		}
	}
	if silent := rd.config.Views.Unanswered(partition); silent >= healthWait || out.view == nil {
		out.unanswered, out.err = max(silent, healthWait), nil
	}
	return out
}

// unanswered is the partitions that do not answer.
func unanswered(views requestViews) (faults []string) {
	for _, v := range views {
		if v.unanswered > 0 {
			faults = append(faults, fmt.Sprintf("partition %s %s for %s", v.partition, errUnanswered, v.unanswered.Round(100*time.Millisecond)))
		}
	}
	return faults
}

// health is the answer to GET /ws/v1/scheduler/healthcheck. It goes by the views of
// this moment, so that a scheduler that was unhealthy recovers.
func (s *Service) health(r *http.Request) (*healthJSON, error) {
	var seen []*object.Snapshot
	for _, v := range viewsOf(r) {
		if v.view == nil && v.unanswered > 0 {
			continue // nothing is known of it yet
		}
		at, err := s.look(v)
		if err == nil {
			seen = append(seen, at)
		} else if !errors.Is(err, failure.ErrMissing) {
			return nil, err
		}
	}
	out := healthOf(seen)
	out.add(checkJSON{Name: "Responsiveness", Description: "every partition answers", DiagnosisMessage: "they do"}, unanswered(viewsOf(r)))
	return out, nil
}

func healthOf(all []*object.Snapshot) *healthJSON {
	out := &healthJSON{Healthy: true}
	for _, c := range checks {
		var faults []string
		for _, at := range all {
			faults = append(faults, c.faults(at)...)
		}
		result := checkJSON{Name: c.name, Description: c.description, DiagnosisMessage: c.holds}
		if c.holds == "" {
			result.DiagnosisMessage = reservations(all)
		}
		out.add(result, faults)
	}
	return out
}

// add adds a check with what it found.
func (h *healthJSON) add(result checkJSON, faults []string) {
	result.Succeeded = len(faults) == 0
	if !result.Succeeded {
		result.DiagnosisMessage, h.Healthy = shortened(faults), false
	}
	h.HealthChecks = append(h.HealthChecks, result)
}

// faultsShown is how many faults a diagnosis names.
const faultsShown = 20

func shortened(faults []string) string {
	if more := len(faults) - faultsShown; more > 0 {
		return strings.Join(faults[:faultsShown], "; ") + fmt.Sprintf("; and %d more", more)
	}
	return strings.Join(faults, "; ")
}

func negativePartition(at *object.Snapshot) (faults []string) {
	for _, a := range [...]resources.Amounts{at.Capacity, at.Used, at.Occupied} {
		if kind, negative := a.Negative(); negative {
			faults = append(faults, fmt.Sprintf("partition %s has %d of %s", at.Name(), a.Of(kind), at.Kinds().Name(kind)))
		}
	}
	return faults
}

// negativeNodes does not look at what is available: that is negative on a node on
// which others run more than fits, which is no fault of this scheduler.
func negativeNodes(at *object.Snapshot) (faults []string) {
	for _, n := range at.Nodes {
		for _, a := range [...]resources.Amounts{n.Capacity, n.Allocated, n.Occupied} {
			if kind, negative := a.Negative(); negative {
				faults = append(faults, fmt.Sprintf("node %s has %d of %s", n.ID, a.Of(kind), at.Kinds().Name(kind)))
			}
		}
	}
	return faults
}

func unequalPartition(at *object.Snapshot) []string {
	var sum resources.Amounts
	for _, n := range at.Nodes {
		sum.Add(n.Capacity)
	}
	if sum.Equal(at.Capacity) {
		return nil
	}
	return []string{fmt.Sprintf("partition %s has %s, its nodes %s", at.Name(), at.Kinds().Format(at.Capacity), at.Kinds().Format(sum))}
}

func unequalNodes(at *object.Snapshot) (faults []string) {
	for _, n := range at.Nodes {
		if left := n.Capacity.Minus(n.Allocated).Minus(n.Occupied); !left.Equal(n.Available) {
			faults = append(faults, fmt.Sprintf("node %s has %s, and %s is left of its capacity", n.ID, at.Kinds().Format(n.Available), at.Kinds().Format(left)))
		}
	}
	return faults
}

func reservations(all []*object.Snapshot) string {
	held, nodes := 0, 0
	for _, at := range all {
		nodes += len(at.Nodes)
		for _, n := range at.Nodes {
			held += len(n.Reservations)
		}
	}
	return fmt.Sprintf("%d reservations on %d nodes", held, nodes)
}

// reservationFaults are reservations that only a node or only an ask knows of.
func reservationFaults(at *object.Snapshot) (faults []string) {
	type reservation struct {
		node api.NodeID
		key  api.AllocationKey
	}
	waiting := map[reservation]bool{}
	for _, app := range at.Applications {
		for i := range app.Asks {
			if ask := &app.Asks[i]; ask.Waiting != nil && ask.Reserved != "" {
				waiting[reservation{ask.Reserved, ask.Key}] = true
			}
		}
	}
	for _, n := range at.Nodes {
		for i := range n.Reservations {
			if n.Reservations[i].Lost != nil { // no ask waits for it yet
				continue
			}
			held := reservation{n.ID, n.Reservations[i].Key}
			if !waiting[held] {
				faults = append(faults, fmt.Sprintf("node %s is reserved for %s, which waits for no such reservation", held.node, held.key))
			}
			delete(waiting, held)
		}
	}
	for held := range waiting {
		faults = append(faults, fmt.Sprintf("ask %s has a reservation of node %s, which knows of none", held.key, held.node))
	}
	slices.Sort(faults)
	return faults
}

// orphansOnNodes are allocations on a node that no application knows. There are none
// if all of the applications are on nodes, and are as many.
func orphansOnNodes(at *object.Snapshot) (faults []string) {
	more := 0
	for _, n := range at.Nodes {
		more += len(n.Allocations)
	}
	for _, app := range at.Applications {
		more -= len(app.Allocations)
	}
	if more == 0 && len(orphansOfApplications(at)) == 0 {
		return nil
	}
	known := map[api.AllocationKey]bool{}
	for _, app := range at.Applications {
		for _, a := range app.Allocations {
			known[a.Key] = true
		}
	}
	for _, n := range at.Nodes {
		for _, a := range n.Allocations {
			if !known[a.Key] {
				faults = append(faults, fmt.Sprintf("allocation %s on node %s is of no application", a.Key, n.ID))
			}
		}
	}
	return faults
}

// orphansOfApplications are allocations of an application that their node does not
// know.
func orphansOfApplications(at *object.Snapshot) (faults []string) {
	nodes := make(map[api.NodeID]*api.NodeView, len(at.Nodes))
	for _, n := range at.Nodes {
		nodes[n.ID] = n
	}
	for _, app := range at.Applications {
		for _, a := range app.Allocations {
			if n := nodes[a.Node]; n == nil || !holds(n, a) {
				faults = append(faults, fmt.Sprintf("allocation %s of application %s is not on node %s", a.Key, app.ID, a.Node))
			}
		}
	}
	return faults
}

// holds reports whether a node lists an allocation.
func holds(n *api.NodeView, a *api.Allocation) bool {
	return slices.Contains(n.Allocations, a) ||
		slices.ContainsFunc(n.Allocations, func(other *api.Allocation) bool { return other.Key == a.Key })
}

// Faults are the checks of the health that fail at this moment, each with what is wrong;
// none if the scheduler is healthy.
func (s *Service) Faults(ctx context.Context) ([]string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/ws/v1/scheduler/healthcheck", http.NoBody)
	if err != nil {
		return nil, err
	}
	health, err := s.health(takeViews(r, s.config.Views.Partitions(), s.examine))
	if err != nil {
		return nil, err
	}
	var faults []string
	for _, c := range health.HealthChecks {
		if !c.Succeeded {
			faults = append(faults, c.Name+": "+c.DiagnosisMessage)
		}
	}
	return faults, nil
}
