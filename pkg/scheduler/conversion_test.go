package scheduler

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Equal amounts are the same memory, others are not, and any number of different ones
// is right.
func TestAmountsAreShared(t *testing.T) {
	var s sharedAmounts
	first := s.share(resources.Amounts{1000, 2})
	assert.Assert(t, &s.share(resources.Amounts{1000, 2})[0] == &first[0])
	for i := range int64(5 * sharedMax) {
		assert.DeepEqual(t, s.share(resources.Amounts{i, 1}), resources.Amounts{i, 1})
	}
	assert.DeepEqual(t, first, resources.Amounts{1000, 2})
}

func TestFullName(t *testing.T) {
	for partition, want := range map[string]string{
		"":             "[RM-1]default",
		"default":      "[RM-1]default",
		"Gpu":          "[RM-1]gpu",
		"[RM-1]":       "[RM-1]default",
		"[RM-1]Gpu":    "[RM-1]gpu",
		"[other]batch": "[other]batch",
		"[other":       "[RM-1][other",
	} {
		assert.Equal(t, fullName("RM-1", partition), want, "%q", partition)
	}
}

// TestReadingAnAskMakesTheAskOnly counts the garbage of reading asks that are like others:
// each is one piece of memory, and a request takes a few.
func TestReadingAnAskMakesTheAskOnly(t *testing.T) {
	kinds := new(resources.Kinds)
	for _, name := range []string{"vcore", "memory"} {
		_, err := kinds.Intern(name)
		assert.NilError(t, err)
	}
	request := &si.AllocationRequest{RmID: "rm"}
	for i := range 1000 {
		size := map[string]*si.Quantity{"vcore": {Value: int64(1 + i%3)}, "memory": {Value: 1 << 30}}
		request.Allocations = append(request.Allocations, &si.Allocation{
			AllocationKey: fmt.Sprint(i), ApplicationID: "app", ResourcePerAlloc: &si.Resource{Resources: size},
		})
	}
	var shared sharedAmounts
	to := &owner{name: "[rm]default"}
	var c *conversion
	read := func() {
		c = &conversion{id: "rm", partitions: map[string]*owner{to.name: to}, fallback: to, kinds: kinds, amounts: &shared}
		c.allocations(request)
	}
	read()
	for i, m := range c.batches[0].messages {
		assert.DeepEqual(t, m.(api.AddAllocation).Allocation.Amounts, resources.Amounts{int64(1 + i%3), 1 << 30})
	}
	got := testing.AllocsPerRun(5, read)
	assert.Assert(t, got <= 1010, "%v allocations for 1000 asks", got)
}

// TestPartitionsOfOneRequest reads entries of several partitions in turn.
func TestPartitionsOfOneRequest(t *testing.T) {
	a, b := &owner{name: "[rm]default"}, &owner{name: "[rm]gpu"}
	c := &conversion{id: "rm", partitions: map[string]*owner{a.name: a, b.name: b}}
	for _, step := range []struct {
		name string
		want *owner
	}{{"", a}, {"gpu", b}, {"", a}, {"other", nil}, {"default", a}, {"GPU", b}, {"other", nil}, {"gpu", b}} {
		got, err := c.partition(step.name)
		assert.Assert(t, got == step.want, "%q", step.name)
		assert.Equal(t, err == nil, step.want != nil)
	}
}

// manyGroups is a resolver that says a user is of many groups, all of them twice, and of one with a name
// that is too long.
type manyGroups int

func (count manyGroups) Groups(context.Context, string) (list []string, err error) {
	tooLong := strings.Repeat("x", 10*namesMax)
	for i := range int(count) {
		list = append(list, fmt.Sprint("g", i), fmt.Sprint("g", i), tooLong)
	}
	return list, nil
}

// TestGroupsBeyondLookedUpMax has a resolver answer with ten times as many groups as are taken.
func TestGroupsBeyondLookedUpMax(t *testing.T) {
	answer := askResolver(t.Context(), manyGroups(100), "ann")
	assert.Equal(t, len(answer.Groups), 100)
	answer = askResolver(t.Context(), manyGroups(10*lookedUpMax), "ann")
	assert.NilError(t, answer.Err)
	assert.Equal(t, len(answer.Groups), lookedUpMax)
	assert.Equal(t, answer.Groups[lookedUpMax-1], fmt.Sprint("g", lookedUpMax-1))
}

// TestNamesBeyondNamesMax has a name at the bound taken, and refused at ten times the bound.
func TestNamesBeyondNamesMax(t *testing.T) {
	assert.NilError(t, named(strings.Repeat("x", namesMax), errNoNode))
	assert.Error(t, named(strings.Repeat("x", 10*namesMax), errNoNode), "name is longer than 1024 bytes")
}
