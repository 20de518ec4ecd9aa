package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Nodes, configurations and what runs make resource kinds known. An ask does not: names in
// it may be made up. What it wants of kinds that are not known is booked as
// resources.UnknownKind, which no node has, until a node with such a kind comes.

// HasKind reports whether a node has a kind. It depends on the commands of this
// partition alone, while others make kinds known too.
func (l *Ledger) HasKind(name string) bool {
	kind, ok := l.Kinds.Lookup(name)
	return ok && l.Capacity.Of(kind) > 0
}

// awaitKinds lists an ask by the kinds that it wants and no node has.
func (l *Ledger) awaitKinds(r *Request) {
	for name := range r.Unknown {
		set := l.Unknown[name]
		if set == nil {
			set = &AskSet{}
			l.Unknown[name] = set
		}
		set.Add(r)
	}
}

func (l *Ledger) forgetKinds(r *Request) {
	for name := range r.Unknown {
		if l.Unknown[name].Remove(r) {
			delete(l.Unknown, name)
		}
	}
}

// unknownShown is how many unknown kinds a text names.
const unknownShown = 3

// UnknownKinds are the names of the unknown kinds of an ask, as far as they are shown.
func (r *Request) UnknownKinds() string {
	names := slices.Sorted(maps.Keys(r.Unknown))
	if more := len(names) - unknownShown; more > 0 {
		names = append(names[:unknownShown], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// checkKinds says what is wrong about the unknown kinds of an ask that waits.
func (l *Ledger) checkKinds(r *Request) error {
	for name := range r.Unknown {
		if set := l.Unknown[name]; set == nil || !set.Has(r) || l.HasKind(name) {
			return fmt.Errorf("ask %s wants %s: it is not listed, or a node has that", r.Key, name)
		}
	}
	if kind, ok := l.Kinds.Lookup(resources.UnknownKind); ok && r.Amounts.Of(kind) != r.Unknowns() {
		return fmt.Errorf("ask %s wants %d of unknown kinds and counts %d", r.Key, r.Unknowns(), r.Amounts.Of(kind))
	}
	return nil
}
