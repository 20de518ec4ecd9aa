package scheduler

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

func sameMap(a, b map[string]string) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// TestTagsAreShared: equal tags are the same memory, others are not, the map of a caller is
// never kept, and any number of different ones is right.
func TestTagsAreShared(t *testing.T) {
	var s sharedTags
	given := map[string]string{"a": "1", "b": "2"}
	first := s.share(given)
	assert.Assert(t, !sameMap(first, given))
	assert.Assert(t, sameMap(s.share(maps.Clone(given)), first))
	given["a"] = "3" // the caller goes on with it
	assert.DeepEqual(t, first, map[string]string{"a": "1", "b": "2"})
	assert.DeepEqual(t, s.share(given), given)
	for i := range 10 * sharedMax {
		for _, other := range []map[string]string{{"a": fmt.Sprint(i)}, {fmt.Sprint(i): "a"}, {"a": "1", fmt.Sprint(i): "2"}} {
			assert.DeepEqual(t, s.share(other), other)
		}
	}
	assert.Assert(t, s.share(nil) == nil)
	assert.Assert(t, s.share(map[string]string{}) == nil)
}

// TestLargeTagsAreNotKept: a table of tags is small whatever the tags are.
func TestLargeTagsAreNotKept(t *testing.T) {
	var s sharedTags
	many := map[string]string{}
	for i := range 10 * tagsSharedMax {
		many[fmt.Sprint(i)] = "x"
	}
	for _, large := range []map[string]string{many, {"a": strings.Repeat("x", 10*tagBytesMax)}, {strings.Repeat("x", 10*tagBytesMax): "a"}} {
		assert.DeepEqual(t, s.share(large), large)
		assert.Assert(t, !sameMap(s.share(large), s.share(large)))
	}
	for i := range s {
		assert.Assert(t, s[i].Load() == nil)
	}
}

// TestLikeTagsOfARequestAreOne: a request whose tags are alike keeps them once, those too that
// are too large for the table, and tags that differ are their own.
func TestLikeTagsOfARequestAreOne(t *testing.T) {
	var s sharedTags
	c := &conversion{tags: &s}
	large := map[string]string{"a": strings.Repeat("x", 10*tagBytesMax)}
	first := c.shareTags(large)
	assert.Assert(t, !sameMap(first, large))
	assert.Assert(t, sameMap(c.shareTags(maps.Clone(large)), first))
	for _, other := range []map[string]string{{"a": "1"}, {"a": "2"}, {"a": "2", "b": "1"}, large} {
		assert.DeepEqual(t, c.shareTags(other), other)
	}
	assert.Assert(t, c.shareTags(nil) == nil)
	assert.Assert(t, c.shareTags(map[string]string{}) == nil)
}

// TestReadingAForeignAllocationMakesItOnly counts the garbage of reading allocations of another
// scheduler whose tags are alike.
func TestReadingAForeignAllocationMakesItOnly(t *testing.T) {
	kinds := new(resources.Kinds)
	_, err := kinds.Intern("vcore")
	assert.NilError(t, err)
	request := &si.AllocationRequest{RmID: "rm"}
	for i := range 1000 {
		request.Allocations = append(request.Allocations, &si.Allocation{
			AllocationKey: fmt.Sprint(i), NodeID: "node-1", AllocationTags: map[string]string{common.Foreign: common.AllocTypeDefault},
			ResourcePerAlloc: &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: 1}}},
		})
	}
	to := &owner{name: "[rm]default"}
	var amounts sharedAmounts
	var tags sharedTags
	got := testing.AllocsPerRun(5, func() {
		c := &conversion{
			id: "rm", partitions: map[string]*owner{to.name: to}, fallback: to, kinds: kinds, amounts: &amounts, tags: &tags,
		}
		c.allocations(request)
		assert.Equal(t, c.batches[0].messages[999].(api.AddAllocation).Allocation.Origin, api.Foreign)
	})
	assert.Assert(t, got <= 1010, "%v allocations for 1000 messages", got)
}
