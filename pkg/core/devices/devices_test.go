package devices

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

func TestTables(t *testing.T) {
	for _, c := range []struct {
		name           string
		capacity, size int64
		taken          []int64
		want           Table
	}{
		{"whole devices", 4000, 1000, nil, Table{1000, 1000, 1000, 1000}},
		{"units that are devices", 4, 1, []int64{1, 2}, Table{0, 0, 0, 1000}},
		{"a smaller device is left over", 2500, 1000, nil, Table{500, 1000, 1000}},
		{"shares take the device with the least that is enough", 3000, 1000, []int64{700, 500, 300, 400}, Table{0, 100, 1000}},
		{"a whole one and a part", 3000, 1000, []int64{600, 1400}, Table{0, 0, 1000}},
		{"no device is free: the freest ones give", 2000, 1000, []int64{600, 600, 800}, Table{0, 0}},
		{"more than there is", 1000, 1000, []int64{5000}, Table{0}},
		{"parts are rounded up", 10, 3, []int64{1}, Table{0, 1000, 1000, 1000}},
		{"none", 0, 1000, nil, nil},
		{"too many", (Max + 1) * 10, 10, nil, nil},
		{"absurd", math.MaxInt64, 1, nil, nil},
		{"large devices", math.MaxInt64, math.MaxInt64 / 4, []int64{math.MaxInt64}, Table{0, 0, 0, 0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := New(c.capacity, c.size)
			for _, amount := range c.taken {
				table.Take(amount, c.size)
			}
			assert.DeepEqual(t, table, c.want)
		})
	}
}

// Whatever is taken: a table stays sorted, nothing is free twice or less than nothing, and as
// much is gone as was taken, as long as it was there.
func TestTakeKeepsTheSum(t *testing.T) {
	for seed := range uint64(2000) {
		chance := rand.New(rand.NewPCG(seed, 1))
		size := 1 + chance.Int64N(2000)
		table := New(chance.Int64N(20*size), size)
		for range 20 {
			amount, before := chance.Int64N(3*size), table.total()
			table.Take(amount, size)
			assert.Equal(t, table.total(), max(before-inParts(amount, size), 0), "seed %d", seed)
			assert.Assert(t, slices.IsSorted(table) && (len(table) == 0 || table[0] >= 0 && table[len(table)-1] <= whole), "seed %d: %v", seed, table)
		}
	}
}

// The cost says which of two nodes wastes less. Kinds are vcore, memory and gpu.
func TestCostComparesNodes(t *testing.T) {
	policy := Policy{Devices: []Kind{{Kind: 2, Size: 1000}}, Beside: []resources.Kind{0, 1}}
	node := func(vcore, memory int64, table ...int64) *Node {
		return &Node{
			Capacity: resources.Amounts{100, 100, int64(len(table)) * whole}, Free: resources.Amounts{vcore, memory},
			Tables: []Table{table},
		}
	}
	empty := func(room int64) *Node {
		n := node(50, 50)
		n.Room = room
		return n
	}
	for _, c := range []struct {
		name          string
		ask           resources.Amounts
		better, worse *Node
	}{
		{"less is left of the device", resources.Amounts{1, 1, 300}, node(50, 50, 400, 1000), node(50, 50, 500, 1000)},
		{"a started device rather than a whole one", resources.Amounts{1, 1, 300}, node(50, 50, 700, 1000), node(50, 50, 1000, 1000)},
		{"fewer whole ones", resources.Amounts{1, 1, 1000}, node(100, 100, 0, 1000), node(100, 100, 1000, 1000)},
		{"the processors are left for the other device", resources.Amounts{40, 1, 1000}, node(100, 100, 1000, 1000), node(60, 100, 1000, 1000)},
		{"so is memory", resources.Amounts{1, 40, 1000}, node(100, 100, 1000, 1000), node(100, 60, 1000, 1000)},
		{"devices that were of no use before do not count", resources.Amounts{1, 1, 1000}, node(9, 100, 0, 1000, 1000), node(60, 60, 1000, 1000)},
		{"nor does what was of no use before and is after", resources.Amounts{15, 1, 200}, node(27, 100, 400), node(100, 100, 400, 450)},
		{"no devices for what wants none", resources.Amounts{1, 1}, empty(RoomMax), node(100, 100, 0, 1000)},
		{"among those the fuller one", resources.Amounts{1, 1}, empty(10), empty(20)},
		{"then where most is left for each device", resources.Amounts{1, 1}, node(60, 60, 0, 1000), node(60, 60, 1000, 1000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			better, worse := policy.Cost(c.better, c.ask), policy.Cost(c.worse, c.ask)
			assert.Assert(t, better < worse, "%d, %d", better, worse)
		})
	}
}

// Costs are exact, or bounded, for any amounts: nothing overflows or divides by zero.
func FuzzCost(f *testing.F) {
	f.Add(int64(8000), int64(1000), int64(500), int64(64), int64(32), int64(1))
	f.Add(int64(math.MaxInt64), int64(1), int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, capacity, size, taken, beside, free, ask int64) {
		if size <= 0 || capacity < 0 || taken < 0 || ask < 0 {
			return
		}
		policy := Policy{Devices: []Kind{{Kind: 1, Size: size}}, Beside: []resources.Kind{0}}
		amounts := resources.Amounts{beside, capacity}
		n := Node{Capacity: amounts, Free: resources.Amounts{free, capacity - taken}, Tables: policy.Tables(amounts, func(yield func(resources.Amounts) bool) {
			yield(resources.Amounts{0, taken})
		})}
		for _, a := range []resources.Amounts{{ask, ask}, {ask}, {0, ask}} {
			cost := policy.Cost(&n, a)
			assert.Assert(t, cost >= -2*RoomMax && cost < RoomMax, "%d", cost)
		}
	})
}
