package webservice

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
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
	holds       string // the diagnosis if nothing is wrong
	faults      func(*snapshot) []string
}

// checks are in the order that clients know. The first two were counters that
// never went back; a request that is refused is no fault of the scheduler, and a
// node that failed is not known as one.
var checks = []check{
	{"Scheduling errors", "placing asks does not fail", "not counted", nil},
	{"Failed nodes", "no node fails", "not counted", nil},
	{"Negative resources", "no partition has or uses less than nothing", "none does", negativePartition},
	{"Negative resources", "no node has or uses less than nothing", "none does", negativeNodes},
	{"Consistency of data", "what a partition has is what its nodes have together", "they agree", unequalPartition},
	{"Consistency of data", "what a node has is allocated, occupied or available", "it adds up", unequalNodes},
	{"Reservation check", "how many nodes are reserved; always succeeds", "", nil},
	{"Orphan allocation on node check", "whatever runs on a node is of an application", "it is", orphansOnNodes},
	{"Orphan allocation on app check", "whatever an application has runs on the node that it names", "it does", orphansOfApplications},
}

// health answers GET /ws/v1/scheduler/healthcheck. It looks at the views of this
// moment, so that whoever was unhealthy recovers.
func (s *Service) health(r *http.Request) (any, error) {
	if _, err := parametersOf(r); err != nil {
		return nil, err
	}
	all, err := s.all(r)
	if err != nil {
		return nil, err
	}
	out := healthOf(all)
	if !out.Healthy {
		return out, errUnhealthy
	}
	return out, nil
}

func healthOf(all []*snapshot) *healthJSON {
	out := &healthJSON{Healthy: true}
	for _, c := range checks {
		var faults []string
		if c.faults != nil {
			for _, at := range all {
				faults = append(faults, c.faults(at)...)
			}
		}
		result := checkJSON{c.name, len(faults) == 0, c.description, c.holds}
		if c.name == "Reservation check" {
			result.DiagnosisMessage = reservations(all)
		}
		if len(faults) > 0 {
			result.DiagnosisMessage, out.Healthy = shortened(faults), false
		}
		out.HealthChecks = append(out.HealthChecks, result)
	}
	return out
}

// faultsShown is how many faults a diagnosis names.
const faultsShown = 20

func shortened(faults []string) string {
	if more := len(faults) - faultsShown; more > 0 {
		return strings.Join(faults[:faultsShown], "; ") + fmt.Sprintf("; and %d more", more)
	}
	return strings.Join(faults, "; ")
}

func negativePartition(at *snapshot) (faults []string) {
	for _, a := range [...]resources.Amounts{at.Capacity, at.Used, at.Occupied} {
		if kind, negative := a.Negative(); negative {
			faults = append(faults, fmt.Sprintf("partition %s has %d of %s", at.name, a.Of(kind), at.kinds.Name(kind)))
		}
	}
	return faults
}

// negativeNodes does not look at what is available: that is negative on a node on
// which others run more than fits, which is no fault of this scheduler.
func negativeNodes(at *snapshot) (faults []string) {
	for _, n := range at.Nodes {
		for _, a := range [...]resources.Amounts{n.Capacity, n.Allocated, n.Occupied} {
			if kind, negative := a.Negative(); negative {
				faults = append(faults, fmt.Sprintf("node %s has %d of %s", n.ID, a.Of(kind), at.kinds.Name(kind)))
			}
		}
	}
	return faults
}

func unequalPartition(at *snapshot) []string {
	var sum resources.Amounts
	for _, n := range at.Nodes {
		sum.Add(n.Capacity)
	}
	if sum.Equal(at.Capacity) {
		return nil
	}
	return []string{fmt.Sprintf("partition %s has %s, its nodes %s", at.name, at.kinds.Format(at.Capacity), at.kinds.Format(sum))}
}

func unequalNodes(at *snapshot) (faults []string) {
	for _, n := range at.Nodes {
		if sum := n.Allocated.Plus(n.Occupied).Plus(n.Available); !sum.Equal(n.Capacity) {
			faults = append(faults, fmt.Sprintf("node %s has %s, the parts make %s", n.ID, at.kinds.Format(n.Capacity), at.kinds.Format(sum)))
		}
	}
	return faults
}

func reservations(all []*snapshot) string {
	held, nodes := 0, 0
	for _, at := range all {
		nodes += len(at.Nodes)
		for _, n := range at.Nodes {
			held += len(n.Reservations)
		}
	}
	return fmt.Sprintf("%d reservations on %d nodes", held, nodes)
}

// orphansOnNodes are allocations on a node that no application knows. There are none
// if all of the applications are on nodes, and are as many.
func orphansOnNodes(at *snapshot) (faults []string) {
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
	known := map[core.AllocationKey]bool{}
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
func orphansOfApplications(at *snapshot) (faults []string) {
	nodes := make(map[core.NodeID]*core.NodeView, len(at.Nodes))
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
func holds(n *core.NodeView, a *core.Allocation) bool {
	return slices.Contains(n.Allocations, a) ||
		slices.ContainsFunc(n.Allocations, func(other *core.Allocation) bool { return other.Key == a.Key })
}
