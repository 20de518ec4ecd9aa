package topology

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// A Level is the domains of a key, each in one of the key before it in a path. It holds until levels are asked for again.
type Level struct {
	Key   string
	of    *Topology
	tree  int
	depth int
}

// Level is that of a key: in the list that has it, or else of its values alone.
func (t *Topology) Level(key string) *Level {
	if at, is := t.levels[key]; is {
		return &Level{key, t, at.tree, at.depth}
	}
	if tree, is := t.extra[key]; is {
		return &Level{key, t, tree, 0}
	}
	return t.Levels([]string{key})[0][0]
}

// Levels are those of some paths of keys, each of which divides the domains of the one before it. Where a list that is configured has them in that
// order they are of that list. The first look at other keys takes a step for each node.
func (t *Topology) Levels(paths ...[]string) [][]*Level {
	type found struct {
		list  []string
		depth int
	}
	at, others := make([][]found, len(paths)), map[string][]string{}
	for i, path := range paths {
		var list []string
		depth := -1
		for _, key := range path {
			list, depth = t.divide(list, depth, key)
			if at[i] = append(at[i], found{list, depth}); !t.isConfigured(list) {
				others[nameOf(list)] = list
			}
		}
	}
	t.grow(others)
	levels := make([][]*Level, len(paths))
	for i, path := range paths {
		for k, key := range path {
			list := at[i][k].list
			tree := t.levels[list[0]].tree
			if !t.isConfigured(list) {
				tree = t.extra[nameOf(list)]
			}
			levels[i] = append(levels[i], &Level{key, t, tree, at[i][k].depth})
		}
	}
	return levels
}

// OneOfEachTree is one level of each tree of domains in which some are.
func OneOfEachTree(levels [][]*Level) (list []*Level) {
	for _, l := range slices.Concat(levels...) {
		if !slices.ContainsFunc(list, func(other *Level) bool { return other.tree == l.tree }) {
			list = append(list, l)
		}
	}
	return list
}

// divide is where a key divides the domains of another one, which is in a list at some depth: further down there, or else in a list that begins so, with
// those above the key in the list that has it. One that is above the other, or the same, divides nothing.
func (t *Topology) divide(list []string, depth int, key string) (with []string, at int) {
	if i := slices.Index(list, key); i >= 0 {
		return list, max(i, depth)
	}
	below := []string{key}
	if configured, is := t.levels[key]; is && depth < 0 {
		return t.trees[configured.tree].keys, configured.depth
	} else if is {
		below = t.trees[configured.tree].keys[:configured.depth+1]
	}
	list = slices.Clone(list[:depth+1])
	for _, key := range below {
		if !slices.Contains(list, key) {
			list = append(list, key)
		}
	}
	return list, len(list) - 1
}

// isConfigured reports whether a list is one of those that are.
func (t *Topology) isConfigured(list []string) bool {
	at, is := t.levels[list[0]]
	return is && slices.Equal(t.trees[at.tree].keys, list)
}

func nameOf(list []string) string { return strings.Join(list, "\x00") }

// extraMax is how many trees are kept of lists that are not configured. One that is dropped is made again when it is asked for.
const extraMax = 64

// grow makes the trees of some lists that are not there.
func (t *Topology) grow(lists map[string][]string) {
	t.begin()
	lacks := func(name string) bool { _, is := t.extra[name]; return !is }
	missing := 0
	for name := range lists {
		if lacks(name) {
			missing++
		}
	}
	if missing == 0 {
		return
	}
	if len(t.extra) > 0 && len(t.extra)+missing > extraMax {
		t.dropExtra()
	}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		if lacks(name) {
			t.extra[name] = len(t.trees)
			t.trees = append(t.trees, &tree{at: len(t.trees), keys: lists[name]})
		}
	}
	for _, p := range t.places {
		if p != nil && len(p.seats) < len(t.trees) {
			t.settle(p)
		}
	}
}

// dropExtra drops the trees of lists that are not configured.
func (t *Topology) dropExtra() {
	for _, p := range t.places {
		if p != nil {
			t.leave(p, t.lists)
		}
	}
	clear(t.extra)
	t.trees = t.trees[:t.lists]
}

// Domains visits the domains of a level, by name.
func (l *Level) Domains(yield func(*Domain) bool) { visit(l.of.trees[l.tree].top, l.depth, yield) }

func visit(domains []*Domain, depth int, yield func(*Domain) bool) bool {
	for _, d := range domains {
		if depth == 0 && !yield(d) || depth > 0 && !visit(d.below, depth-1, yield) {
			return false
		}
	}
	return true
}

// Of is the domain of a level that a node is in; nil if it is in none.
func (l *Level) Of(n *ledger.Node) *Domain { return l.Finest(n).at(l.depth) }

// Finest is the finest domain of the list of a level that a node is in; nil if it is in none.
func (l *Level) Finest(n *ledger.Node) *Domain {
	p := l.of.placeOf(n)
	if p == nil {
		return nil
	}
	return p.seats[l.tree].domain
}

// at is the domain of a level that a domain is or is in; nil if there is none.
func (d *Domain) at(depth int) *Domain {
	for d != nil && d.depth > depth {
		d = d.Parent
	}
	if d == nil || d.depth < depth {
		return nil
	}
	return d
}

// DomainsIn visits those of them that are in a domain of another level, or are it; with nil, all.
func (l *Level) DomainsIn(root *Domain) iter.Seq[*Domain] {
	return func(yield func(*Domain) bool) {
		if root == nil {
			l.Domains(yield)
		} else if is := l.same(root); is != nil {
			visit([]*Domain{is}, l.depth-is.depth, yield)
		}
	}
}

// IsIn reports whether a domain of a level is in one of another level, or is it; each is in nil.
func (l *Level) IsIn(d, root *Domain) bool {
	is := l.same(root)
	for ; d != nil && d != is; d = d.Parent {
	}
	return root == nil || d != nil
}

// same is the domain of the tree of a level that has the values of another one; nil if there is none.
func (l *Level) same(d *Domain) *Domain {
	if d == nil || d.tree == l.tree {
		return d
	}
	list := l.of.trees[l.tree].top
	if d.Parent != nil {
		above := l.same(d.Parent)
		if above == nil {
			return nil
		}
		list = above.below
	}
	_, is := child(list, d.value)
	return is
}

// Has reports whether a node is in a domain.
func (t *Topology) Has(d *Domain, n *ledger.Node) bool {
	p := t.placeOf(n)
	return p != nil && p.seats[d.tree].domain.at(d.depth) == d
}

// FinestLike is the finest domain that a node is in, of those of the tree of another one; nil if it is in none.
func (t *Topology) FinestLike(d *Domain, n *ledger.Node) *Domain {
	if p := t.placeOf(n); p != nil {
		return p.seats[d.tree].domain
	}
	return nil
}
