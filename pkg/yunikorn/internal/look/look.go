// Package look reads partitions of a scheduler for programs that look into it. What is read is
// never older than what the program sent before it asked, as long as the partition answers.
package look

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// wait is how long a partition may take to answer. After that it is read as it was when it
// answered last.
const wait = 10 * time.Second

// A Cluster is the partitions of a scheduler.
type Cluster struct {
	Scheduler *scheduler.Scheduler
	Archive   *archive.Archive // of the same scheduler
}

// Partition finds a partition by its name, with the resource manager in brackets before it or
// without; an empty name is default. Of several with the same short name it is the first in
// order, and nil if there is none.
func (c Cluster) Partition(name string) *Partition {
	names := c.Scheduler.Partitions()
	i := slices.Index(names, name)
	if i < 0 {
		short := "]" + strings.ToLower(cmp.Or(name, "default"))
		i = slices.IndexFunc(names, func(full string) bool { return strings.HasSuffix(full, short) })
	}
	if i < 0 {
		return nil
	}
	return &Partition{c, names[i]}
}

// A Partition is one of them.
type Partition struct {
	cluster Cluster
	name    string
}

// View is the partition at this moment, or nil if it is gone.
func (p *Partition) View() *api.View {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	view, err := p.cluster.Scheduler.View(ctx, p.name)
	if err == nil {
		return view
	}
	last, err := p.cluster.Scheduler.Snapshot(ctx, p.name)
	if err != nil {
		return nil
	}
	return last.View
}

// Application finds an application that goes on.
func (p *Partition) Application(id string) *api.ApplicationView {
	view := p.View()
	if view == nil {
		return nil
	}
	return find(view.Applications, id, func(a *api.ApplicationView) string { return string(a.ID) })
}

// Node finds a node.
func (p *Partition) Node(id string) *api.NodeView {
	view := p.View()
	if view == nil {
		return nil
	}
	return find(view.Nodes, id, func(n *api.NodeView) string { return string(n.ID) })
}

// find looks something up in a list that is sorted by ID.
func find[T any](sorted []*T, id string, idOf func(*T) string) *T {
	i, found := slices.BinarySearchFunc(sorted, id, func(one *T, id string) int { return cmp.Compare(idOf(one), id) })
	if !found {
		return nil
	}
	return sorted[i]
}

// LastState is the state in which an application ended; empty if that is not known.
func (p *Partition) LastState(id string) string {
	book := p.cluster.Archive.Book(p.name)
	if book == nil {
		return ""
	}
	ended, _ := book.Finished(time.Now()) // what was rejected was never to be looked up
	i := slices.IndexFunc(ended, func(r *archive.ApplicationRecord) bool { return string(r.ID) == id })
	if i < 0 {
		return ""
	}
	return ended[i].State
}

// Quantities are the amounts of an allocation by kind, those included that no node has.
func (p *Partition) Quantities(a *api.Allocation) map[string]int64 {
	kinds := p.cluster.Scheduler.Kinds()
	out := kinds.Map(a.Amounts)
	if len(a.Unknown) == 0 {
		return out
	}
	delete(out, resources.UnknownKind)
	maps.Copy(out, a.Unknown)
	return out
}
