package core

import (
	"fmt"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A verifier keeps the first law that it finds broken.
type verifier struct {
	p       *Partition
	all     []*ledger.Node // by ID
	settled bool           // nothing has changed to which nothing has reacted
	broken  error
	found   int // requests in lists of nodes and applications
	used    resources.Sum
	foreign resources.Sum
	total   resources.Sum
	sum     resources.Sum // scratch

	running     tables.Counts // counted anew
	renominated int           // asks that are to be nominated again
	unknown     int           // kinds that asks want and no node has
}

// fewItems is how many items of a list are looked through faster than a set of them is made.
const fewItems = 16

// A membership is what is in a list. It keeps Verify linear where lists are long.
type membership[T comparable] struct {
	list  []T
	set   map[T]bool // of a long list
	twice bool       // something is listed twice
}

func membersOf[T comparable](list []T) membership[T] {
	m := membership[T]{list: list}
	if len(list) <= fewItems {
		for i, item := range list {
			m.twice = m.twice || slices.Contains(list[:i], item)
		}
		return m
	}
	m.set = make(map[T]bool, len(list))
	for _, item := range list {
		m.set[item] = true
	}
	m.twice = len(m.set) < len(list)
	return m
}

func (m *membership[T]) has(item T) bool {
	if m.set == nil {
		return slices.Contains(m.list, item)
	}
	return m.set[item]
}

func (v *verifier) breaks(format string, args ...any) {
	if v.broken == nil {
		v.broken = fmt.Errorf("partition %s: "+format, append([]any{v.p.Name}, args...)...)
	}
}

// add sums up a list in the scratch vector.
func (v *verifier) add(list []*ledger.Request) resources.Sum {
	v.sum = resources.Sum{Amounts: v.sum.Amounts[:0]}
	for _, r := range list {
		v.sum.Add(r.Amounts)
	}
	return v.sum
}

// checkNodeOnly checks an allocation, if only its node is charged for it.
func checkNodeOnly(v *verifier, r *ledger.Request) {
	if !r.Eviction.IsNodeOnly() {
		return
	}
	if r.Foreign() || !r.Eviction.Overdue || r.RunsOn.IsReady() {
		v.breaks("no queue is charged for %s, which is not overdue on a node that is not ready", r.Key)
	}
	v.used.Sub(r.Amounts)
}

// charged are those of some allocations that their queues are charged for.
func charged(list []*ledger.Request) []*ledger.Request {
	only := func(r *ledger.Request) bool { return r.Eviction.IsNodeOnly() }
	if !slices.ContainsFunc(list, only) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), only)
}

func (v *verifier) equal(what, of string, booked, counted resources.Sum) {
	if v.broken == nil && !booked.Same(counted) {
		v.breaks("%s of %s: booked %s, counted %s", what, of, v.p.Kinds.Format(booked.Amounts), v.p.Kinds.Format(counted.Amounts))
	}
}
