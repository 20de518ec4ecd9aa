package object

import (
	"maps"
	"net/http"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// domainJSON is the nodes with equal values of a list of levels, from its first one down to that of the domain.
type domainJSON struct {
	Name        string            `json:"name"`
	Level       string            `json:"level"`
	Parent      string            `json:"parent,omitempty"`
	Nodes       int               `json:"nodes"`
	Schedulable int               `json:"schedulable"`
	Idle        int               `json:"idle"`
	Intact      bool              `json:"intact"`
	Capacity    resources.Amounts `json:"capacity,omitempty"`
	Available   resources.Amounts `json:"available,omitempty"`
	Kept        resources.Amounts `json:"kept,omitempty"`
	Groups      []string          `json:"groups,omitempty"`
	KeptFor     []string          `json:"keptFor,omitempty"`
}

func (d *domainJSON) Encode(e *encoder.Encoder) {
	e.Open('{')
	e.Text("name", d.Name)
	e.Text("level", d.Level)
	e.TextIf("parent", d.Parent)
	e.Integer("nodes", int64(d.Nodes))
	e.Integer("schedulable", int64(d.Schedulable))
	e.Integer("idle", int64(d.Idle))
	e.Truth("intact", d.Intact)
	e.Amounts("capacity", d.Capacity)
	e.Amounts("available", d.Available)
	e.Amounts("kept", d.Kept)
	encoder.Names(e, "groups", d.Groups)
	encoder.Names(e, "keptFor", d.KeptFor)
	e.Close('}')
}

// Domains answers GET /ws/v1/partition/{partition}/domains.
func Domains(at *Snapshot, r *http.Request) (any, error) {
	return query.List(r, at.kinds, at.domains(), func(d *domainJSON, out *domainJSON) { *out = *d },
		query.Texts("level", func(d *domainJSON) string { return d.Level }),
		query.Texts("domain", func(d *domainJSON) string { return d.Name }),
		query.Texts("parent", func(d *domainJSON) string { return d.Parent }),
		query.Truth("intact", func(d *domainJSON) bool { return d.Intact }))
}

// A domain sums up its nodes.
type domain struct {
	domainJSON
	below   map[string]*domain // by value
	groups  map[string]bool    // that run there
	keptFor map[string]bool    // groups
}

// domains are those of all levels that are configured: list by list, each before those in it, by value. It takes a step for
// each level of each node, and for each allocation and ask.
func (at *Snapshot) domains() (all []*domainJSON) {
	if len(at.Config.Levels) == 0 {
		return nil
	}
	waiting := at.groupsThatWait()
	for _, keys := range at.Config.Levels {
		whole := &domain{below: map[string]*domain{}}
		for _, n := range at.Nodes {
			is, in := ofNode(n, waiting), whole
			for _, key := range keys {
				value := n.Attributes[key]
				if value == "" {
					break
				}
				in = in.child(key, value)
				in.add(is)
			}
		}
		all = whole.list(all)
	}
	return all
}

// groupsThatWait are the groups of asks, by key.
func (at *Snapshot) groupsThatWait() map[api.AllocationKey]string {
	of := map[api.AllocationKey]string{}
	for _, app := range at.Applications {
		for _, ask := range app.Asks {
			if name := ask.Tags[api.TagQuorum]; name != "" {
				of[ask.Key] = name
			}
		}
	}
	return of
}

// ofNode is what a node adds to its domains. It is idle if nothing runs on it that could run elsewhere.
func ofNode(n *api.NodeView, waiting map[api.AllocationKey]string) *domain {
	is := &domain{groups: map[string]bool{}, keptFor: map[string]bool{}}
	is.Nodes, is.Idle, is.Capacity, is.Available, is.Kept = 1, 1, n.Capacity, n.Available, n.NominatedAmounts
	if n.Schedulable {
		is.Schedulable = 1
	}
	for _, a := range n.Allocations {
		if a.Required == "" {
			is.Idle = 0
		}
		if name := a.Tags[api.TagQuorum]; name != "" {
			is.groups[name] = true
		}
	}
	keep := func(key api.AllocationKey) {
		if name := waiting[key]; name != "" {
			is.keptFor[name] = true
		}
	}
	for _, key := range n.Nominated {
		keep(key)
	}
	for _, held := range n.Reservations {
		if keep(held.Key); held.Lost != nil {
			is.keptFor[held.Lost.Tags[api.TagQuorum]] = true
		}
		is.Kept = is.Kept.Plus(held.Amounts)
	}
	return is
}

// child is the domain of a value in this one.
func (d *domain) child(key, value string) *domain {
	is := d.below[value]
	if is == nil {
		is = &domain{below: map[string]*domain{}, groups: map[string]bool{}, keptFor: map[string]bool{}}
		is.Level, is.Name, is.Parent = key, value, d.Name
		if d.Name != "" {
			is.Name = d.Name + "/" + value
		}
		d.below[value] = is
	}
	return is
}

// add counts a node.
func (d *domain) add(n *domain) {
	d.Nodes, d.Schedulable, d.Idle = d.Nodes+1, d.Schedulable+n.Schedulable, d.Idle+n.Idle
	d.Capacity.Add(n.Capacity)
	d.Available.Add(n.Available)
	d.Kept.Add(n.Kept)
	maps.Copy(d.groups, n.groups)
	maps.Copy(d.keptFor, n.keptFor)
}

// list appends the domains below, each before those in it, by value.
func (d *domain) list(all []*domainJSON) []*domainJSON {
	for _, value := range slices.Sorted(maps.Keys(d.below)) {
		is := d.below[value]
		is.Intact = is.Idle == is.Nodes && is.Schedulable == is.Nodes
		is.Groups, is.KeptFor = slices.Sorted(maps.Keys(is.groups)), slices.Sorted(maps.Keys(is.keptFor))
		all = is.list(append(all, &is.domainJSON))
	}
	return all
}
