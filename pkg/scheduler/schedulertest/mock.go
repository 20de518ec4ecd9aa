package schedulertest

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// Options say what is tested. The zero value works: one resource manager "rm",
// one partition "default", one queue "root.default", every predicate says yes,
// releases that the scheduler starts are confirmed.
type Options struct {
	Scheduler   scheduler.Config // a SettleDelay of zero is none
	ID          string           // of the resource manager
	Partition   string           // the verbs are about, in short form
	Config      string           // of the partitions, YAML
	ExtraConfig map[string]string
	// Predicates answers the question whether an allocation may run on a node.
	// It runs in the goroutine of the partition.
	Predicates func(*si.PredicatesArgs) error
	// Conflicts are, for an ask, the allocations with which it may not share a node.
	// The answers to all questions about nodes respect them.
	Conflicts map[string][]string
	// PreemptionPredicates answers in place of Conflicts; nil says that the resource
	// manager cannot simulate.
	PreemptionPredicates func(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse

	// PredicateClass answers which asks are alike for Predicates. Without it, every ask
	// is like no other.
	PredicateClass func(key string) string
	// PredicatesOnNodes has it implement scheduler.NodesPredicates: it answers in
	// place of Predicates and Conflicts.
	PredicatesOnNodes func(*scheduler.PredicatesOnNodesArgs) []error

	// KeepsForeign is a resource manager that ends no allocation of other schedulers, as
	// one that is Plain.
	KeepsForeign bool

	// Plain is a resource manager that implements none of the optional interfaces.
	// Without it, it hears of nominations and knows Budgets.
	Plain bool
	// Simulates has it implement scheduler.PredicateSimulator, and so does
	// PredicatesWith, which is asked where there is no conflict.
	Simulates      bool
	PredicatesWith func(*scheduler.PredicatesWithArgs) error
	// SelectVictims has it implement scheduler.VictimSelector.
	SelectVictims func(*scheduler.SelectVictimsArgs) ([]string, error)
	// Budgets are the disruption budgets as they are before the first eviction;
	// DisruptionBudgets answers in place of them.
	Budgets           []scheduler.DisruptionBudget
	DisruptionBudgets func(keys []string) []scheduler.DisruptionBudget

	// During runs inside every callback, after it is recorded. It may block, call
	// the scheduler, and return the error of the callback.
	During func(Call) error
	// KeepReleased leaves it to the test to confirm the releases that the
	// scheduler starts: preemption, time-outs, replaced placeholders.
	KeepReleased bool
	// Patience is how much virtual time WaitPlaced lets pass; zero means a minute.
	Patience time.Duration
}

func (o Options) withDefaults() Options {
	if o.ID == "" {
		o.ID = "rm"
	}
	if o.Partition == "" {
		o.Partition = "default"
	}
	if o.Scheduler.SettleDelay == 0 {
		o.Scheduler.SettleDelay = -1
	}
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	return o
}

// A MockScheduler is the real scheduler and a resource manager that is registered
// with it. The verbs belong to one goroutine, that of the test.
type MockScheduler struct {
	*scheduler.Scheduler
	t       testing.TB
	options Options
	heard   *recorder
	settled int // how often
}

// New starts a scheduler and registers the resource manager. It must be called
// inside a bubble of testing/synctest. The scheduler stops when the test ends.
func New(t testing.TB, options Options) *MockScheduler {
	t.Helper()
	s, err := scheduler.New(options.withDefaults().Scheduler)
	if err != nil {
		t.Fatalf("schedulertest: %v", err)
	}
	t.Cleanup(s.Stop)
	return join(s, t, options)
}

// Join registers another resource manager with the same scheduler. Of the options
// those of the scheduler do not count.
func (m *MockScheduler) Join(options Options) *MockScheduler {
	m.t.Helper()
	return join(m.Scheduler, m.t, options)
}

// join registers a resource manager with a scheduler. Its books are checked once more when the
// test ends, unless they always were.
func join(s *scheduler.Scheduler, t testing.TB, options Options) *MockScheduler {
	t.Helper()
	m := &MockScheduler{Scheduler: s, t: t, options: options.withDefaults()}
	t.Cleanup(func() {
		if m.settled > checkedEach && !m.heard.busy() {
			checkBooks(m)
		}
	})
	m.Register()
	return m
}

// Register registers the resource manager, again if it was before. What was
// recorded is kept; the scheduler starts over with nothing.
func (m *MockScheduler) Register() {
	m.t.Helper()
	former := m.heard
	m.heard = newRecorder(m.Scheduler, m.options)
	if former != nil {
		m.heard.calls = former.all()
	}
	_, err := m.RegisterResourceManager(&si.RegisterResourceManagerRequest{
		RmID:        m.options.ID,
		PolicyGroup: "queues",
		Version:     "test",
		Config:      m.options.Config,
		ExtraConfig: m.options.ExtraConfig,
	}, m.heard.callback())
	m.settle(err)
}

// Configure updates the configuration and returns the error for a bad one.
func (m *MockScheduler) Configure(config string) error {
	err := m.UpdateConfiguration(&si.UpdateConfigurationRequest{
		RmID: m.options.ID, PolicyGroup: "queues", Config: config, ExtraConfig: m.options.ExtraConfig,
	})
	synctest.Wait()
	return err
}

// settle ends a verb: everything it caused has come to rest, and the books agree.
func (m *MockScheduler) settle(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatalf("schedulertest: %v", err)
	}
	m.Settle()
}

// Settle waits until every goroutine of the test waits for something else than
// another one, and checks the books of the resource manager unless one of its
// callbacks is blocked: each of the first 500 times, then every twentieth, and at the end
// of the test.
func (m *MockScheduler) Settle() {
	m.t.Helper()
	synctest.Wait()
	if m.heard.busy() {
		return
	}
	if m.settled++; m.settled <= checkedEach || m.settled%checkedEvery == 0 {
		checkBooks(m)
	}
}

// Advance lets virtual time pass, and everything happen that is due by then.
func (m *MockScheduler) Advance(d time.Duration) {
	m.t.Helper()
	time.Sleep(d)
	m.Settle()
}

// WaitPlaced waits, in virtual time, until an allocation is placed, and returns
// its node. The test ends if that takes longer than Options.Patience.
func (m *MockScheduler) WaitPlaced(key string) string {
	m.t.Helper()
	m.Settle()
	node, ok := m.heard.awaitPlaced(key, m.options.Patience)
	if !ok {
		m.t.Fatalf("schedulertest: %s is not placed within %v: %s", key, m.options.Patience, m.Why(key))
	}
	return node
}

// Resource reads quantities as people write them: "vcore=500m memory=1Gi". A
// plain number of vcore means cores. It panics on a text that cannot be read.
func Resource(text string) *si.Resource {
	r := &si.Resource{Resources: map[string]*si.Quantity{}}
	for field := range strings.FieldsSeq(text) {
		name, quantity, _ := strings.Cut(field, "=")
		value, err := resources.ParseQuantity(name, quantity)
		if err != nil {
			panic("schedulertest: " + name + ": " + err.Error())
		}
		r.Resources[name] = &si.Quantity{Value: value}
	}
	return r
}

// AddNode registers a node that is schedulable at once.
func (m *MockScheduler) AddNode(id, capacity string) {
	m.t.Helper()
	m.node(si.NodeInfo_CREATE, id, Resource(capacity))
}

// AddDrainedNode registers a node that is not schedulable until EnableNode, as a
// shim does at its start.
func (m *MockScheduler) AddDrainedNode(id, capacity string) {
	m.t.Helper()
	m.node(si.NodeInfo_CREATE_DRAIN, id, Resource(capacity))
}

// UpdateCapacity changes the capacity of a node.
func (m *MockScheduler) UpdateCapacity(id, capacity string) {
	m.t.Helper()
	m.node(si.NodeInfo_UPDATE, id, Resource(capacity))
}

// EnableNode makes a node schedulable.
func (m *MockScheduler) EnableNode(id string) {
	m.t.Helper()
	m.node(si.NodeInfo_DRAIN_TO_SCHEDULABLE, id, nil)
}

// DrainNode keeps further allocations off a node.
func (m *MockScheduler) DrainNode(id string) {
	m.t.Helper()
	m.node(si.NodeInfo_DRAIN_NODE, id, nil)
}

// RemoveNode decommissions a node.
func (m *MockScheduler) RemoveNode(id string) {
	m.t.Helper()
	m.node(si.NodeInfo_DECOMISSION, id, nil)
}

func (m *MockScheduler) node(action si.NodeInfo_ActionFromRM, id string, capacity *si.Resource) {
	m.t.Helper()
	m.settle(m.UpdateNodeOf(&si.NodeInfo{
		NodeID:              id,
		Action:              action,
		SchedulableResource: capacity,
		Attributes:          map[string]string{common.NodePartition: m.options.Partition, common.HostName: id},
	}))
}

// UpdateNodeOf sends nodes as they are, without waiting for anything.
func (m *MockScheduler) UpdateNodeOf(nodes ...*si.NodeInfo) error {
	return m.UpdateNode(&si.NodeRequest{RmID: m.options.ID, Nodes: nodes})
}

// AddApplication registers an application of the user "tester".
func (m *MockScheduler) AddApplication(id, queue string) {
	m.t.Helper()
	m.settle(m.UpdateApplication(&si.ApplicationRequest{RmID: m.options.ID, New: []*si.AddApplicationRequest{{
		ApplicationID: id,
		QueueName:     queue,
		PartitionName: m.options.Partition,
		Ugi:           &si.UserGroupInformation{User: "tester", Groups: []string{"testers"}},
	}}}))
}

// RemoveApplication removes an application with all it has.
func (m *MockScheduler) RemoveApplication(id string) {
	m.t.Helper()
	m.settle(m.UpdateApplication(&si.ApplicationRequest{RmID: m.options.ID, Remove: []*si.RemoveApplicationRequest{{
		ApplicationID: id, PartitionName: m.options.Partition,
	}}}))
}

// Ask asks for an allocation. Edits change the message before it is sent.
func (m *MockScheduler) Ask(application, key, amounts string, edits ...func(*si.Allocation)) {
	m.t.Helper()
	a := &si.Allocation{
		AllocationKey:    key,
		ApplicationID:    application,
		PartitionName:    m.options.Partition,
		ResourcePerAlloc: Resource(amounts),
	}
	for _, edit := range edits {
		edit(a)
	}
	m.settle(m.Send(a))
}

// AskOn asks for an allocation that may run on one node only, as the pod of a
// daemonset.
func (m *MockScheduler) AskOn(node, application, key, amounts string, edits ...func(*si.Allocation)) {
	m.t.Helper()
	required := func(a *si.Allocation) {
		a.AllocationTags = map[string]string{common.DomainYuniKorn + common.KeyRequiredNode: node}
	}
	m.Ask(application, key, amounts, append([]func(*si.Allocation){required}, edits...)...)
}

// Place reports an allocation that already runs on a node. With EchoAdopted of the scheduler it is Placed then.
func (m *MockScheduler) Place(application, key, node, amounts string) {
	m.t.Helper()
	m.Ask(application, key, amounts, func(a *si.Allocation) { a.NodeID = node })
}

// Foreign reports a pod that another scheduler placed on a node, or a change of it.
func (m *MockScheduler) Foreign(key, node, amounts string) {
	m.t.Helper()
	m.foreign(key, node, amounts, common.AllocTypeDefault)
}

// Static reports a pod that belongs to its node.
func (m *MockScheduler) Static(key, node, amounts string) {
	m.t.Helper()
	m.foreign(key, node, amounts, common.AllocTypeStatic)
}

func (m *MockScheduler) foreign(key, node, amounts, value string) {
	m.t.Helper()
	m.Ask("", key, amounts, func(a *si.Allocation) {
		a.NodeID = node
		a.AllocationTags = map[string]string{common.Foreign: value}
	})
}

// Send sends allocations as they are, without waiting for anything.
func (m *MockScheduler) Send(allocations ...*si.Allocation) error {
	return m.UpdateAllocation(&si.AllocationRequest{RmID: m.options.ID, Allocations: allocations})
}

// Release says that a pod is gone, or cancels an ask. An empty application names
// a foreign one, an empty key all of the application.
func (m *MockScheduler) Release(application, key string) {
	m.t.Helper()
	m.ReleaseAs(application, key, si.TerminationType_STOPPED_BY_RM)
}

// FailBinding says that the pod could not be bound; the ask is pending again.
func (m *MockScheduler) FailBinding(application, key string) {
	m.t.Helper()
	m.ReleaseAs(application, key, api.SchedulingFailed)
}

// ReleaseAs sends a release of any type, such as the confirmation of one that
// the scheduler started.
func (m *MockScheduler) ReleaseAs(application, key string, termination si.TerminationType) {
	m.t.Helper()
	if termination != si.TerminationType_STOPPED_BY_RM {
		m.heard.unplace(key) // is not echoed
	}
	m.settle(m.UpdateAllocation(releaseOf(m.options, &si.AllocationRelease{
		ApplicationID: application, AllocationKey: key, TerminationType: termination,
	})))
}

// Confirm says that an allocation has ended which the scheduler evicted, once more
// if it was said before. The test ends if there was no eviction.
func (m *MockScheduler) Confirm(key string) {
	m.t.Helper()
	release := m.heard.toldOf(key)
	if release == nil {
		m.t.Fatalf("schedulertest: the scheduler did not evict %s", key)
	}
	m.ReleaseAs(release.ApplicationID, key, release.TerminationType)
}

func releaseOf(options Options, release *si.AllocationRelease) *si.AllocationRequest {
	return &si.AllocationRequest{RmID: options.ID, Releases: &si.AllocationReleasesRequest{
		AllocationsToRelease: []*si.AllocationRelease{{
			PartitionName:   options.Partition,
			ApplicationID:   release.ApplicationID,
			AllocationKey:   release.AllocationKey,
			TerminationType: release.TerminationType,
		}},
	}}
}
