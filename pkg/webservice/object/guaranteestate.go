package object

import (
	"cmp"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// How a queue stands to what is guaranteed to it. One without a guarantee has no guarantee state.
const (
	// underAndWaiting queues use no guaranteed kind beyond the guarantee, and asks wait
	// there for one of which the guarantee is not used up.
	underAndWaiting = "under and waiting"
	// overGuarantee queues use more of a kind than is guaranteed: others may get it back.
	overGuarantee   = "over"
	withinGuarantee = "within"
)

// guaranteeStates are all of them, in the order in which people should look at them.
var guaranteeStates = []string{underAndWaiting, overGuarantee, withinGuarantee}

// A guaranteeState is how a queue stands to what is guaranteed to it.
type guaranteeState struct {
	word string // empty without a guarantee
	// kind is the one of which the queue uses the greatest part of what is guaranteed, and
	// share that part. Of a queue that is under and waiting it is the one that asks wait for
	// of which the least part is used.
	kind  resources.Kind
	share resources.Share
}

// percent is the share in whole percent.
func (s guaranteeState) percent() int64 {
	if s.word == "" {
		return 0
	}
	return share(s.share.Part, s.share.Whole, 100)
}

// guaranteeStateOf is how a queue of any level stands.
func guaranteeStateOf(q *api.QueueView) (out guaranteeState) {
	var lacks *guaranteeState
	for k, guaranteed := range q.Guaranteed {
		if guaranteed <= 0 {
			continue
		}
		kind := resources.Kind(k)
		at := guaranteeState{withinGuarantee, kind, resources.ShareOf(q.Used.Of(kind), guaranteed)}
		if out.word == "" || out.share.Compare(at.share) < 0 {
			out = at
		}
		if q.Used.Of(kind) < guaranteed && q.Pending.Of(kind) > 0 && (lacks == nil || at.share.Compare(lacks.share) < 0) {
			lacks = &at
		}
	}
	switch {
	case out.word == "":
	case q.Used.Of(out.kind) > q.Guaranteed.Of(out.kind):
		out.word = overGuarantee
	case lacks != nil:
		out, out.word = *lacks, underAndWaiting
	}
	return out
}

// guaranteeStateTest picks applications of queues that stand so, or are below one that does.
func (at *Snapshot) guaranteeStateTest(value string) (func(*api.ApplicationView) bool, error) {
	if err := query.OneOf("guaranteeState", value, guaranteeStates); err != nil {
		return nil, err
	}
	var stand []api.QueuePath
	for _, q := range ranked(at.Root) {
		if q.word == value {
			stand = append(stand, q.Path)
		}
	}
	return func(a *api.ApplicationView) bool {
		return slices.ContainsFunc(stand, a.Queue.IsWithin)
	}, nil
}

// A rankedQueue is a queue with a guarantee.
type rankedQueue struct {
	*api.QueueView
	guaranteeState
}

// ranked is every queue with a guarantee, at any level: first those that are under it and
// wait, the one with the least part first; then all others, the one with the greatest part
// first.
func ranked(root *api.QueueView) []rankedQueue {
	var out []rankedQueue
	var walk func(*api.QueueView)
	walk = func(q *api.QueueView) {
		if s := guaranteeStateOf(q); s.word != "" {
			out = append(out, rankedQueue{q, s})
		}
		for _, child := range q.Queues {
			walk(child)
		}
	}
	walk(root)
	slices.SortFunc(out, func(a, b rankedQueue) int {
		bySize := b.share.Compare(a.share)
		if a.word == underAndWaiting {
			bySize = -bySize
		}
		return cmp.Or(cmp.Compare(slices.Index(guaranteeStates, a.word), slices.Index(guaranteeStates, b.word)), bySize, strings.Compare(string(a.Path), string(b.Path)))
	})
	return out
}
