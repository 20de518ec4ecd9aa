package webservice

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// TestClassOfAsks: how an ask is placed counts first, then what it would be as a victim.
func TestClassOfAsks(t *testing.T) {
	refuses := core.Preemptable{Stated: true}
	for _, c := range []struct {
		class string
		of    core.Allocation
	}{
		{"regular", core.Allocation{Preemptable: core.Preemptable{Stated: true, AllowSelf: true}}},
		{"owner", core.Allocation{Originator: true}},
		{"owner", core.Allocation{Tags: map[string]string{core.TagOwner: "true"}}},
		{"opted out", core.Allocation{Originator: true, Preemptable: refuses}},
		{"opted out", core.Allocation{Tags: map[string]string{core.TagAllowPreemption: "false"}}},
		{"placeholder", core.Allocation{Placeholder: true, Originator: true}},
		{"daemonset", core.Allocation{Required: "node-1", Placeholder: true, Preemptable: refuses}},
	} {
		assert.Equal(t, classOf(&c.of), c.class, "%+v", c.of)
	}
}
