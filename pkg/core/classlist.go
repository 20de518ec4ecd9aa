package core

import (
	"cmp"
	"slices"
)

// A classList is classes by priority, the highest first. Those of one priority stand in the
// order in which they came, so that many cost no more than few.
type classList struct {
	byPriority []classesOf
	count      int
}

type classesOf struct {
	priority int32
	classes  []*class
}

func (l *classList) add(c *class) {
	at, known := slices.BinarySearchFunc(l.byPriority, c.priority, func(of classesOf, priority int32) int {
		return cmp.Compare(priority, of.priority)
	})
	if !known {
		l.byPriority = slices.Insert(l.byPriority, at, classesOf{priority: c.priority})
	}
	l.byPriority[at].classes = append(l.byPriority[at].classes, c)
	l.count++
}

// from visits the classes of at least a priority.
func (l *classList) from(lowest int32, yield func(*class) bool) {
	for _, of := range l.byPriority {
		if of.priority < lowest {
			return
		}
		for _, c := range of.classes {
			if !yield(c) {
				return
			}
		}
	}
}

// keep drops the classes for which a condition does not hold.
func (l *classList) keep(holds func(*class) bool) {
	l.count = 0
	for i := range l.byPriority {
		of := &l.byPriority[i]
		of.classes = slices.DeleteFunc(of.classes, func(c *class) bool { return !holds(c) })
		l.count += len(of.classes)
	}
	l.byPriority = slices.DeleteFunc(l.byPriority, func(of classesOf) bool { return len(of.classes) == 0 })
}
