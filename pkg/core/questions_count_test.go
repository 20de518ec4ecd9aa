package core

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestEveryQuestionIsCounted: a batch is over after so many questions, those about asks
// that are nominated on the node included.
func TestEveryQuestionIsCounted(t *testing.T) {
	asked := 0
	p := NewPartition(api.Options{
		Kinds: new(resources.Kinds),
		Simulate: func(api.AllocationKey, api.NodeID, []api.AllocationKey, []api.AllocationKey) error {
			asked++
			return errors.New("refused")
		},
	}, api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true}})
	assert.NilError(t, p.predicates.Spoils("other", &ledger.Node{}, []api.AllocationKey{"victim"}, nil))
	assert.Equal(t, asked, 2)
	assert.Equal(t, p.predicates.Calls, asked)
}
