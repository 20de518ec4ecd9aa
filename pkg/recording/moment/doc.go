// Package moment serves REST and the dashboard of a partition as it was at a moment of its recording. The moment can be moved, from the page
// that it serves.
//
//	moment.go    a moment, and how it is reached
//	moves.go     Moments: the one that is shown, and requests to move it
//	standing.go  what was there before, for readers of events
package moment
