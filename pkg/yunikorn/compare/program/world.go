package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

const (
	resourceManager = "rm"
	rest            = "http://127.0.0.1:9080/ws/v1/"

	quiet   = 400 * time.Millisecond // nothing was heard for so long: a step is over
	patient = 10 * time.Second       // of a step, at most
)

// A program is the resource manager of all worlds. It is the callback of the scheduler.
type program struct {
	api    api.SchedulerAPI
	worlds map[string]*world // by partition
}

// A world is one scenario: a partition, and the verbs with which it is played.
type world struct {
	*program
	name  string
	lines []string // what was written

	mu    sync.Mutex
	heard []string
	last  time.Time // when something was heard
	keeps bool      // what the scheduler wants ended goes on
}

func newWorld(p *program, name string) *world { return &world{program: p, name: name} }

// step sends something, waits until nothing more is heard, and writes what was. What comes at once has no order.
func (w *world) step(what string, send func() error) {
	w.mu.Lock()
	w.heard, w.last = nil, time.Now()
	w.mu.Unlock()
	began := time.Now()
	if err := send(); err != nil {
		w.hear("error")
	}
	for time.Since(began) < patient && w.silence() < quiet {
		time.Sleep(quiet / 8) // the scheduler says nothing when it has done all
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.heard)
	w.lines = append(w.lines, what)
	for _, line := range w.heard {
		w.lines = append(w.lines, "  "+line)
	}
}

func (w *world) silence() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.last)
}

// pass lets time pass, and writes what is heard meanwhile.
func (w *world) pass(d time.Duration) {
	w.step(fmt.Sprint("after ", d), func() error {
		time.Sleep(d)
		return nil
	})
}

func (w *world) hear(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard, w.last = append(w.heard, fmt.Sprintf(format, args...)), time.Now()
}

func cores(n int64) *si.Resource {
	return &si.Resource{Resources: map[string]*si.Quantity{common.CPU: {Value: 1000 * n}}}
}

// node adds a node, or changes what it is open to.
func (w *world) node(id string, n int64, action si.NodeInfo_ActionFromRM) {
	w.step(fmt.Sprint("node ", id, " ", action), func() error {
		return w.api.UpdateNode(&si.NodeRequest{RmID: resourceManager, Nodes: []*si.NodeInfo{{
			NodeID: w.name + "-" + id, Action: action, SchedulableResource: cores(n), Attributes: map[string]string{common.NodePartition: w.name, common.HostName: id},
		}}})
	})
}

// application adds an application of a user that is called like the scenario, as yunikorn-core counts what users have over
// all partitions.
func (w *world) application(id, queue string, edits ...func(*si.AddApplicationRequest)) {
	w.step("application "+id, func() error {
		a := &si.AddApplicationRequest{
			ApplicationID: id, QueueName: queue, PartitionName: w.name,
			Ugi: &si.UserGroupInformation{User: w.name}, Tags: map[string]string{"namespace": "team"},
		}
		for _, edit := range edits {
			edit(a)
		}
		return w.api.UpdateApplication(&si.ApplicationRequest{RmID: resourceManager, New: []*si.AddApplicationRequest{a}})
	})
}

// configure changes the configuration of the partition. One scenario may do so.
func (w *world) configure(config string) {
	w.step("configure", func() error {
		return w.api.UpdateConfiguration(&si.UpdateConfigurationRequest{
			RmID: resourceManager, PolicyGroup: "queues", Config: configuration(map[string]string{w.name: config}),
		})
	})
}

// remove removes an application.
func (w *world) remove(id string) {
	w.step("remove "+id, func() error {
		return w.api.UpdateApplication(&si.ApplicationRequest{RmID: resourceManager, Remove: []*si.RemoveApplicationRequest{{ApplicationID: id, PartitionName: w.name}}})
	})
}

// ask asks for an allocation, or reports one.
func (w *world) ask(application, key string, n int64, edits ...func(*si.Allocation)) {
	w.step("ask "+key, func() error { return w.request(application, key, n, edits...) })
}

// request is ask without the end of the step.
func (w *world) request(application, key string, n int64, edits ...func(*si.Allocation)) error {
	a := &si.Allocation{
		AllocationKey: key, ApplicationID: application, PartitionName: w.name, ResourcePerAlloc: cores(n), AllocationTags: map[string]string{},
		PreemptionPolicy: &si.PreemptionPolicy{AllowPreemptSelf: true, AllowPreemptOther: true},
	}
	for _, edit := range edits {
		edit(a)
	}
	if a.NodeID != "" {
		a.NodeID = w.name + "-" + a.NodeID
	}
	return w.api.UpdateAllocation(&si.AllocationRequest{RmID: resourceManager, Allocations: []*si.Allocation{a}})
}

// end says that an allocation has ended.
func (w *world) end(application, key string) {
	w.step("end "+key, func() error { return w.release(application, key, si.TerminationType_STOPPED_BY_RM) })
}

func (w *world) release(application, key string, why si.TerminationType) error {
	return w.api.UpdateAllocation(&si.AllocationRequest{RmID: resourceManager, Releases: &si.AllocationReleasesRequest{
		AllocationsToRelease: []*si.AllocationRelease{{PartitionName: w.name, ApplicationID: application, AllocationKey: key, TerminationType: why}},
	}})
}

// show writes values of an answer of REST, by the names of their fields. Of a list each member is a line.
func (w *world) show(path string, fields ...string) {
	status, body := get(rest + "partition/" + w.name + "/" + path)
	var answer any
	if json.Unmarshal(body, &answer) != nil {
		answer = nil
	}
	members, isList := answer.([]any)
	if !isList {
		members = []any{answer}
	}
	var lines []string
	for _, member := range members {
		values, _ := member.(map[string]any)
		line := " "
		for _, field := range fields {
			value, err := json.Marshal(values[field])
			if err == nil {
				line += " " + field + "=" + string(value)
			}
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	w.lines = append(append(w.lines, fmt.Sprint("GET ", path, " ", status)), lines...)
}

// get reads a path of REST. A server that does not answer has the status 0.
func get(url string) (int, []byte) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, nil
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil
	}
	return response.StatusCode, body
}

// of is the world of a partition, which the scheduler names with the resource manager, or not. Nodes are named after theirs.
func (p *program) of(partition string) *world {
	return p.worlds[partition[strings.Index(partition, "]")+1:]]
}

func (p *program) ofNode(id string) (*world, string) {
	for _, name := range slices.Sorted(maps.Keys(p.worlds)) {
		if short, ok := strings.CutPrefix(id, name+"-"); ok {
			return p.worlds[name], short
		}
	}
	return nil, id
}

// UpdateAllocation hears of allocations, and ends those that it is to end.
func (p *program) UpdateAllocation(r *si.AllocationResponse) error {
	for _, a := range r.New {
		if w, node := p.ofNode(a.NodeID); w != nil {
			w.hear("%s runs on %s", a.AllocationKey, node)
		}
	}
	for _, a := range r.RejectedAllocations {
		for _, w := range p.worlds {
			if strings.HasPrefix(a.ApplicationID, w.name+".") {
				w.hear("%s rejected", a.AllocationKey)
			}
		}
	}
	for _, a := range r.Released {
		w := p.of(a.PartitionName)
		if w == nil {
			continue
		}
		what := a.AllocationKey
		if a.TerminationType == si.TerminationType_PLACEHOLDER_REPLACED {
			what = "a placeholder" // of equal ones yunikorn-core takes any
		}
		w.hear("%s released: %s", what, a.TerminationType)
		if a.TerminationType != si.TerminationType_STOPPED_BY_RM && !w.keeps {
			if err := w.release(a.ApplicationID, a.AllocationKey, a.TerminationType); err != nil {
				return err
			}
		}
	}
	return nil
}

// UpdateApplication hears of applications. Their names begin with those of their partitions.
func (p *program) UpdateApplication(r *si.ApplicationResponse) error {
	tell := func(id, what string) {
		if name, _, ok := strings.Cut(id, "."); ok && p.worlds[name] != nil {
			p.worlds[name].hear("%s %s", id, what)
		}
	}
	for _, a := range r.Accepted {
		tell(a.ApplicationID, "accepted")
	}
	for _, a := range r.Rejected {
		tell(a.ApplicationID, "rejected")
	}
	for _, a := range r.Updated {
		tell(a.ApplicationID, "is "+a.State)
	}
	return nil
}

// UpdateNode hears of nodes.
func (p *program) UpdateNode(r *si.NodeResponse) error {
	for _, n := range r.Accepted {
		if w, node := p.ofNode(n.NodeID); w != nil {
			w.hear("node %s accepted", node)
		}
	}
	for _, n := range r.Rejected {
		if w, node := p.ofNode(n.NodeID); w != nil {
			w.hear("node %s rejected", node)
		}
	}
	return nil
}

// Predicates lets everything run everywhere.
func (p *program) Predicates(*si.PredicatesArgs) error { return nil }

// PreemptionPredicates lets an ask run as soon as what may be removed is.
func (p *program) PreemptionPredicates(args *si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	return &si.PreemptionPredicatesResponse{Success: true, Index: args.StartIndex}
}

// SendEvent hears nothing.
func (p *program) SendEvent([]*si.EventRecord) {}

// UpdateContainerSchedulingState hears nothing.
func (p *program) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {}

// GetStateDump has no state.
func (p *program) GetStateDump() (string, error) { return "{}", nil }
