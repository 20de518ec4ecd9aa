package object

import (
	"fmt"
	"math/bits"
	"net/http"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// utilizationsJSON is how many nodes of a partition are how full, of own
// allocations.
type utilizationsJSON struct {
	ClusterID    string            `json:"clusterId"`
	Partition    string            `json:"partition"`
	Utilizations []utilizationJSON `json:"utilizations"`
}

// utilizationJSON is that of one resource kind.
type utilizationJSON struct {
	Type        string       `json:"type"`
	Utilization []bucketJSON `json:"utilization"`
}

type bucketJSON struct {
	BucketName string       `json:"bucketName"`
	NumOfNodes int          `json:"numOfNodes,omitempty"`
	NodeNames  []api.NodeID `json:"nodeNames,omitempty"`
}

// buckets is in how many parts a node is divided.
const buckets = 10

// Utilizations answers GET /ws/v1/scheduler/node-utilizations.
func (from *Sources) Utilizations(all []*Snapshot, r *http.Request) (any, error) {
	return query.List(r, from.Kinds, all, fillUtilizations, query.Texts("partition", func(at *Snapshot) string { return at.name }))
}

func fillUtilizations(at *Snapshot, out *utilizationsJSON) {
	*out = utilizationsJSON{ClusterID: at.cluster, Partition: at.name, Utilizations: []utilizationJSON{}}
	for _, k := range encoder.SortedKinds(at.kinds) {
		if at.Capacity.Of(k) > 0 {
			out.Utilizations = append(out.Utilizations, utilizationJSON{at.kinds.Name(k), distribution(at.Nodes, k)})
		}
	}
}

// distribution puts every node that has a kind into the bucket of its use.
func distribution(nodes []*api.NodeView, kind resources.Kind) []bucketJSON {
	out := make([]bucketJSON, buckets)
	for i := range out {
		out[i].BucketName = fmt.Sprintf("%d-%d%%", i*buckets, (i+1)*buckets)
	}
	for _, n := range nodes {
		if whole := n.Capacity.Of(kind); whole > 0 {
			b := &out[bucketOf(n.Allocated.Of(kind), whole)]
			b.NumOfNodes++
			b.NodeNames = append(b.NodeNames, n.ID)
		}
	}
	return out
}

// bucketOf is the bucket of a use: what is exactly on a border belongs below it, and
// what is more than the whole into the last. The use is multiplied before one is taken
// away, or else a kind that is counted in few pieces, such as GPUs, is never near full.
func bucketOf(used, whole int64) int {
	if used <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(used), buckets)
	low, borrow := bits.Sub64(low, 1, 0)
	if high -= borrow; high >= uint64(whole) {
		return buckets - 1
	}
	bucket, _ := bits.Div64(high, low, uint64(whole))
	return int(min(bucket, buckets-1))
}
