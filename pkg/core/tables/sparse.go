package tables

// pageSize is how many numbers have one page.
const pageSize = 64

// A Sparse is a table of what few objects have, by their numbers: it takes memory near those only. What is known of an
// object must be cleared when its number is given back. The zero value is empty.
type Sparse[T any] struct{ pages []*[pageSize]T }

// Of is the place of a number, which is made if there is none.
func (s *Sparse[T]) Of(slot int32) *T {
	page := At(&s.pages, slot/pageSize)
	if *page == nil {
		*page = new([pageSize]T)
	}
	return &(*page)[slot%pageSize]
}

// Find is what is known of a number; the zero value if there is no place for it.
func (s *Sparse[T]) Find(slot int32) (known T) {
	if page := int(slot / pageSize); page < len(s.pages) && s.pages[page] != nil {
		known = s.pages[page][slot%pageSize]
	}
	return known
}

// Clear forgets what is known of a number.
func (s *Sparse[T]) Clear(slot int32) {
	if page := int(slot / pageSize); page < len(s.pages) && s.pages[page] != nil {
		var none T
		s.pages[page][slot%pageSize] = none
	}
}

// Known is how many numbers anything is known of.
func Known[T comparable](s *Sparse[T]) (count int) {
	var none T
	for _, known := range s.All {
		if known != none {
			count++
		}
	}
	return count
}

// All visits all places, by their numbers.
func (s *Sparse[T]) All(yield func(slot int32, known T) bool) {
	for at, page := range s.pages {
		if page == nil {
			continue
		}
		for i, known := range page {
			if !yield(int32(at*pageSize+i), known) {
				return
			}
		}
	}
}
