// Package shapes has functions of every shape, for a test of those that get faults.
package shapes

type list[T any] struct{ items []T }

func (l *list[T]) add(items ...T) int {
	l.items = append(l.items, items...)
	return len(l.items)
}

func (*list[T]) none(int, string) bool { return false }

func (_ list[T]) blank(_ int, n int) (more int) {
	more = n + 1
	return
}

func first[K comparable, V any](all map[K]V, key K) (V, bool) {
	v, ok := all[key]
	if !ok {
		return v, false
	}
	return v, true
}

var counted int

func count() { counted++ }

func named(a, b int, more ...int) { counted += a - b + len(more) }

func init() { counted = 0 }
