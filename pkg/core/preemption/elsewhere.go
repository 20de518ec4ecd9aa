package preemption

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// elsewhere are the allocations on any node that may free quota for the asks of a key. They
// stand in groups of those that differ only in importance: of one leaf, equal amounts, one
// class of victims, the same budgets, and either all settled or none. No plan needs more of a group than what covers all
// that is needed of the kinds they hold, and of these the least important are the best. So
// few of many are given to the preemptor, and no choice is lost.
type elsewhere struct {
	of      *NodeCosts
	quota   ledger.QuotaNeed
	changed uint64 // the count of changed nodes when they were collected
	groups  []quotaGroup
	byKey   map[string]int
	key     []byte
}

// A quotaGroup is allocations that differ only in importance, the least important first.
type quotaGroup struct {
	requests []*ledger.Request
	enough   int // how many cover the need
}

// addElsewhere adds the candidates of other nodes that may free quota.
func (p *CostCache) addElsewhere(c *NodeCosts, n *ledger.Node, quota ledger.QuotaNeed) {
	e := &p.Input.elsewhere
	if e.of != c || e.changed != p.NodesChanged || !e.quota.Equal(quota) {
		p.collectElsewhere(c, quota)
	}
	for _, g := range e.groups {
		left := g.enough
		for _, r := range g.requests {
			if r.RunsOn == n {
				continue
			}
			if left == 0 {
				break
			}
			left--
			p.Input.Add(c, r, true)
		}
	}
}

// collectElsewhere puts what may free quota into groups. It is linear in what runs below
// the highest queue that is short.
func (p *CostCache) collectElsewhere(c *NodeCosts, quota ledger.QuotaNeed) {
	e := &p.Input.elsewhere
	e.of, e.quota, e.changed, e.groups = c, quota, p.NodesChanged, e.groups[:0]
	e.byKey = map[string]int{}
	most := quota.Most()
	var list []*ledger.Request
	for r := range quota.Within(c.Scope).AllRunning {
		if r.Eviction == nil && r.Required == "" && r.Amounts.HoldsAny(most) && !c.relation(r.App.Queue).protected {
			list = append(list, r)
		}
	}
	budgets := p.budgetsOf(list)
	for i, r := range list {
		e.add(r, budgets[i])
	}
	for i := range e.groups {
		g := &e.groups[i]
		slices.SortFunc(g.requests, func(a, b *ledger.Request) int {
			return cmp.Or(cmp.Compare(a.Priority, b.Priority), b.Created.Compare(a.Created), strings.Compare(string(a.Key), string(b.Key)))
		})
		for k, need := range most {
			if held := g.requests[0].Amounts.Of(resources.Kind(k)); need > 0 && held > 0 {
				g.enough = max(g.enough, int((need-1)/held)+1)
			}
		}
	}
}

// add puts an allocation into its group.
func (e *elsewhere) add(r *ledger.Request, budgets string) {
	k := append(e.key[:0], r.App.Queue.Path...)
	k = append(k, 0)
	for _, v := range r.Amounts {
		k = binary.BigEndian.AppendUint64(k, uint64(v))
	}
	candidate := r.Candidate()
	for _, is := range [...]bool{candidate.Owner, candidate.OptedOut, candidate.Settled} {
		k = append(k, 0)
		if is {
			k[len(k)-1] = 1
		}
	}
	k = append(append(k, byte(candidate.QoS)), budgets...)
	if group := minimumOf(r).of; group != "" {
		k = append(append(k, 0), group...)
	}
	e.key = k
	at, known := e.byKey[string(k)]
	if !known {
		at = len(e.groups)
		e.byKey[string(k)] = at
		e.groups = append(e.groups, quotaGroup{})
	}
	e.groups[at].requests = append(e.groups[at].requests, r)
}

// budgetsOf names for each allocation the budgets that it counts for.
func (p *CostCache) budgetsOf(list []*ledger.Request) []string {
	names := make([]string, len(list))
	if p.Options.Budgets == nil {
		return names
	}
	on := preemptor.Node{On: make([]preemptor.Candidate, len(list))}
	for i, r := range list {
		on.On[i].Key = string(r.Key)
	}
	p.Predicates.AddBudgets(&on)
	for i := range on.On {
		key := make([]byte, 0, 4*len(on.On[i].Budgets))
		for _, b := range on.On[i].Budgets {
			key = binary.BigEndian.AppendUint32(key, uint32(b))
		}
		names[i] = string(key)
	}
	return names
}
