package order

// Links are the links of an item in a tree. The item embeds or holds one for each
// tree that it can be in. The zero value is in no tree.
type Links[T any] struct {
	Left, Right T      // zero where there is none; for searches, never to be set
	weight      uint64 // zero outside of a tree
}

// In reports whether the item is in its tree.
func (l *Links[T]) In() bool { return l.weight > 0 }

// Item is what a Tree holds, a pointer type.
type Item[T any] interface {
	comparable
	// Before is a strict total order. What it compares must not change while
	// the item is in the tree.
	Before(other T) bool
	// Links are the item's own, always the same.
	Links() *Links[T]
	// Summarise computes the summary of the subtree below the item from the item
	// itself and its Left and Right, and reports whether it changed.
	Summarise() bool
}

// Tree is an ordered set of items with a summary for each subtree. The zero
// value is empty. It belongs to one goroutine.
type Tree[T Item[T]] struct {
	root  T
	size  int
	grown uint64
	// Looked, if not nil, counts the items that insertions and removals
	// compare with.
	Looked *uint64
}

// CountIn has the items counted that insertions and removals compare with.
func (t *Tree[T]) CountIn(looked *uint64) { t.Looked = looked }

// Root is the item at the top, zero if the tree is empty. Searches start here.
func (t *Tree[T]) Root() T { return t.root }

// First is the first item in order, zero if the tree is empty. It takes logarithmic time.
func (t *Tree[T]) First() (first T) {
	var none T
	for top := t.root; top != none; top = top.Links().Left {
		first = top
	}
	return first
}

// Len is the number of items.
func (t *Tree[T]) Len() int { return t.size }

// Insert adds an item that is in no tree. It takes logarithmic time.
func (t *Tree[T]) Insert(item T) {
	var none T
	l := item.Links()
	t.grown++
	l.Left, l.Right, l.weight = none, none, max(mix(t.grown), 1)
	t.root, _ = t.insert(t.root, item, l.weight)
	t.size++
}

// Remove removes an item, which must be in this tree. It takes logarithmic time.
func (t *Tree[T]) Remove(item T) {
	var none T
	t.root, _ = t.remove(t.root, item)
	l := item.Links()
	l.Left, l.Right, l.weight = none, none, 0
	t.size--
}

// Touch updates the summaries after a change of the item that does not change its
// place. It stops where a summary stays the same.
func (t *Tree[T]) Touch(item T) { t.touch(t.root, item) }

// Settle updates the place and the summary of an item after a change. The item is
// in the tree afterwards if wanted is set. It is removed and inserted again if
// moved is set, and only summarised again if changed is set. Settle calls update
// at the moment when the item may change; update makes the change visible to
// Before and Summarise. The result says whether there was anything to do.
func (t *Tree[T]) Settle(item T, wanted, moved, changed bool, update func()) bool {
	switch in := item.Links().In(); {
	case !in && !wanted:
		return false
	case !in:
		update()
		t.Insert(item)
	case !wanted:
		t.Remove(item)
		update()
	case moved && t.size == 1:
		update()
		item.Summarise()
	case moved:
		t.Remove(item)
		update()
		t.Insert(item)
	case changed:
		update()
		t.Touch(item)
	default:
		return false
	}
	return true
}

// All visits the items in order until yield returns false.
func (t *Tree[T]) All(yield func(T) bool) { each(t.root, yield) }

func each[T Item[T]](top T, yield func(T) bool) bool {
	var none T
	if top == none {
		return true
	}
	l := top.Links()
	return each(l.Left, yield) && yield(top) && each(l.Right, yield)
}

func (t *Tree[T]) look() {
	if t.Looked != nil {
		*t.Looked++
	}
}

// insert returns the subtree with the item, and whether its top or its summary changed.
func (t *Tree[T]) insert(top, item T, weight uint64) (T, bool) {
	var none T
	if top == none {
		item.Summarise()
		return item, true
	}
	t.look()
	l := top.Links()
	if weight > l.weight {
		own := item.Links()
		own.Left, own.Right = t.split(top, item)
		item.Summarise()
		return item, true
	}
	var changed bool
	if item.Before(top) {
		l.Left, changed = t.insert(l.Left, item, weight)
	} else {
		l.Right, changed = t.insert(l.Right, item, weight)
	}
	return top, changed && top.Summarise()
}

// split divides a subtree into the items before the item and those after it.
func (t *Tree[T]) split(top, item T) (before, after T) {
	var none T
	if top == none {
		return none, none
	}
	t.look()
	l := top.Links()
	if item.Before(top) {
		before, l.Left = t.split(l.Left, item)
		after = top
	} else {
		l.Right, after = t.split(l.Right, item)
		before = top
	}
	top.Summarise()
	return before, after
}

// remove returns the subtree without the item, and whether its summary changed.
func (t *Tree[T]) remove(top, item T) (T, bool) {
	t.look()
	l := top.Links()
	if top == item {
		return t.merge(l.Left, l.Right), true
	}
	var changed bool
	if item.Before(top) {
		l.Left, changed = t.remove(l.Left, item)
	} else {
		l.Right, changed = t.remove(l.Right, item)
	}
	return top, changed && top.Summarise()
}

func (t *Tree[T]) merge(before, after T) T {
	var none T
	switch {
	case before == none:
		return after
	case after == none:
		return before
	}
	t.look()
	b, a := before.Links(), after.Links()
	if b.weight > a.weight {
		b.Right = t.merge(b.Right, after)
		before.Summarise()
		return before
	}
	a.Left = t.merge(before, a.Left)
	after.Summarise()
	return after
}

func (t *Tree[T]) touch(top, item T) bool {
	t.look()
	if top == item {
		return top.Summarise()
	}
	l := top.Links()
	next := l.Right
	if item.Before(top) {
		next = l.Left
	}
	return t.touch(next, item) && top.Summarise()
}

// mix spreads consecutive numbers over 64 bits (the finaliser of splitmix64).
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
