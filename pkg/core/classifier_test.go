package core_test

import (
	"errors"
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// Whatever a resource manager calls its classes, an ask that is like no other shares no
// answer with one that has a class.
func TestAnAskLikeNoOtherSharesNoAnswers(t *testing.T) {
	classes := map[api.AllocationKey]string{"strange": "=alone", "stranger": ":=alone"}
	asked := map[api.AllocationKey]int{}
	p := cluster(10, 1, api.Options{
		Constraints: func(key api.AllocationKey) string { return classes[key] },
		Feasible: func(key api.AllocationKey, _ api.NodeID, _ bool) error {
			asked[key]++
			if key == "alone" {
				return errors.New("no")
			}
			return nil
		},
	})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q0000"})
	for _, key := range []string{"alone", "strange", "stranger"} {
		p.Apply(start, ask("a", key, 1000, 1<<30, 1))
		run(p)
	}
	assert.DeepEqual(t, asked, map[api.AllocationKey]int{"alone": 10, "strange": 1, "stranger": 1})
}

// A classifier that changes its answers is asked once for each ask. 5,000 classes come
// and go, and nothing of them is left.
func TestManyClassesComeAndGo(t *testing.T) {
	calls := 0
	p := cluster(3, 1, api.Options{
		Constraints: func(api.AllocationKey) string {
			calls++
			return fmt.Sprint("class ", calls%5000)
		},
		Feasible: func(api.AllocationKey, api.NodeID, bool) error { return errors.New("no") },
	})
	const asks = 10_000
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q0000"})
	for i := range asks {
		p.Apply(start, ask("a", fmt.Sprint("k", i), 1000, 1<<30, 1))
	}
	run(p)
	assert.Equal(t, calls, asks)
	assert.NilError(t, p.Verify())
	assert.Assert(t, p.KnownClasses() >= 5000)
	p.Apply(start, api.RemoveApplication{ID: "a"})
	run(p)
	assert.Assert(t, p.KnownClasses() <= 200, "%d", p.KnownClasses())
	assert.NilError(t, p.Verify())
}
