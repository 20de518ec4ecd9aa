package core

import "slices"

// priorityCounts counts how many there are of each priority, the lowest first.
// There are few priorities.
type priorityCounts []priorityCount

type priorityCount struct {
	priority int32
	count    int
}

// find is where a priority is, or would have to be.
func (c priorityCounts) find(priority int32) (at int, found bool) {
	return slices.BinarySearchFunc(c, priority, func(a priorityCount, priority int32) int {
		switch {
		case a.priority < priority:
			return -1
		case a.priority > priority:
			return 1
		}
		return 0
	})
}

func (c *priorityCounts) add(priority int32) {
	at, ok := c.find(priority)
	if !ok {
		*c = slices.Insert(*c, at, priorityCount{priority: priority})
	}
	(*c)[at].count++
}

func (c *priorityCounts) remove(priority int32) {
	at, _ := c.find(priority)
	(*c)[at].count--
	if (*c)[at].count == 0 {
		*c = slices.Delete(*c, at, at+1)
	}
}

// below reports whether there is anything of a lower priority.
func (c priorityCounts) below(priority int32) bool { return len(c) > 0 && c[0].priority < priority }
