package archive

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// The bounds of what is kept of changes: of starts and configurations, and of nodes; the lines of one
// configuration; the names of nodes in one entry; and the partitions of an archive, those that are gone
// included.
const (
	settingsMax    = 200
	nodeChangesMax = 1000
	changeLinesMax = 100
	changeNamesMax = 8
	changeLogsMax  = 64
)

// A ChangeKind is what an operator did, or the surroundings of the partition.
type ChangeKind uint8

// The kinds: the partition began; it began again, as its resource manager registered anew; it has another
// configuration; nodes came, went, take no new pods, take them again, or have another size.
const (
	Started ChangeKind = iota
	StartedAgain
	Configured
	NodesCame
	NodesWent
	NodesDrained
	NodesResumed
	NodesResized

	changeKinds = iota
)

// A Change is one of these at one time. What befalls several nodes in one minute is one change.
type Change struct {
	Kind      ChangeKind
	At, Until time.Time // Until is that of the last node

	Names []string            // of nodes, the first of them
	Had   []resources.Amounts // what these had, of nodes that went
	Count int                 // of nodes

	// Before and After are the checksums of a configuration; Before is empty for the first. Lines is
	// what differs, field by field, and More how many lines are left out.
	Before, After string
	Lines         []string
	More          int
}

// A changeLog is the last changes of a partition. It outlasts the book, so that one that begins again
// knows what was before.
//
//	latest[kind] = the last change of nodes of that kind, if it is kept
type changeLog struct {
	mu       sync.Mutex
	settings ring[Change]
	nodes    ring[*Change]
	known    bool // it began once
	latest   [changeKinds]*Change
	lowered  map[api.QueuePath]LoweredMax // by the configurations, as far as that still counts
}

// schedulable notes that a node is drained, or takes pods again.
func (l *changeLog) schedulable(now time.Time, e *api.NodeSchedulable) {
	kind := NodesDrained
	if e.Schedulable {
		kind = NodesResumed
	}
	l.node(now, kind, e.ID, nil)
}

// node notes what befell a node. Had is what one had that went.
func (l *changeLog) node(now time.Time, kind ChangeKind, id api.NodeID, had resources.Amounts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.latest[kind]
	if c == nil || minuteOf(c.At) != minuteOf(now) {
		c = &Change{Kind: kind, At: now}
		l.latest[kind] = c
		l.nodes.add(c)
		for l.nodes.len() > nodeChangesMax {
			l.nodes.drop()
		}
	}
	c.Until, c.Count = now, c.Count+1
	if name := string(id); len(c.Names) < changeNamesMax && !slices.Contains(c.Names, name) {
		c.Names = append(c.Names, name)
		if kind == NodesWent {
			c.Had = append(c.Had, had)
		}
	}
}

func (l *changeLog) setting(c Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.Until = c.At
	l.settings.add(c)
	for l.settings.len() > settingsMax {
		l.settings.drop()
	}
}

// began notes that a partition begins, with the first step of its book.
func (l *changeLog) began(now time.Time) {
	kind := Started
	l.mu.Lock()
	if l.known {
		kind = StartedAgain
	}
	l.known = true
	l.mu.Unlock()
	l.setting(Change{Kind: kind, At: now})
}

// Reconfigured notes that the configuration with the checksum after took the place of another, and what
// differs, one text for each field. It may be called from any goroutine.
func (b *Book) Reconfigured(now time.Time, before, after string, lines []string) {
	if b == nil {
		return
	}
	kept := slices.Clone(lines[:min(len(lines), changeLinesMax)])
	b.changes.setting(Change{Kind: Configured, At: now, Before: before, After: after, Lines: kept, More: len(lines) - len(kept)})
}

// Changes are the changes that are kept, the newest first.
func (b *Book) Changes() []Change {
	if b == nil {
		return nil
	}
	l := b.changes
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Clone(l.settings.all())
	for _, c := range l.nodes.all() {
		one := *c
		one.Names, one.Had = slices.Clone(c.Names), slices.Clone(c.Had)
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b Change) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.Kind, a.Kind)) })
	return out
}
