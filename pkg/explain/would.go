package explain

import (
	"context"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Would is what comes of commands on a copy of a partition on which nothing is evicted.
type Would struct {
	Run     map[api.AllocationKey]api.NodeID // the asks that run then, and where
	All     bool                             // all was tried in the time that there was
	Unasked bool                             // the resource manager was not asked about all of them
}

// WouldRun tries what commands would do: which of the asks that wait would run at once. It takes time linear
// in the size of the view, and then as long as there is something to place and the context lasts.
func WouldRun(ctx context.Context, view *api.View, kinds *resources.Kinds, t Trial, commands ...api.Command) Would {
	if ctx.Err() != nil {
		return Would{}
	}
	w := Would{}
	r := newDryRun()
	r.p = t.Copy(view, kinds, func() { w.Unasked = true })
	for _, command := range commands {
		r.p.Apply(t.Now, command)
	}
	_, w.All = r.simulate(ctx, t.Now, t.Now.Add(time.Millisecond))
	w.Run = r.placed
	return w
}
