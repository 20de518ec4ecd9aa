package object

import (
	"slices"
	"sync"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// Within is the snapshot with nothing but what is of some queues and of those below them, for clients that may know no
// more. The queues above are there by their names alone, and nodes are not there.
func (at *Snapshot) Within(tops []api.QueuePath) *Snapshot {
	shown := func(path api.QueuePath) bool {
		return slices.ContainsFunc(tops, path.IsWithin)
	}
	view := &api.View{
		Name: at.View.Name, Partition: at.Partition, Root: queuesWithin(at.Root, shown), ReserveDelay: at.ReserveDelay, SettlesAt: at.SettlesAt,
		Config: api.Config{Preemption: at.Config.Preemption, Root: limitsWithin("", &at.Config.Root, shown)},
	}
	for _, app := range at.Applications {
		if shown(app.Queue) {
			view.Applications = append(view.Applications, app)
		}
	}
	out := *at
	out.View, out.written = view, nil
	out.gone = sync.OnceValues(func() (ended, rejected []*archive.ApplicationRecord) {
		ended, rejected = at.gone()
		hidden := func(record *archive.ApplicationRecord) bool { return !shown(record.Queue) }
		return slices.DeleteFunc(slices.Clone(ended), hidden), slices.DeleteFunc(slices.Clone(rejected), hidden)
	})
	return &out
}

// queuesWithin is a queue with those below that are shown. One that is not shown itself is but a name.
func queuesWithin(q *api.QueueView, shown func(api.QueuePath) bool) *api.QueueView {
	if shown(q.Path) {
		return q
	}
	out := &api.QueueView{Path: q.Path}
	for _, child := range q.Queues {
		if below := queuesWithin(child, shown); shown(child.Path) || len(below.Queues) > 0 {
			out.Queues = append(out.Queues, below)
		}
	}
	return out
}

// limitsWithin is the limits of users and groups in queues that are shown.
func limitsWithin(above api.QueuePath, q *api.QueueConfig, shown func(api.QueuePath) bool) api.QueueConfig {
	path, out := above+api.QueuePath(q.Name), api.QueueConfig{Name: q.Name}
	if shown(path) {
		out.Limits = q.Limits
	}
	for i := range q.Queues {
		out.Queues = append(out.Queues, limitsWithin(path+".", &q.Queues[i], shown))
	}
	return out
}
