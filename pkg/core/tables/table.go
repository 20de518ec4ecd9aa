package tables

// A Table is what one part of the core knows of objects, by their numbers. An entry is of one object: what was
// known of another one that had its number does not hold for it. The zero value knows nothing.
type Table[K comparable, T any] struct{ entries []*entry[K, T] }

// An entry is what is known of an object.
type entry[K comparable, T any] struct {
	of    K
	known T
}

// Of is what is known of an object, which is made if there is nothing.
func (t *Table[K, T]) Of(slot int32, of K) *T {
	at := At(&t.entries, slot)
	if *at == nil || (*at).of != of {
		*at = &entry[K, T]{of: of}
	}
	return &(*at).known
}

// Find is what is known of an object; nil if there is nothing.
func (t *Table[K, T]) Find(slot int32, of K) *T {
	if int(slot) >= len(t.entries) || t.entries[slot] == nil || t.entries[slot].of != of {
		return nil
	}
	return &t.entries[slot].known
}
