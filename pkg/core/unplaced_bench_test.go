package core_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// BenchmarkViewWithForeignOfUnknownNodes measures a view of a partition that knows foreign
// pods of 10,000 nodes which are not there, when one thing has changed elsewhere.
func BenchmarkViewWithForeignOfUnknownNodes(b *testing.B) {
	p := cluster(1, 1, api.Options{})
	for i := range 50_000 {
		a := ask("", fmt.Sprint("foreign-", i*7919%50_000), 10, 1<<20, 1)
		a.Allocation.Node, a.Allocation.Origin = api.NodeID(fmt.Sprint("nowhere-", i%10_000)), api.Foreign
		p.Apply(start, a)
	}
	p.View()
	b.ResetTimer()
	for range b.N {
		p.Apply(start, api.DrainNode{ID: "n000000"})
		p.Apply(start, api.UndrainNode{ID: "n000000"})
		assert.Equal(b, len(p.View().ForeignUnknownNode), 50_000)
	}
}
