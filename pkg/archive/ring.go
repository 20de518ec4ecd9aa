package archive

// A ring is a list that grows at its end and shrinks at its beginning. Both take
// constant time on average.
type ring[T any] struct {
	items []T
	first int
}

func (r *ring[T]) add(item T) { r.items = append(r.items, item) }

func (r *ring[T]) len() int { return len(r.items) - r.first }

// all is what is in the ring, the oldest first, until it changes.
func (r *ring[T]) all() []T { return r.items[r.first:] }

// drop takes the oldest out.
func (r *ring[T]) drop() T {
	var none T
	item := r.items[r.first]
	r.items[r.first] = none
	if r.first++; r.first > len(r.items)/2 {
		n := copy(r.items, r.items[r.first:])
		clear(r.items[n:])
		r.items, r.first = r.items[:n], 0
	}
	return item
}
