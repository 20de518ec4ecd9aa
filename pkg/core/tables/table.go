package tables

// pageSize is how many numbers have one page.
const pageSize = 64

// A Table is what one part of the core knows of objects, by their numbers. An entry is of one object: what was
// known of another one that had its number does not hold for it. It takes memory near the numbers of those of
// which anything is known. The zero value knows nothing.
type Table[K comparable, T any] struct{ pages []*[pageSize]*entry[K, T] }

// An entry is what is known of an object.
type entry[K comparable, T any] struct {
	of    K
	known T
}

// Of is the place for what is known of an object, which is made if there is none.
func (t *Table[K, T]) Of(slot int32, of K) *T {
	page := At(&t.pages, slot/pageSize)
	if *page == nil {
		*page = new([pageSize]*entry[K, T])
	}
	at := &(*page)[slot%pageSize]
	if *at == nil || (*at).of != of {
		*at = &entry[K, T]{of: of}
	}
	return &(*at).known
}

// Get is what is known of an object; the zero value if nothing is.
func (t *Table[K, T]) Get(slot int32, of K) (known T) {
	if page := int(slot / pageSize); page < len(t.pages) && t.pages[page] != nil {
		if at := t.pages[page][slot%pageSize]; at != nil && at.of == of {
			known = at.known
		}
	}
	return known
}

// Drop forgets what is known of whatever has a number.
func (t *Table[K, T]) Drop(slot int32) {
	if page := int(slot / pageSize); page < len(t.pages) && t.pages[page] != nil {
		t.pages[page][slot%pageSize] = nil
	}
}

// All visits the objects of which anything is known, with their numbers.
func (t *Table[K, T]) All(yield func(slot int32, of K) bool) {
	for number, page := range t.pages {
		if page == nil {
			continue
		}
		for i, at := range page {
			if at != nil && !yield(int32(number*pageSize+i), at.of) {
				return
			}
		}
	}
}
