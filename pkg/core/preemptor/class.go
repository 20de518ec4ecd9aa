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

var classes = [Classes]string{
	Regular:  "regular",
	Owner:    "owner",
	Foreign:  "foreign",
	OptedOut: "opted out",
}

// String is the name of the class.
func (c Class) String() string {
	if int(c) >= len(classes) {
		return fmt.Sprintf("class %d", uint8(c))
	}
	return classes[c]
}

// classOf is the last class that describes c.
func classOf(c *Candidate) Class {
	switch {
	case c.OptedOut:
		return OptedOut
	case c.Foreign:
		return Foreign
	case c.Owner:
		return Owner
	default:
		return Regular
	}
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
