package messages

import (
	"fmt"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

func kindsOf(t *testing.T, names ...string) *resources.Kinds {
	kinds := &resources.Kinds{}
	for _, name := range names {
		_, err := kinds.Intern(name)
		assert.NilError(t, err)
	}
	return kinds
}

func message(of map[string]int64) *si.Resource {
	m := &si.Resource{Resources: map[string]*si.Quantity{}}
	for name, value := range of {
		m.Resources[name] = &si.Quantity{Value: value}
	}
	return m
}

// What makes kinds known has them afterwards, and what comes out is what went in without zeros.
func TestAmountsOf(t *testing.T) {
	kinds := kindsOf(t)
	amounts, err := AmountsOf(kinds, message(map[string]int64{"vcore": 5, "x/gpu": 2, "memory": 0}))
	assert.NilError(t, err)
	assert.Equal(t, kinds.Format(amounts), "vcore=5 x/gpu=2")
	back, err := AmountsOf(kinds, ResourceOf(kinds, amounts))
	assert.NilError(t, err)
	assert.Assert(t, back.Equal(amounts))
	_, known := kinds.Lookup("memory")
	assert.Assert(t, !known)
}

// An allocation makes no kind known: what it wants of others is counted in one.
func TestWantedOf(t *testing.T) {
	kinds := kindsOf(t, "vcore")
	amounts, unknown, err := WantedOf(kinds, message(map[string]int64{"vcore": 5, "x/a": 2, "x/b": 3}), nil)
	assert.NilError(t, err)
	assert.Equal(t, kinds.Format(amounts), "(unknown)=5 vcore=5")
	assert.DeepEqual(t, unknown, map[string]int64{"x/a": 2, "x/b": 3})
	_, known := kinds.Lookup("x/a")
	assert.Assert(t, !known)
}

func TestRefusedAmounts(t *testing.T) {
	many := map[string]int64{}
	for i := range unknownMax + 1 {
		many[fmt.Sprintf("x/kind%d", i)] = 1
	}
	for _, c := range []struct {
		of   map[string]int64
		want string
	}{
		{map[string]int64{"x/b": -2, "x/a": -1, "vcore": 1}, "contains negative resources: x/a=-1"},
		{map[string]int64{resources.UnknownKind: 1}, `"(unknown)" is no name of a resource kind`},
		{many, "names more than 16 resource kinds that are not known"},
	} {
		_, _, err := WantedOf(kindsOf(t, "vcore"), message(c.of), nil)
		assert.Error(t, err, c.want)
	}
}
