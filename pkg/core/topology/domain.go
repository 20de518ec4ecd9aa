package topology

import (
	"cmp"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// A Domain is the nodes with equal values of the keys of a list, from its first key down to that of a level. A node
// without one of these values is in no domain of that level.
//
//	members  = the nodes in it that are in no domain below
//	Nodes    = members and the nodes of the domains below, whether they are open or not
//	Open     = those of them that take asks
//	share    = the sum of what is used of each open node
//	Busy     = the nodes on which anything runs that does not belong to one node, as an agent does
type Domain struct {
	Name   string  // the values, divided by slashes
	Parent *Domain // nil at the first level of a list
	Nodes  int
	Open   int
	Busy   int

	value   string
	tree    int // of those of the topology
	depth   int // its level in the list, from zero on
	below   []*Domain
	members []*place
	share   int64
	number  int32
}

// Below are the domains of the next level, by value. The list is not to be changed.
func (d *Domain) Below() []*Domain { return d.below }

// AllNodes visits the nodes of a domain: those of the domains below it by value, then those of none. Nodes of one
// domain come in no order that means anything.
func (d *Domain) AllNodes(yield func(*ledger.Node) bool) { d.each(yield) }

// OwnNodes visits the nodes of a domain that are in none below it, in no order that means anything.
func (d *Domain) OwnNodes(yield func(*ledger.Node) bool) {
	for _, p := range d.members {
		if !yield(p.node) {
			return
		}
	}
}

func (d *Domain) each(yield func(*ledger.Node) bool) bool {
	for _, below := range d.below {
		if !below.each(yield) {
			return false
		}
	}
	for _, p := range d.members {
		if !yield(p.node) {
			return false
		}
	}
	return true
}

// Used is what is used of the open nodes of a domain, in the mean, as the order of nodes counts. Nil is no domain, and
// used as nothing is.
func (d *Domain) Used() int64 {
	if d == nil || d.Open == 0 {
		return 0
	}
	return d.share / int64(d.Open)
}

// Compare orders domains by the values from the top of their list on.
func (d *Domain) Compare(other *Domain) int {
	switch {
	case d == other:
		return 0
	case d.depth > other.depth:
		return cmp.Or(d.Parent.Compare(other), 1)
	case d.depth < other.depth:
		return cmp.Or(d.Compare(other.Parent), -1)
	case d.Parent != other.Parent:
		return d.Parent.Compare(other.Parent)
	}
	return strings.Compare(d.value, other.value)
}

// child is the domain of a value in a list of domains, with its place there; nil if there is none.
func child(of []*Domain, value string) (at int, d *Domain) {
	at, found := slices.BinarySearchFunc(of, value, func(d *Domain, value string) int { return strings.Compare(d.value, value) })
	if found {
		d = of[at]
	}
	return at, d
}

// count counts a node in a domain and in those above it, or no more.
func (d *Domain) count(nodes int, is usage) {
	for ; d != nil; d = d.Parent {
		d.Nodes += nodes
		d.Open += is.open
		d.Busy += is.busy
		d.share += is.share
	}
}
