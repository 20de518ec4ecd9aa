package client

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// TestTimeAt: a time of the day is the last one that was.
func TestTimeAt(t *testing.T) {
	now := time.Date(2026, 1, 31, 14, 30, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"14:03": "2026-01-31T14:03:00Z", "14:30": "2026-01-31T14:30:00Z", "14:31": "2026-01-30T14:31:00Z", "02:00:30": "2026-01-31T02:00:30Z",
		"2h30m": "2026-01-31T12:00:00Z", "0s": "2026-01-31T14:30:00Z", "2026-01-30": "2026-01-30T00:00:00Z", "2026-01-30 23:59": "2026-01-30T23:59:00Z",
		"2026-01-30 23:59:07": "2026-01-30T23:59:07Z", "2026-01-30T23:59:00+01:00": "2026-01-30T22:59:00Z",
	} {
		at, err := TimeAt(text, now)
		assert.NilError(t, err, text)
		assert.Equal(t, at.UTC().Format(time.RFC3339), want, text)
	}
	for _, text := range []string{"", "25:00", "-2h", "yesterday", "14.03"} {
		_, err := TimeAt(text, now)
		assert.ErrorContains(t, err, "is no time: it is written like 14:03", text)
	}
}
