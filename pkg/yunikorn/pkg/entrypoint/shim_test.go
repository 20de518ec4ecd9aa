package entrypoint

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
)

const (
	rmID      = "mycluster"
	partition = "[mycluster]default"
)

// A shim plays a resource manager that was written for YuniKorn: it knows nothing but the
// names of this module and the scheduler-interface. Its verbs belong to the goroutine of the
// test, which runs in a bubble where time is virtual, and return when everything has settled.
type shim struct {
	*ServiceContext
	t    *testing.T
	logs *observer.ObservedLogs

	mu    sync.Mutex
	heard []string
	nodes map[string]string // of allocations that run
	keeps bool              // releases that the scheduler starts are left alone
	block chan struct{}     // if set, the answer of Predicates comes when it is closed
}

var _ api.ResourceManagerCallback = (*shim)(nil)

// play starts a scheduler and plays a resource manager that is not registered yet. The edit of the
// settings may be nil.
func play(t *testing.T, edit func(*settings), test func(t *testing.T, s *shim)) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		level := zap.NewAtomicLevelAt(zap.InfoLevel)
		s := &shim{t: t, logs: logs, nodes: map[string]string{}}
		with := settings{logger: zap.New(core), level: &level, getenv: noEnvironment}
		if edit != nil {
			edit(&with)
		}
		s.ServiceContext = start(with)
		defer s.StopAll()
		synctest.Wait()
		test(t, s)
	})
}

// run is play with a resource manager that has registered with a configuration, and has a node.
func run(t *testing.T, config string, test func(t *testing.T, s *shim)) {
	play(t, nil, func(t *testing.T, s *shim) {
		s.register(config, nil)
		s.addNode("node-1", 4)
		test(t, s)
	})
}

// settle lets everything happen that needs no time.
func (s *shim) settle(err error) {
	s.t.Helper()
	assert.NilError(s.t, err)
	synctest.Wait()
}

// pass lets time pass.
func (s *shim) pass(d time.Duration) {
	time.Sleep(d) // of the bubble
	synctest.Wait()
}

func (s *shim) register(config string, extra map[string]string) {
	s.t.Helper()
	_, err := s.RMProxy.RegisterResourceManager(&si.RegisterResourceManagerRequest{
		RmID: rmID, PolicyGroup: "queues", Version: "1", BuildInfo: map[string]string{"buildVersion": "v1"}, Config: config, ExtraConfig: extra,
	}, s)
	s.settle(err)
}

func (s *shim) configure(config string, extra map[string]string) error {
	err := s.RMProxy.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: rmID, PolicyGroup: "queues", Config: config, ExtraConfig: extra})
	synctest.Wait()
	return err
}

func cores(n int64) *si.Resource {
	return &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: 1000 * n}}}
}

func (s *shim) node(id string, action si.NodeInfo_ActionFromRM, n int64) {
	s.t.Helper()
	s.settle(s.RMProxy.UpdateNode(&si.NodeRequest{RmID: rmID, Nodes: []*si.NodeInfo{{
		NodeID: id, Action: action, SchedulableResource: cores(n), Attributes: map[string]string{"si/hostname": id},
	}}}))
}

// addNode adds a node as a shim does: closed at first.
func (s *shim) addNode(id string, n int64) {
	s.t.Helper()
	s.node(id, si.NodeInfo_CREATE_DRAIN, n)
	s.node(id, si.NodeInfo_DRAIN_TO_SCHEDULABLE, n)
}

func (s *shim) addApplication(id, queue string, edits ...func(*si.AddApplicationRequest)) {
	s.t.Helper()
	a := &si.AddApplicationRequest{
		ApplicationID: id, QueueName: queue, PartitionName: "default",
		Ugi:  &si.UserGroupInformation{User: "anna", Groups: []string{"dev"}},
		Tags: map[string]string{"namespace": "team"},
	}
	for _, edit := range edits {
		edit(a)
	}
	s.settle(s.RMProxy.UpdateApplication(&si.ApplicationRequest{RmID: rmID, New: []*si.AddApplicationRequest{a}}))
}

// ask asks for an allocation of some cores, or reports one that runs.
func (s *shim) ask(application, key string, n int64, edits ...func(*si.Allocation)) {
	s.t.Helper()
	a := &si.Allocation{
		AllocationKey: key, ApplicationID: application, PartitionName: "default", ResourcePerAlloc: cores(n),
		AllocationTags:   map[string]string{},
		PreemptionPolicy: &si.PreemptionPolicy{AllowPreemptSelf: true, AllowPreemptOther: true},
	}
	for _, edit := range edits {
		edit(a)
	}
	s.settle(s.RMProxy.UpdateAllocation(&si.AllocationRequest{RmID: rmID, Allocations: []*si.Allocation{a}}))
}

func on(node string) func(*si.Allocation) { return func(a *si.Allocation) { a.NodeID = node } }

// only is an ask of a daemonset.
func only(node string) func(*si.Allocation) {
	return func(a *si.Allocation) { a.AllocationTags[common.DomainYuniKorn+common.KeyRequiredNode] = node }
}

func (s *shim) foreign(key, node string, n int64) {
	s.t.Helper()
	s.ask("", key, n, on(node), func(a *si.Allocation) { a.AllocationTags[common.Foreign] = common.AllocTypeDefault })
}

func (s *shim) release(application, key string, why si.TerminationType) {
	s.t.Helper()
	s.settle(s.end(application, key, why))
}

func (s *shim) end(application, key string, why si.TerminationType) error {
	return s.RMProxy.UpdateAllocation(&si.AllocationRequest{RmID: rmID, Releases: &si.AllocationReleasesRequest{
		AllocationsToRelease: []*si.AllocationRelease{{PartitionName: "default", ApplicationID: application, AllocationKey: key, TerminationType: why}},
	}})
}

// runs is the node of an allocation as the scheduler told it; empty if it runs nowhere.
func (s *shim) runs(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[key]
}

// keep has allocations that the scheduler wants ended go on.
func (s *shim) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keeps = true
}

// told is what was heard since the last time.
func (s *shim) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.heard = nil }()
	return append([]string{}, s.heard...)
}

func (s *shim) hear(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, fmt.Sprintf(format, args...))
}

// UpdateAllocation hears of allocations. Of those that it is to end it says that they have ended.
func (s *shim) UpdateAllocation(r *si.AllocationResponse) error {
	for _, a := range r.New {
		s.hear("%s runs on %s", a.AllocationKey, a.NodeID)
		s.mu.Lock()
		s.nodes[a.AllocationKey] = a.NodeID
		s.mu.Unlock()
	}
	for _, a := range r.RejectedAllocations {
		s.hear("%s rejected: %s", a.AllocationKey, a.Reason)
	}
	for _, a := range r.Released {
		s.hear("%s released: %s", a.AllocationKey, a.TerminationType)
		s.mu.Lock()
		delete(s.nodes, a.AllocationKey)
		keeps := s.keeps
		s.mu.Unlock()
		if a.TerminationType != si.TerminationType_STOPPED_BY_RM && !keeps {
			if err := s.end(a.ApplicationID, a.AllocationKey, a.TerminationType); err != nil {
				return err
			}
		}
	}
	return nil
}

// UpdateApplication hears of applications.
func (s *shim) UpdateApplication(r *si.ApplicationResponse) error {
	for _, a := range r.Accepted {
		s.hear("application %s accepted", a.ApplicationID)
	}
	for _, a := range r.Rejected {
		s.hear("application %s rejected: %s", a.ApplicationID, a.Reason)
	}
	for _, a := range r.Updated {
		s.hear("application %s is %s", a.ApplicationID, a.State)
	}
	return nil
}

// UpdateNode hears of nodes.
func (s *shim) UpdateNode(r *si.NodeResponse) error {
	for _, n := range r.Accepted {
		s.hear("node %s accepted", n.NodeID)
	}
	for _, n := range r.Rejected {
		s.hear("node %s rejected: %s", n.NodeID, n.Reason)
	}
	return nil
}

// Predicates lets everything run everywhere.
func (s *shim) Predicates(*si.PredicatesArgs) error {
	if s.block != nil {
		<-s.block
	}
	return nil
}

// PreemptionPredicates lets an ask run as soon as all that may be removed is.
func (s *shim) PreemptionPredicates(args *si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	return &si.PreemptionPredicatesResponse{Success: true, Index: args.StartIndex}
}

// SendEvent hears of events.
func (s *shim) SendEvent([]*si.EventRecord) {}

// UpdateContainerSchedulingState hears why an ask waits.
func (s *shim) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {}

// GetStateDump is the state of the shim.
func (s *shim) GetStateDump() (string, error) { return `{"pods": 1}`, nil }

// request sends a request to REST; a body is posted.
func (s *shim) request(path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	if body != "" {
		r = httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	}
	r.Host = "yunikorn-service" // as clients call it
	r.Header.Set("Accept", "application/json")
	if strings.HasPrefix(body, "{") {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.services.handler.ServeHTTP(w, r)
	return w
}

// read reads an answer of REST and returns its status.
func (s *shim) read(path string, into any) int {
	s.t.Helper()
	w := s.request(path, "")
	if into != nil && w.Code == http.StatusOK {
		assert.NilError(s.t, json.Unmarshal(w.Body.Bytes(), into), path)
	}
	return w.Code
}

// says asserts that a text was heard since the last time, and forgets all.
func (s *shim) says(want string) {
	s.t.Helper()
	told := s.told()
	assert.Assert(s.t, slices.ContainsFunc(told, func(line string) bool { return strings.Contains(line, want) }), "%q is not in %q", want, told)
}
