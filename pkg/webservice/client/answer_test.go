package client

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestAnswersBeyondAnswerMax reads an answer at a bound, and not one of ten times as many bytes.
func TestAnswersBeyondAnswerMax(t *testing.T) {
	text, err := readAll(strings.NewReader(strings.Repeat("x", 1000)), 1000)
	assert.NilError(t, err)
	assert.Equal(t, len(text), 1000)
	_, err = readAll(strings.NewReader(strings.Repeat("x", 10_000)), 1000)
	assert.Error(t, err, "the answer is longer than 1000 bytes")
}
