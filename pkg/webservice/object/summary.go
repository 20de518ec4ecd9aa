package object

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// rankedMax is the most queues that a summary names.
const rankedMax = 10

// summaryJSON is a partition in counts: all that a page which is always open asks for,
// in one answer.
type summaryJSON struct {
	Partition  partitionJSON  `json:"partition"`
	Nodes      nodeCountsJSON `json:"nodes"`
	Pending    int            `json:"pending"`    // asks
	PendingBy  map[string]int `json:"pendingBy"`  // by why they wait
	Placements uint64         `json:"placements"` // since the partition was made
	// Kinds has those first that matter most: guaranteed to a queue, limited, scarce.
	Kinds           []kindJSON     `json:"kinds"`
	Queues          int            `json:"queues"`
	GuaranteeStates map[string]int `json:"guaranteeStates"` // of queues with a guarantee
	Ranked          []rankedJSON   `json:"ranked"`          // the first of them
}

type nodeCountsJSON struct {
	Total    int `json:"total"`
	Drained  int `json:"drained"`
	Reserved int `json:"reserved"`
	Evicting int `json:"evicting"`
}

// kindJSON is one resource kind in the whole partition.
type kindJSON struct {
	Name       string `json:"name"`
	Capacity   int64  `json:"capacity"`
	Used       int64  `json:"used"`
	Occupied   int64  `json:"occupied"` // by other schedulers
	Pending    int64  `json:"pending"`
	Guaranteed bool   `json:"guaranteed"` // to a queue
	Limited    bool   `json:"limited"`    // a queue has a max of it
	// NodesByUse counts nodes that have the kind: up to 10 percent is used, up to 20, …,
	// up to 100, more.
	NodesByUse []int `json:"nodesByUse"`
}

// rankedJSON is how a queue stands to what is guaranteed to it, in the kind that decides
// about it.
type rankedJSON struct {
	QueueName      api.QueuePath `json:"queueName"`
	GuaranteeState string        `json:"guaranteeState"`
	// StateByKind is how it stands in each kind.
	StateByKind map[string]string `json:"guaranteeStateByKind"`
	Kind        string            `json:"kind"`
	Percent     int64             `json:"percent"`
	Used        int64             `json:"used"`
	Guaranteed  int64             `json:"guaranteed"`
	Max         *int64            `json:"max,omitempty"` // none if it is unlimited
	Pending     int64             `json:"pending"`
}

// Summary answers GET /ws/v1/partition/{partition}/summary.
func Summary(at *Snapshot, r *http.Request) (any, error) {
	out := &summaryJSON{Placements: at.Work.Placements, PendingBy: map[string]int{}, GuaranteeStates: map[string]int{}, Ranked: []rankedJSON{}}
	fillPartition(at, &out.Partition)
	for _, app := range at.Applications {
		out.Pending += len(app.Asks)
		for i := range app.Asks {
			out.PendingBy[app.Asks[i].Reason.String()]++
		}
	}
	out.Nodes = countNodes(at.Nodes)
	out.Kinds = at.kindsByImportance()
	out.Queues = countQueues(at.Root)
	for i, q := range ranked(at.Root) {
		out.GuaranteeStates[q.State.String()]++
		if i < rankedMax {
			out.Ranked = append(out.Ranked, at.showRanked(q))
		}
	}
	return query.One(r, out)
}

func countNodes(nodes []*api.NodeView) nodeCountsJSON {
	out := nodeCountsJSON{Total: len(nodes)}
	for _, n := range nodes {
		if !n.Schedulable {
			out.Drained++
		}
		if len(n.Reservations) > 0 {
			out.Reserved++
		}
		if len(n.Evictions) > 0 {
			out.Evicting++
		}
	}
	return out
}

func countQueues(q *api.QueueView) int {
	n := 1
	for _, child := range q.Queues {
		n += countQueues(child)
	}
	return n
}

func (at *Snapshot) showRanked(q rankedQueue) rankedJSON {
	out := rankedJSON{
		QueueName: q.Path, GuaranteeState: q.State.String(), StateByKind: statesByKind(q.QueueView, at.kinds),
		Kind: at.kinds.Name(q.Kind), Percent: share(q.Standing.Share.Part, q.Standing.Share.Whole, 100),
		Used: q.Used.Of(q.Kind), Guaranteed: q.Guaranteed.Of(q.Kind), Pending: q.Pending.Of(q.Kind),
	}
	if most := q.Max.Of(q.Kind); most != resources.Unlimited {
		out.Max = &most
	}
	return out
}

// kindsByImportance is every kind that the partition has or that is asked for there. A
// kind of which there is nothing is left out.
func (at *Snapshot) kindsByImportance() []kindJSON {
	out := []kindJSON{}
	for _, k := range encoder.SortedKinds(at.kinds) {
		one := kindJSON{
			Name: at.kinds.Name(k), Capacity: at.Capacity.Of(k), Used: at.Used.Of(k),
			Occupied: at.Occupied.Of(k), Pending: at.Root.Pending.Of(k), NodesByUse: nodesByUse(at.Nodes, k),
		}
		one.Guaranteed, one.Limited = configured(at.Root, k)
		if one.Capacity != 0 || one.Used != 0 || one.Occupied != 0 || one.Pending != 0 || one.Guaranteed {
			out = append(out, one)
		}
	}
	slices.SortStableFunc(out, func(a, b kindJSON) int {
		return cmp.Or(cmp.Compare(a.importance(), b.importance()), cmp.Compare(familiarity(a.Name), familiarity(b.Name)))
	})
	return out
}

// importance is the less the more a kind matters to all that share the cluster.
func (k *kindJSON) importance() int {
	free := k.Capacity - k.Used - k.Occupied
	switch {
	case k.Guaranteed:
		return 0
	case k.Limited:
		return 1
	case k.Pending > free || k.Capacity > 0 && free <= k.Capacity/5: // scarce
		return 2
	case k.Used > 0 || k.Pending > 0:
		return 3
	default:
		return 4
	}
}

// familiarity puts the kinds first that every pod has.
func familiarity(kind string) int {
	switch {
	case kind == resources.VCore:
		return 0
	case kind == resources.Memory:
		return 1
	case kind == "pods":
		return 4
	case strings.Contains(kind, "gpu"):
		return 2
	default:
		return 3
	}
}

// configured reports whether a kind is guaranteed to a queue, and whether a queue has a
// max of it.
func configured(q *api.QueueView, kind resources.Kind) (guaranteed, limited bool) {
	guaranteed, limited = q.Guaranteed.Of(kind) > 0, q.Max.Of(kind) != resources.Unlimited
	for _, child := range q.Queues {
		g, l := configured(child, kind)
		guaranteed, limited = guaranteed || g, limited || l
	}
	return guaranteed, limited
}

// nodesByUse counts nodes by the use of a kind, by all schedulers.
func nodesByUse(nodes []*api.NodeView, kind resources.Kind) []int {
	out := make([]int, buckets+1)
	for _, n := range nodes {
		whole, used := n.Capacity.Of(kind), n.Allocated.Of(kind)+n.Occupied.Of(kind)
		switch {
		case whole <= 0:
		case used > whole:
			out[buckets]++
		default:
			out[bucketOf(used, whole)]++
		}
	}
	return out
}
