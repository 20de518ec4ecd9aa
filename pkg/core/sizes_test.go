package core

import (
	"reflect"
	"testing"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"gotest.tools/v3/assert"
)

// TestObjectsAreSmall keeps what there are many of small: the garbage collector scans
// objects of at most 512 bytes many at a time, and larger ones one by one.
func TestObjectsAreSmall(t *testing.T) {
	assert.Equal(t, reflect.TypeFor[ledger.Application]().Size(), uintptr(312))
	assert.Equal(t, reflect.TypeFor[waitingApplication]().Size(), uintptr(224))
	assert.Equal(t, reflect.TypeFor[ledger.Node]().Size(), uintptr(416))
	assert.Equal(t, reflect.TypeFor[askGroup]().Size(), uintptr(248))
	assert.Equal(t, reflect.TypeFor[ledger.Request]().Size(), uintptr(80))
}

// TestEqualAsksShareTheirLeast shows that the summaries of equal asks take no memory of
// their own: all refer to the amounts of the class.
func TestEqualAsksShareTheirLeast(t *testing.T) {
	c := &class{classTraits: classTraits{amounts: []int64{100, 200}}}
	own := summary{open: &c.amounts}
	var below summary
	assert.Assert(t, below.become(&own, &own, nil) && below.open == &c.amounts)
	assert.Assert(t, !below.become(&own, nil, &own))
	other := &class{classTraits: classTraits{amounts: []int64{50, 300}}}
	mixed := summary{open: &other.amounts}
	assert.Assert(t, below.become(&own, &mixed, nil))
	assert.DeepEqual(t, []int64(*below.open), []int64{50, 200})
	assert.Equal(t, testing.AllocsPerRun(10, func() { below.become(&own, &mixed, nil) }), 0.0)
}
