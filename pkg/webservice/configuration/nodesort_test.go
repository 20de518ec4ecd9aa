package configuration

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestDecimal writes millionths with no more digits than they need.
func TestDecimal(t *testing.T) {
	for millionths, want := range map[int64]string{0: "0", 1: "0.000001", 250_000: "0.25", 1_000_000: "1", 12_500_000: "12.5"} {
		assert.Equal(t, string(decimalOf(millionths)), want)
	}
}
