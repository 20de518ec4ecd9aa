package api

// State is the state of an application.
type State uint8

// The states of an application. A new one has no ask yet; an accepted one has
// asks and no allocation, or not all placeholders of its gang; a resuming one goes on
// without its placeholders, which took too long to be placed, while they end;
// a completing one has nothing left and waits for more; a failing one waits until all that
// it has has ended.
const (
	New State = iota
	Accepted
	Resuming
	Running
	Completing
	Failing
	Completed
	Failed
)

// States is how many states there are.
const States = int(Failed) + 1

var stateNames = [States]string{
	New:        "New",
	Accepted:   "Accepted",
	Resuming:   "Resuming",
	Running:    "Running",
	Completing: "Completing",
	Failing:    "Failing",
	Completed:  "Completed",
	Failed:     "Failed",
}

func (s State) String() string { return stateNames[s] }

// IsLast reports whether an application leaves its queue with the state.
func (s State) IsLast() bool { return s == Completed || s == Failed }
