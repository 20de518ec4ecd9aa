package preemptor

import "fmt"

// Class is a kind of victim. Those of a lower class go first.
type Class uint8

// The classes, the gentlest first.
const (
	Regular  Class = iota
	Owner          // the driver of its application
	Foreign        // of another scheduler
	OptedOut       // asked to be left alone

	// Classes is how many classes there are, for counts by class.
	Classes = iota
)

// classes is every class there is, in order. A candidate is of the last class
// that describes it. To add a class, add its constant and its entry here.
var classes = [Classes]struct {
	name string
	is   func(*Candidate) bool
}{
	Regular:  {"regular", func(*Candidate) bool { return true }},
	Owner:    {"owner", func(c *Candidate) bool { return c.Owner }},
	Foreign:  {"foreign", func(c *Candidate) bool { return c.Foreign }},
	OptedOut: {"opted out", func(c *Candidate) bool { return c.OptedOut }},
}

// String is the name of the class.
func (c Class) String() string {
	if int(c) >= len(classes) {
		return fmt.Sprintf("class %d", uint8(c))
	}
	return classes[c].name
}

func classOf(c *Candidate) Class {
	class := Class(Classes - 1)
	for !classes[class].is(c) {
		class--
	}
	return class
}

// A tier is how hard it is to take a candidate: whoever violates a budget comes
// after the last class of those who do not.
type tier uint8

const tiers tier = 2 * Classes

func tierOf(c Class, violating bool) tier {
	if violating {
		return tier(c) + Classes
	}
	return tier(c)
}
