package preemptor

import "fmt"

// Class is a kind of victim. Victims of a lower class are preempted first.
type Class uint8

// The classes, in the order in which they are preempted.
const (
	Regular  Class = iota
	Owner          // the driver of its application
	Foreign        // of another scheduler
	OptedOut       // asks not to be preempted

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
