package backlog

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// TestClassesOfEqualAmounts: kinds of which an ask wants nothing are no reason for a class of its
// own, wherever in the list they stand.
func TestClassesOfEqualAmounts(t *testing.T) {
	b := NewBacklog(api.Options{})
	of := func(amounts ...int64) *Class { return b.Classes.Of(ClassTraits{Amounts: amounts}) }
	assert.Assert(t, of(1, 2) == of(1, 2, 0, 0))
	assert.Assert(t, of() == of(0))
	assert.Assert(t, of(0, 1) != of(1))
	assert.Equal(t, len(b.Classes.Known), 4)
}
