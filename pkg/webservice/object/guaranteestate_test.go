package object

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestGuaranteeState: every case of how a queue stands to its guarantee.
func TestGuaranteeState(t *testing.T) {
	const gpu = resources.Kind(2)
	of := func(vcore, gpus int64) (a resources.Amounts) {
		a.Set(0, vcore)
		a.Set(gpu, gpus)
		return a
	}
	for _, c := range []struct {
		name                      string
		guaranteed, used, pending resources.Amounts
		want                      guaranteeState
	}{
		{"nothing is guaranteed", nil, of(5, 5), of(1, 1), guaranteeState{}},
		{"it uses nothing and nothing waits", of(10, 0), nil, nil, guaranteeState{withinGuarantee, 0, resources.ShareOf(0, 10)}},
		{"it is used up exactly", of(10, 0), of(10, 0), of(5, 0), guaranteeState{withinGuarantee, 0, resources.ShareOf(10, 10)}},
		{"it waits for what is guaranteed", of(10, 0), of(9, 0), of(1, 0), guaranteeState{underAndWaiting, 0, resources.ShareOf(9, 10)}},
		{"it waits for another kind", of(10, 0), of(9, 0), of(0, 3), guaranteeState{withinGuarantee, 0, resources.ShareOf(9, 10)}},
		{"the kind that lacks most decides", of(10, 8), of(9, 2), of(1, 1), guaranteeState{underAndWaiting, gpu, resources.ShareOf(2, 8)}},
		{"over in one kind", of(10, 8), of(9, 24), of(1, 1), guaranteeState{overGuarantee, gpu, resources.ShareOf(24, 8)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := guaranteeStateOf(&api.QueueView{Guaranteed: c.guaranteed, Used: c.used, Pending: c.pending})
			assert.Equal(t, got.word, c.want.word)
			assert.Equal(t, got.kind, c.want.kind)
			assert.Equal(t, got.share.Compare(c.want.share), 0)
		})
	}
}

// TestRanked: queues of any level, those under and waiting first.
func TestRanked(t *testing.T) {
	queue := func(path api.QueuePath, guaranteed, used, pending int64, below ...*api.QueueView) *api.QueueView {
		return &api.QueueView{Path: path, Guaranteed: resources.Amounts{guaranteed}, Used: resources.Amounts{used}, Pending: resources.Amounts{pending}, Queues: below}
	}
	root := queue("root", 0, 90, 9,
		queue("root.a", 10, 48, 0, queue("root.a.b", 10, 5, 2)),
		queue("root.c", 10, 3, 0),
		queue("root.d", 10, 2, 9),
		queue("root.e", 10, 20, 9),
		queue("root.f", 10, 20, 0))
	var got []api.QueuePath
	for _, q := range ranked(root) {
		got = append(got, q.Path)
	}
	assert.DeepEqual(t, got, []api.QueuePath{"root.d", "root.a.b", "root.a", "root.e", "root.f", "root.c"})
}
