package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A bound is a level of which an ask needs a node in one domain, with its group or with its subgroup.
type bound struct {
	of    string   // which of them
	level string   // an attribute of nodes
	keys  []string // of which the values are the domain: this one, after those of the bounds before and those above it in its list
	home  string   // the domain in which members run; empty if none does
}

// boundsOf are those of an ask, each within the one before it. It takes time linear in the allocations where there are any.
func boundsOf(view *api.View, ask *api.AskView) (list []bound) {
	group, known := view.Groups[GroupOf(ask.Allocation)]
	if !known || !isMember(ask.Allocation) {
		return nil
	}
	var keys []string
	add := func(level, of string, others func(*api.Allocation) bool) {
		keys = api.DomainKeys(view.Config.Levels, keys, level)
		list = append(list, boundTo(view, bound{of: of, level: level, keys: keys}, others))
	}
	isOfGroup := func(m *api.Allocation) bool { return GroupOf(m) == GroupOf(ask.Allocation) }
	if group.Terms.Require != "" {
		add(group.Terms.Require, "its group", isOfGroup)
	}
	for _, part := range group.Subgroups {
		isOf := func(m *api.Allocation) bool {
			rest, is := strings.CutPrefix(m.Tags[api.TagQuorumSubgroup], part.Name)
			return is && (rest == "" || rest[0] == '/') && isOfGroup(m)
		}
		if part.Require != "" && !group.Terms.Split && isOf(ask.Allocation) {
			add(part.Require, "subgroup "+part.Name, isOf)
		}
	}
	return list
}

// isMember reports whether an allocation that names a group is in it.
func isMember(a *api.Allocation) bool {
	return a.Tags[api.TagQuorum] != "" && a.TaskGroup == "" && !a.Placeholder && a.Required == ""
}

// boundTo is a bound with the domain in which others run, if they are in one.
func boundTo(view *api.View, b bound, others func(*api.Allocation) bool) bound {
	for _, n := range view.Nodes {
		at := b.domainOf(n)
		for _, m := range n.Allocations {
			switch {
			case !isMember(m) || !others(m):
			case b.home != "" && b.home != at: // nothing else of it may start, as is said elsewhere
				b.home = ""
				return b
			default:
				b.home = at
			}
		}
	}
	return b
}

// domainOf is the domain of a node, by its name: the values, divided by slashes. It is empty where the node is in none.
func (b *bound) domainOf(n *api.NodeView) string {
	values := make([]string, len(b.keys))
	for i, key := range b.keys {
		if values[i] = n.Attributes[key]; values[i] == "" {
			return ""
		}
	}
	return strings.Join(values, "/")
}

// excludes reports whether the ask must not run on a node.
func (b *bound) excludes(n *api.NodeView) bool {
	at := b.domainOf(n)
	return at == "" || b.home != "" && at != b.home
}

// String says where the ask may run.
func (b *bound) String() string {
	if b.home == "" {
		return fmt.Sprintf("%s must run in one %s", b.of, b.level)
	}
	return fmt.Sprintf("%s runs in %s %s", b.of, b.level, b.home)
}

// isOutside reports whether a node is in no domain in which the ask may run.
func (a *Answer) isOutside(n *api.NodeView) bool {
	return slices.ContainsFunc(a.bounds, func(b bound) bool { return b.excludes(n) })
}

// domainOf is the domain of a node that its group requires, or else its subgroup; empty for none.
func (a *Answer) domainOf(n *api.NodeView) string {
	if len(a.bounds) == 0 {
		return ""
	}
	return a.bounds[0].domainOf(n)
}

// domains says where the ask may run because of its group.
func (a *Answer) domains() string {
	texts := make([]string, len(a.bounds))
	for i := range a.bounds {
		texts[i] = a.bounds[i].String()
	}
	return strings.Join(texts, ", and ")
}
