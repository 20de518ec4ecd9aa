package resources_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// One user brings ten times as many kinds as there may be: half are taken, and another that
// brought a few can bring as many as are left then.
func TestSharesOfKinds(t *testing.T) {
	kinds := new(resources.Kinds)
	greedy, modest := kinds.Share(), kinds.Share()
	taken := 0
	for i := range 10 * resources.KindsMax {
		if _, err := greedy.Intern(fmt.Sprint("greedy-", i)); err == nil {
			taken++
		} else {
			assert.ErrorIs(t, err, resources.ErrTooManyKinds)
		}
	}
	assert.Equal(t, taken, resources.KindsMax/2)
	for i := range resources.KindsMax / 8 {
		name := fmt.Sprint("modest-", i)
		kind, err := modest.Intern(name)
		assert.NilError(t, err)
		for _, table := range []*resources.Kinds{kinds, greedy, modest} {
			same, known := table.Lookup(name)
			assert.Assert(t, known && same == kind && table.Name(kind) == name)
		}
	}
	_, err := greedy.Intern("modest-1") // known already
	assert.NilError(t, err)
	_, err = greedy.Intern(resources.UnknownKind)
	assert.NilError(t, err)
}
