package question_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
)

// TestKeysOf: that nothing is removed is another question than what happens to be none.
func TestKeysOf(t *testing.T) {
	assert.Assert(t, question.KeysOf(nil) == nil)
	assert.Assert(t, question.KeysOf([]string{}) != nil)
	assert.DeepEqual(t, question.KeysOf([]string{"a", "b"}), []api.AllocationKey{"a", "b"})
}
