// Package reports tells people why asks wait. It reads the events of one partition and the asks
// that wait there, and nothing of it is in the core.
//
//	effects of Apply ─► Book.Observe ─► the same, with words
//	effects of Schedule, which is due when Book.Due says so ─► Book.Scheduled ─► the same, and AskWaits
//
// Each ask is told of, and not only the first of its class, when what it waits for has changed:
// a second later; of the same reason with another text at most once in 15 seconds.
//
// Read in this order:
//
//	book.go    what was told of which ask, and when it is told again
//	text.go    why an ask waits, in words
package reports
