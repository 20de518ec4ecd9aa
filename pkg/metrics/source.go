package metrics

import (
	"context"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Views are partitions as they are now. A scheduler implements it.
type Views interface {
	Partitions() []string // each once
	// View is a partition as it is now. It waits for the partition until the context
	// ends, and may fail: the partition may just be gone.
	View(ctx context.Context, partition string) (*api.View, error)
}

// viewWait is how long a gather waits for views. A partition may be held up by a
// callback; what holds it up can only be seen if the rest is scraped in spite of
// it, within the ten seconds that Prometheus waits by default.
const viewWait = 4 * time.Second

// A source is where views come from.
type source struct {
	views Views
	kinds *resources.Kinds
}

// A viewRequest is a view that was asked for.
type viewRequest struct {
	partition string
	view      chan *api.View // gets one view, or nil if there is none
}

// request asks for the views of all partitions at the same time.
func (s *source) request(ctx context.Context) []viewRequest {
	var requests []viewRequest
	for _, partition := range s.views.Partitions() {
		r := viewRequest{partition, make(chan *api.View, 1)}
		requests = append(requests, r)
		go func() {
			view, err := s.views.View(ctx, partition)
			if err != nil {
				view = nil
			}
			r.view <- view
		}()
	}
	return requests
}

// await is the view, or nil if there is none before the context ends.
func (r viewRequest) await(ctx context.Context) *api.View {
	select {
	case view := <-r.view:
		return view
	case <-ctx.Done():
	}
	select {
	case view := <-r.view: // it came while another one was waited for
		return view
	default:
		return nil
	}
}

// read waits for views, not longer than viewWait altogether, and makes series of
// them.
func (s *source) read() *page {
	ctx, cancel := context.WithTimeout(context.Background(), viewWait)
	defer cancel()
	p := new(page)
	for _, r := range s.request(ctx) {
		partition := label("partition", r.partition)
		view := r.await(ctx)
		if view == nil {
			p.add(partitionUp, 0, partition)
			continue
		}
		p.add(partitionUp, 1, partition)
		newReading(p, view, partition, s.kinds).all(s.arrived(r.partition))
	}
	return p
}

// arrived are the asks that came lately; none if the views do not know them.
func (s *source) arrived(partition string) []archive.Arrivals {
	if known, ok := s.views.(Arrivals); ok {
		return known.Arrivals(partition)
	}
	return nil
}
