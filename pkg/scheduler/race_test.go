//go:build race

package scheduler_test

// raced says that the race detector is on, which makes everything some ten times as slow.
const raced = true
