package topology

import (
	"iter"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
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
	lists := make([][][]string, len(paths))
	for i, path := range paths {
		var keys []string
		for _, key := range path {
			keys = api.DomainKeys(t.lists, keys, key)
			lists[i] = append(lists[i], keys)
		}
	}
	t.grow(slices.Concat(lists...))
	levels := make([][]*Level, len(paths))
	for i, path := range paths {
		for k, key := range path {
			tree, _ := t.treeOf(lists[i][k])
			levels[i] = append(levels[i], &Level{key, t, tree, len(lists[i][k]) - 1})
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

// treeOf is the tree of a list of keys, or of one that is configured and begins so; false if there is none yet.
func (t *Topology) treeOf(keys []string) (tree int, is bool) {
	if at, is := t.levels[keys[0]]; is && at.depth == 0 && isPrefix(keys, t.trees[at.tree].keys) {
		return at.tree, true
	}
	tree, is = t.extra[nameOf(keys)]
	return tree, is
}

func isPrefix(keys, list []string) bool {
	return len(keys) <= len(list) && slices.Equal(keys, list[:len(keys)])
}

func nameOf(keys []string) string { return strings.Join(keys, "\x00") }

// extraMax is how many trees are kept of lists that are not configured. One that is dropped is made again when it is asked for.
const extraMax = 64

// grow makes the trees of some lists that are not there.
func (t *Topology) grow(lists [][]string) {
	t.begin()
	missing := map[string]bool{}
	for _, keys := range lists {
		if _, is := t.treeOf(keys); !is {
			missing[nameOf(keys)] = true
		}
	}
	if len(missing) == 0 {
		return
	}
	if len(t.extra) > 0 && len(t.extra)+len(missing) > extraMax {
		t.dropExtra()
	}
	for _, keys := range lists {
		if _, is := t.treeOf(keys); !is {
			t.extra[nameOf(keys)] = len(t.trees)
			t.trees = append(t.trees, &tree{at: len(t.trees), keys: keys})
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
			t.leave(p, len(t.lists))
		}
	}
	clear(t.extra)
	t.trees = t.trees[:len(t.lists)]
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
