// Package tables keeps what parts of the core know of objects in tables of their own, by numbers that
// the objects carry, and lists in which each object knows its place. Nothing here is safe for use by
// several goroutines.
package tables

// Numbers are given to what others keep tables of. They are dense: there are no more than the most that
// were taken at one time. The zero value has given none, and gives from zero on.
type Numbers struct {
	first, next int32
	free        []int32 // of what is gone, to be used again
}

// From are numbers from a first one on.
func From(first int32) Numbers { return Numbers{first: first, next: first} }

// Take is a number that was not given, or was given back.
func (n *Numbers) Take() int32 {
	last := len(n.free) - 1
	if last < 0 {
		n.next++
		return n.next - 1
	}
	number := n.free[last]
	n.free = n.free[:last]
	return number
}

// GiveBack lets a number be given again.
func (n *Numbers) GiveBack(number int32) { n.free = append(n.free, number) }

// Used is how many numbers are taken.
func (n *Numbers) Used() int { return int(n.next-n.first) - len(n.free) }

// At is the place of a number in a table, which grows to have it. It is valid until the table
// grows again.
func At[T any](table *[]T, slot int32) *T {
	for int(slot) >= len(*table) {
		var none T
		*table = append(*table, none)
	}
	return &(*table)[slot]
}

// SwapRemove removes what is at a place by putting the last one there, which knows its place.
func SwapRemove[E any, P int | int32](list []*E, place P, placeOf func(*E) *P) []*E {
	last := len(list) - 1
	moved := list[last]
	list[place], list[last] = moved, nil
	*placeOf(moved) = place
	return list[:last]
}
