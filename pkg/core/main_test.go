package core_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain has the tests collect garbage seldom, unless GOGC says otherwise: they make much of it and
// keep little.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
	m.Run()
}
