package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

const id = "manager" // of this resource manager

// queues: services may take room from batch, by priority and at once.
const queues = `
partitions:
- name: default
  preemption:
    preemption_start_delay: 0s
  queues:
  - name: root
    queues:
    - name: agents
    - name: services
    - name: batch
      resources:
        max: {vcore: 3}
`

// A pod is a process that is to run until it ends by itself.
type pod struct {
	key      string
	queue    string // its application too
	vcore    int64
	priority int32
	node     string // the only one it may run on; empty is any
}

// A cluster is what is there without a manager: machines, and the pods that are wanted.
type cluster struct {
	machines []*machine
	pods     []*pod
	news     chan string // what happens, for people
}

func (c *cluster) machine(name string) *machine {
	for _, m := range c.machines {
		if m.name == name {
			return m
		}
	}
	return nil
}

// A manager has the pods of a cluster run. It knows nothing that it could not find out again.
type manager struct {
	*cluster
	core *scheduler.Scheduler

	mu       sync.Mutex // may be held while requests are sent, which wait for no callback
	wanted   map[string]*pod
	evicting map[string]si.TerminationType // pods that are to end, with the type to confirm
}

// begin starts a manager on a cluster, of which parts may run already.
func begin(c *cluster, config scheduler.Config) (*manager, error) {
	core, err := scheduler.New(config)
	if err != nil {
		return nil, err
	}
	m := &manager{cluster: c, core: core, wanted: map[string]*pod{}, evicting: map[string]si.TerminationType{}}
	if _, err := core.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: id, Config: queues}, m); err != nil {
		return nil, err
	}
	return m, m.recover()
}

// recover tells the scheduler what there is: nodes, applications, what runs, what waits.
func (m *manager) recover() error {
	m.mu.Lock() // the end of a process is told after it was told that it runs
	defer m.mu.Unlock()
	nodes, applications := new(si.NodeRequest), new(si.ApplicationRequest)
	nodes.RmID, applications.RmID = id, id
	for _, machine := range m.machines {
		nodes.Nodes = append(nodes.Nodes, &si.NodeInfo{NodeID: machine.name, Action: si.NodeInfo_CREATE, SchedulableResource: vcore(machine.vcore)})
	}
	for _, queue := range []string{"agents", "services", "batch"} {
		applications.New = append(applications.New, &si.AddApplicationRequest{
			ApplicationID: queue, QueueName: "root." + queue, Ugi: &si.UserGroupInformation{User: "ada"},
			Tags: map[string]string{common.AppTagCreateForce: "true"}, // what runs is taken in whatever changed in the queues
		})
	}
	if err := m.core.UpdateNode(nodes); err != nil {
		return err
	}
	if err := m.core.UpdateApplication(applications); err != nil {
		return err
	}
	for _, pod := range m.pods {
		m.wanted[pod.key] = pod
	}
	runs := map[string]bool{}
	for _, machine := range m.machines {
		for _, p := range machine.watch(m.exited) {
			runs[p.key] = true
			if err := m.report(machine, p); err != nil {
				return err
			}
		}
	}
	for _, pod := range m.pods {
		if runs[pod.key] {
			continue
		}
		if err := m.ask(pod); err != nil {
			return err
		}
	}
	return nil
}

// report tells that a process runs: one of its own, which the scheduler adopts, or one of others.
func (m *manager) report(on *machine, p *process) error {
	a := &si.Allocation{AllocationKey: p.key, ResourcePerAlloc: vcore(p.vcore), NodeID: on.name, AllocationTags: map[string]string{}}
	if p.foreign {
		a.AllocationTags[common.Foreign] = common.AllocTypeDefault
	} else if pod := m.wanted[p.key]; pod != nil {
		a.ApplicationID, a.Priority = pod.queue, pod.priority
	}
	return m.send(a)
}

// ask asks for a place to start a pod.
func (m *manager) ask(p *pod) error {
	a := &si.Allocation{AllocationKey: p.key, ApplicationID: p.queue, ResourcePerAlloc: vcore(p.vcore), Priority: p.priority, AllocationTags: map[string]string{}}
	if p.node != "" {
		a.AllocationTags[common.DomainYuniKorn+common.KeyRequiredNode] = p.node
	}
	return m.send(a)
}

// add wants another pod.
func (m *manager) add(p *pod) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pods, m.wanted[p.key] = append(m.pods, p), p
	return m.ask(p)
}

// notice tells of a process that something else has started.
func (m *manager) notice(on *machine, p *process) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.report(on, p)
}

// exited tells of the end of a process. A pod that was evicted is asked for again, in a request of
// its own: of one request, allocations are read before releases.
func (m *manager) exited(on *machine, p *process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.news <- p.key + " ended on " + on.name
	why, evicted := m.evicting[p.key]
	delete(m.evicting, p.key)
	release := &si.AllocationRelease{AllocationKey: p.key, TerminationType: si.TerminationType_STOPPED_BY_RM}
	pod := m.wanted[p.key]
	if pod != nil && !p.foreign {
		release.ApplicationID = pod.queue
	}
	if evicted {
		release.TerminationType = why
	}
	m.release(release)
	if evicted && pod != nil {
		m.failed(m.ask(pod))
	}
}

// UpdateAllocation starts what was placed and stops what has to go.
func (m *manager) UpdateAllocation(r *si.AllocationResponse) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range r.New {
		if err := m.machine(a.NodeID).start(&process{key: a.AllocationKey, vcore: m.wanted[a.AllocationKey].vcore}, "sleep", "600"); err != nil {
			m.release(&si.AllocationRelease{
				ApplicationID: a.ApplicationID, AllocationKey: a.AllocationKey, TerminationType: api.SchedulingFailed, Message: err.Error(),
			})
			continue
		}
		m.news <- a.AllocationKey + " starts on " + a.NodeID
	}
	for _, gone := range r.Released {
		if gone.TerminationType == si.TerminationType_STOPPED_BY_RM {
			continue // the echo of an end, since this manager removes neither nodes nor applications
		}
		m.news <- gone.AllocationKey + " has to end"
		m.evicting[gone.AllocationKey] = gone.TerminationType
		for _, machine := range m.machines {
			machine.stop(gone.AllocationKey)
		}
	}
	for _, refused := range r.RejectedAllocations {
		m.news <- refused.AllocationKey + " is refused: " + refused.Reason
	}
	return nil
}

// end stops the manager, and none of the processes.
func (m *manager) end() error {
	for _, machine := range m.machines {
		machine.watch(nil)
	}
	return m.core.StopContext(context.Background())
}

func (m *manager) send(a *si.Allocation) error {
	return m.core.UpdateAllocation(&si.AllocationRequest{RmID: id, Allocations: []*si.Allocation{a}})
}

func (m *manager) release(r *si.AllocationRelease) {
	m.failed(m.core.UpdateAllocation(&si.AllocationRequest{
		RmID: id, Releases: &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{r}},
	}))
}

// failed tells of a request that was not taken. A manager with more than a few pods would send it again after scheduler.ErrInboxFull.
func (m *manager) failed(err error) {
	if err != nil {
		m.news <- fmt.Sprint("failed: ", err)
	}
}

func vcore(milli int64) *si.Resource {
	return &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: milli}}}
}
