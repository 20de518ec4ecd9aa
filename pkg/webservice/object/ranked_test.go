package object

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

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
