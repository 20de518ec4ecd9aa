package simulator

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// fillGap is the time between two pods that fill a cluster: each is decided alone.
const fillGap = time.Second

// ReadOpenbToFill makes a scenario that fills the nodes of the openb trace with its pods, to
// measure how much of the GPUs can be used: the pods arrive one by one, in an order drawn with
// the seed (zero is one), until those that arrived ask for all GPUs that there are, and never leave. Pods come
// again, in another order, if they are too few. All have the same priority, so none is
// preempted, and one queue, root.default. The times and the classes of service of the trace do
// not count, and the columns need not be there. The published comparisons of placement policies
// are made in this way (Weng and others, Beware of Fragmentation, USENIX ATC 2023). The error is
// Problems, with files and lines.
func ReadOpenbToFill(nodes, pods File, queues *File, seed uint64) (*Scenario, error) {
	s, err := readOpenb(nodes, pods, queues, true)
	if err != nil {
		return nil, err
	}
	seed = cmp.Or(seed, 1)
	s.Name, s.Seed = "openb, filled", seed
	s.Description = "Pods of the openb GPU-cluster trace arrive one by one until they ask for all GPUs of its nodes, and never leave."
	kind, known := s.Kinds.Lookup(gpuKind)
	var capacity int64
	for i := range s.Nodes {
		capacity = resources.Total(capacity, s.Nodes[i].Capacity.Of(kind))
	}
	s.Trace, err = fill(s.Trace, stream(seed, "fill"), func(p *TracePod) int64 { return p.Amounts.Of(kind) }, capacity)
	if !known || capacity == 0 {
		err = errors.New("there are no GPUs to fill")
	}
	return s, err
}

// fill draws pods until they want a capacity.
func fill(from []TracePod, chance *rand.Rand, wants func(*TracePod) int64, capacity int64) ([]TracePod, error) {
	var out []TracePod
	for wanted, round := int64(0), 1; wanted < capacity; round++ {
		before := wanted
		for _, i := range chance.Perm(len(from)) {
			if wanted >= capacity {
				break
			}
			p := from[i]
			if round > 1 {
				p.Key = api.AllocationKey(fmt.Sprintf("%s-%d", p.Key, round))
			}
			p.Arrive, p.Leave = time.Duration(len(out))*fillGap, -1
			wanted += wants(&p)
			out = append(out, p)
			if len(out) > podsMax {
				return nil, fmt.Errorf("more than %d pods would be needed to fill the nodes", podsMax)
			}
		}
		if wanted == before {
			return nil, errors.New("no pod asks for a GPU")
		}
	}
	return out, nil
}
