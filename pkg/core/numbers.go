package core

// numbers are given to what others keep tables of: each is less than the most that were taken at
// one time. The zero value has given none.
type numbers struct {
	next int32
	free []int32 // of what is gone, to be used again
}

func (n *numbers) take() int32 {
	last := len(n.free) - 1
	if last < 0 {
		n.next++
		return n.next - 1
	}
	number := n.free[last]
	n.free = n.free[:last]
	return number
}

func (n *numbers) giveBack(number int32) { n.free = append(n.free, number) }

// inSlot is the place of a number in a table, which grows to have it. It is valid until the table
// grows again.
func inSlot[T any](table *[]T, slot int32) *T {
	for int(slot) >= len(*table) {
		var none T
		*table = append(*table, none)
	}
	return &(*table)[slot]
}
