package core

import (
	"reflect"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// TestObjectsAreSmall keeps what there are many of small: the garbage collector scans
// objects of at most 512 bytes many at a time, and larger ones one by one.
func TestObjectsAreSmall(t *testing.T) {
	assert.Equal(t, reflect.TypeFor[ledger.Application]().Size(), uintptr(304))
	assert.Equal(t, reflect.TypeFor[backlog.Application]().Size(), uintptr(224))
	assert.Equal(t, reflect.TypeFor[ledger.Node]().Size(), uintptr(408))
	assert.Equal(t, reflect.TypeFor[backlog.AskGroup]().Size(), uintptr(248))
	assert.Equal(t, reflect.TypeFor[ledger.Request]().Size(), uintptr(80))
}

// TestEqualAsksShareTheirLeast shows that the summaries of equal asks take no memory of
// their own: all refer to the amounts of the class.
func TestEqualAsksShareTheirLeast(t *testing.T) {
	c := &backlog.Class{ClassTraits: backlog.ClassTraits{Amounts: []int64{100, 200}}}
	own := backlog.Summary{Open: &c.Amounts}
	var below backlog.Summary
	assert.Assert(t, below.Become(&own, &own, nil) && below.Open == &c.Amounts)
	assert.Assert(t, !below.Become(&own, nil, &own))
	other := &backlog.Class{ClassTraits: backlog.ClassTraits{Amounts: []int64{50, 300}}}
	mixed := backlog.Summary{Open: &other.Amounts}
	assert.Assert(t, below.Become(&own, &mixed, nil))
	assert.DeepEqual(t, []int64(*below.Open), []int64{50, 200})
	assert.Equal(t, testing.AllocsPerRun(10, func() { below.Become(&own, &mixed, nil) }), 0.0)
}
