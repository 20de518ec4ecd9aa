package schedulertest

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Look is the partition as it is now. Lists of allocations and asks are in no order;
// those of Node and Application are sorted.
func (m *MockScheduler) Look() *api.View {
	m.t.Helper()
	view, err := m.View(context.Background(), "["+m.options.ID+"]"+m.options.Partition)
	if err != nil {
		m.t.Fatalf("schedulertest: %v", err)
	}
	return view
}

// Node is a node as it is now, with allocations sorted by key. The test ends if it is
// not known.
func (m *MockScheduler) Node(id string) *api.NodeView {
	m.t.Helper()
	for _, n := range m.Look().Nodes {
		if string(n.ID) == id {
			sorted := *n
			sorted.Allocations, sorted.ForeignAllocations = byKey(n.Allocations), byKey(n.ForeignAllocations)
			return &sorted
		}
	}
	m.t.Fatalf("schedulertest: node %s is not known", id)
	return nil
}

// Application is an application as it is now, with allocations and asks sorted by key,
// or nil.
func (m *MockScheduler) Application(id string) *api.ApplicationView {
	m.t.Helper()
	for _, a := range m.Look().Applications {
		if string(a.ID) == id {
			sorted := *a
			sorted.Allocations = byKey(a.Allocations)
			sorted.Asks = slices.SortedFunc(slices.Values(a.Asks), func(a, b api.AskView) int { return cmp.Compare(a.Key, b.Key) })
			return &sorted
		}
	}
	return nil
}

// byKey is a sorted copy: a view is never changed.
func byKey(list []*api.Allocation) []*api.Allocation {
	return slices.SortedFunc(slices.Values(list), func(a, b *api.Allocation) int { return cmp.Compare(a.Key, b.Key) })
}

// Queue is a queue as it is now. The test ends if it is not known.
func (m *MockScheduler) Queue(path string) *api.QueueView {
	m.t.Helper()
	queue := m.Look().Root
	for queue != nil && string(queue.Path) != path {
		var next *api.QueueView
		for _, child := range queue.Queues {
			if strings.HasPrefix(path+".", string(child.Path)+".") {
				next = child
			}
		}
		queue = next
	}
	if queue == nil {
		m.t.Fatalf("schedulertest: queue %s is not known", path)
	}
	return queue
}

// Text is amounts in the form "memory=1024 vcore=500"; nothing at all is
// "nothing".
func (m *MockScheduler) Text(amounts resources.Amounts) string { return m.Kinds().Format(amounts) }

// Placed is the node of an allocation as the resource manager knows it.
func (m *MockScheduler) Placed(key string) (node string, ok bool) {
	return m.heard.nodeOf(key)
}

// Nominated is the node to which an ask is nominated as the resource manager knows it.
func (m *MockScheduler) Nominated(key string) (node string, ok bool) {
	m.heard.mu.Lock()
	defer m.heard.mu.Unlock()
	node, ok = m.heard.nominated[key]
	return node, ok
}

// Asked are the questions of the scheduler so far, one line each.
func (m *MockScheduler) Asked() []string {
	asked := []string{}
	for _, call := range m.Calls() {
		if call.isQuestion() {
			asked = append(asked, call.Lines()...)
		}
	}
	return asked
}

// Why says why an ask is still pending.
func (m *MockScheduler) Why(key string) string {
	m.t.Helper()
	for _, a := range m.Look().Applications {
		for _, ask := range a.Asks {
			if string(ask.Key) == key {
				return strings.TrimSuffix(ask.Reason.String()+": "+explain.Detail(ask.Waiting, m.Kinds()), ": ")
			}
		}
	}
	return "it is not pending"
}

// Events are the event records so far.
func (m *MockScheduler) Events() []*si.EventRecord {
	var events []*si.EventRecord
	for _, call := range m.Calls() {
		if records, ok := call.Message.([]*si.EventRecord); ok {
			events = append(events, records...)
		}
	}
	return events
}

// Calls are all callbacks so far.
func (m *MockScheduler) Calls() []Call { return m.heard.all() }

// Heard is what the scheduler told since the last time it was asked, one line
// per thing told, without events and questions.
func (m *MockScheduler) Heard() []string {
	lines := []string{}
	for _, call := range m.heard.since() {
		if _, event := call.Message.([]*si.EventRecord); !event && !call.isQuestion() {
			lines = append(lines, call.Lines()...)
		}
	}
	return lines
}
