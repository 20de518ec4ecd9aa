package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// The verbs that say what the resource manager answers.

func (m *manager) refuse(a *arguments) (func(), error) {
	passing := a.flag("passing")
	p := pair{m.asked(api.AllocationKey(a.need("the allocation"))), a.need("the node")}
	var err error = refusal(a.need("the text"))
	if passing {
		err = errors.New(err.Error())
	}
	return func() { m.refusals[p] = err }, nil
}

func (m *manager) allow(a *arguments) (func(), error) {
	key, node := a.need("the allocation"), a.need("the node")
	p := pair{m.asked(api.AllocationKey(key)), node}
	if _, ok := m.refusals[p]; !ok {
		return nil, fmt.Errorf("%s on %s is not refused", key, node)
	}
	return func() { delete(m.refusals, p) }, nil
}

// conflict says of two allocations that they may not run on the same node.
func (m *manager) conflict(a *arguments) (func(), error) {
	one, other := a.need("the allocation"), a.need("the other allocation")
	return func() {
		m.conflicts[pair{one, other}], m.conflicts[pair{other, one}] = true, true
	}, nil
}

// need says of an allocation that it may run only where another does.
func (m *manager) need(a *arguments) (func(), error) {
	one, other := a.need("the allocation"), a.need("the other allocation")
	return func() { m.needs[pair{one, other}] = true }, nil
}

// budget sets a disruption budget. Earlier evictions do not count against it.
func (m *manager) budget(a *arguments, text string) error {
	b := &budget{evicted: map[api.AllocationKey]bool{}}
	b.Name = a.need("the name")
	if !a.has("allowed") {
		return fmt.Errorf("budget %s: allowed= is missing", b.Name)
	}
	b.Allowed = int(a.number("allowed"))
	b.Allocations = keysOf(strings.Fields(text))
	m.budgets = slices.DeleteFunc(m.budgets, func(before *budget) bool { return before.Name == b.Name })
	m.budgets = append(m.budgets, b)
	return nil
}

// choose sets the victims that make room for an ask, on any node.
func (m *manager) choose(a *arguments) (func(), error) {
	ask := api.AllocationKey(a.need("the ask"))
	chosen := keysOf(a.names)
	a.names = nil
	return func() { m.choices[ask] = chosen }, nil
}

// alike says of asks that the resource manager answers them alike: a refusal of one, later, is one of all.
func (m *manager) alike(a *arguments) (func(), error) {
	class := a.need("the name of the class")
	asks := keysOf(a.names)
	a.names = nil
	return func() {
		for _, ask := range asks {
			m.classes[ask] = class
		}
	}, nil
}

// tied says of which classes answers change when an allocation comes or goes.
func (m *manager) tied(a *arguments) (func(), error) {
	key := api.AllocationKey(a.need("the allocation"))
	classes := a.names
	a.names = nil
	return func() { m.ties[key] = classes }, nil
}

// best sets which nodes suit an ask best, the best first.
func (m *manager) best(a *arguments) (func(), error) {
	ask := api.AllocationKey(a.need("the ask"))
	var nodes []api.NodeID
	for node := a.name(); node != ""; node = a.name() {
		nodes = append(nodes, api.NodeID(node))
	}
	return func() { m.suits[ask] = nodes }, nil
}

func keysOf(words []string) []api.AllocationKey {
	keys := make([]api.AllocationKey, len(words))
	for i, word := range words {
		keys[i] = api.AllocationKey(word)
	}
	slices.Sort(keys)
	return keys
}
