package core

// A due says what becomes due at a time: something about an ask, the eviction of an
// allocation, an application, a queue, or one of the things that a partition does
// from time to time.
type due struct {
	what        dueWhat
	request     *request
	application *application
	queue       *queue
	class       *class
}

type dueWhat uint8

const (
	dueAsk           dueWhat = iota // one of the moments of an ask has come
	dueReservation                  // a class still fits no node: one of its asks reserves one
	dueEviction                     // it should have ended
	dueCompletion                   // an application completes
	dueExcess                       // a queue gives back what it uses beyond its max
	dueRefused                      // refused classes are tried again
	dueUnschedulable                // the resource manager hears of asks that fit no node
	dueAttempts                     // attempts that came to nothing are repeated
)
