package core_test

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A group that prefers racks starts in as few as there can be, the largest of those that are free, and of those that hold the rest of it
// in the one that is filled best, also where other nodes suit its members better. What comes once more of it must run takes as few further racks as there can be.
// One that is to be balanced has as many in the rack with the fewest as there can be.
func TestPreferredDomainsAreAsFewAsCanBe(t *testing.T) {
	several, balanced := 0, 0
	for seed := range seeds.Of(t, 300) {
		chance := rand.New(rand.NewPCG(seed, 83))
		config := api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "default"}}}}
		config.Nodes.Packing = chance.IntN(2) == 0
		if chance.IntN(2) == 0 {
			config.Levels = [][]string{{"rack"}}
		}
		options := api.Options{Kinds: testKinds(), ReserveDelay: -1}
		if chance.IntN(2) == 0 { // other nodes suit members better
			options.Best = func(_ api.AllocationKey, nodes iter.Seq2[api.NodeID, int64], most int) (best []api.NodeID) {
				for id := range nodes {
					best = append(best, id)
				}
				chance.Shuffle(len(best), func(i, j int) { best[i], best[j] = best[j], best[i] })
				return best[:min(most, len(best))]
			}
		}
		p := core.NewPartition(options, config)
		room, rackOf := make([]int, 1+chance.IntN(5)), map[api.NodeID]int{}
		for i := range 2 + chance.IntN(10) {
			id, rack, cores := api.NodeID(fmt.Sprint("n", i)), chance.IntN(len(room)), 1+chance.IntN(5)
			p.Apply(start, api.AddNode{ID: id, Capacity: resources.Amounts{int64(cores)}, Attributes: map[string]string{"rack": fmt.Sprint(rack)}})
			rackOf[id] = rack
			room[rack] += cores
			if chance.IntN(2) == 0 { // where something runs
				p.Apply(start, api.AddApplication{ID: "others"})
				p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
					Key: api.AllocationKey("other-" + id), Application: "others", Node: id, Amounts: resources.Amounts{1}, Created: start,
				}})
				room[rack]--
			}
		}
		p.Apply(start, api.AddApplication{ID: "app"})
		total := 0
		for _, cores := range room {
			total += cores
		}
		even := rand.New(rand.NewPCG(seed, 86)).IntN(2) == 0
		members, taken := 0, map[int]bool{}
		for round := range 2 {
			more := 1 + chance.IntN(max(total-members, 1))
			if members += more; members > total {
				break
			}
			for i := range more {
				p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
					Key: api.AllocationKey(fmt.Sprint("a", round, "-", i)), Application: "app", Amounts: resources.Amounts{1}, Created: start,
					Tags: map[string]string{api.TagQuorum: "g", api.TagQuorumLeast: fmt.Sprint(members), api.TagQuorumPrefer: "rack", api.TagQuorumBalanced: fmt.Sprint(even)},
				}})
			}
			about := fmt.Sprintf("seed %d, round %d: %d more in %v, taken %v", seed, round, more, room, taken)
			want, least, in := fewest(room, taken, more), mostEven(room, more), map[int]int{}
			events, _ := p.Schedule(start.Add(time.Duration(round) * time.Minute))
			placed := 0
			for _, e := range events {
				if e, is := e.(api.Placed); is {
					placed++
					room[rackOf[e.Node]]--
					taken[rackOf[e.Node]] = true
					in[rackOf[e.Node]]++
				}
			}
			assert.Equal(t, placed, more, about)
			assert.Equal(t, len(taken), want, about)
			if even && round == 0 {
				assert.Equal(t, slices.Min(slices.Collect(maps.Values(in))), least, "%s: %v", about, in)
				balanced += min(len(in)-1, 1)
			}
			assert.NilError(t, p.Verify())
		}
		if len(taken) > 1 {
			several++
		}
	}
	assert.Assert(t, several > seeds.Part(t, 50) && balanced > seeds.Part(t, 25), "%d and %d", several, balanced)
}

// mostEven is how many of so many run at least in each of as few racks as have room for them, where they are divided as evenly as can be.
func mostEven(room []int, more int) (least int) {
	sorted, sum := slices.Sorted(slices.Values(room)), 0
	for count := 1; sum < more; count++ {
		least = sorted[len(sorted)-count]
		sum += least
		least = min(least, more/count)
	}
	return least
}

// fewest is how many racks are taken at least when so many more members run: those that are, and of the others the largest.
func fewest(room []int, taken map[int]bool, more int) int {
	count, others := len(taken), []int{}
	for rack, cores := range room {
		if taken[rack] {
			more -= cores
		} else {
			others = append(others, cores)
		}
	}
	slices.Sort(others)
	for _, cores := range slices.Backward(others) {
		if more > 0 {
			count++
			more -= cores
		}
	}
	return count
}
