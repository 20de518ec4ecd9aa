package tables

import "slices"

// Counts say how many there are of each priority, the lowest first. There are few priorities, so each
// call takes the logarithm of their number, and what comes or goes first moves those above. The zero
// value is empty.
type Counts []Count

// A Count is how many there are of one priority.
type Count struct {
	Priority int32
	Count    int
}

// find is where a priority is, or would have to be.
func (c Counts) find(priority int32) (at int, found bool) {
	return slices.BinarySearchFunc(c, priority, func(a Count, priority int32) int {
		switch {
		case a.Priority < priority:
			return -1
		case a.Priority > priority:
			return 1
		}
		return 0
	})
}

// Add counts one more of a priority, and Remove one less; there must be one.
func (c *Counts) Add(priority int32) {
	at, ok := c.find(priority)
	if !ok {
		*c = slices.Insert(*c, at, Count{Priority: priority})
	}
	(*c)[at].Count++
}

// Remove is the opposite of Add.
func (c *Counts) Remove(priority int32) {
	at, _ := c.find(priority)
	(*c)[at].Count--
	if (*c)[at].Count == 0 {
		*c = slices.Delete(*c, at, at+1)
	}
}

// Below reports whether there is anything of a lower priority.
func (c Counts) Below(priority int32) bool { return len(c) > 0 && c[0].Priority < priority }
