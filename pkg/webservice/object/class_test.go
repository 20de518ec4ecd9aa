package object

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// TestClassOfAsks: how an ask is placed counts first, then what it would be as a victim.
func TestClassOfAsks(t *testing.T) {
	refuses := api.Preemptable{Stated: true}
	for _, c := range []struct {
		class string
		of    api.Allocation
	}{
		{"regular", api.Allocation{Preemptable: api.Preemptable{Stated: true, AllowSelf: true}}},
		{"owner", api.Allocation{Originator: true}},
		{"owner", api.Allocation{Tags: map[string]string{api.TagOwner: "true"}}},
		{"opted out", api.Allocation{Originator: true, Preemptable: refuses}},
		{"opted out", api.Allocation{Tags: map[string]string{api.TagAllowPreemption: "false"}}},
		{"placeholder", api.Allocation{Placeholder: true, Originator: true}},
		{"daemonset", api.Allocation{Required: "node-1", Placeholder: true, Preemptable: refuses}},
	} {
		assert.Equal(t, classOf(&c.of), c.class, "%+v", c.of)
	}
}
