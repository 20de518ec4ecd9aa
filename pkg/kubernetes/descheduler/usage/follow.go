package usage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

var errNoProviders = errors.New("the policy has no metrics providers")

// Measured is what nodes use by one source of a policy, by their names, also where it is older than other methods give it out.
func (s *Sources) Measured(ctx context.Context, query framework.UsageQuery) ([]framework.Measurement, error) {
	if s == nil {
		return nil, errNoProviders
	}
	view, err := s.Of(ctx, query)
	if err != nil {
		return nil, err
	}
	var found []framework.Measurement
	switch view := view.(type) {
	case *metricsView:
		for node, a := range view.nodes {
			found = append(found, framework.Measurement{Node: node, At: a.at, Use: listOf(a.cpu/scale, a.memory/scale)})
		}
	case parts:
		at := s.prometheus.options.Clock.Now()
		for node := range view {
			part, _ := view.Node(node)
			found = append(found, framework.Measurement{Node: node, At: at, Use: part})
		}
	}
	slices.SortFunc(found, func(a, b framework.Measurement) int { return cmp.Compare(a.Node, b.Node) })
	return found, nil
}

// Follow reads the use of nodes by one source every PollInterval and tells it with the time, until the context ends. Where the source
// does not answer it tells the time alone, and logs the first error.
func (s *Sources) Follow(ctx context.Context, query framework.UsageQuery, tell func(now time.Time, measured []framework.Measurement)) {
	now := s.clock
	ticker := now.NewTicker(PollInterval)
	defer ticker.Stop()
	failed := false
	for {
		err := s.Poll(ctx)
		var measured []framework.Measurement
		if err == nil {
			measured, err = s.Measured(ctx, query)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failed {
			klog.FromContext(ctx).Error(err, "Measured use of nodes could not be read")
		}
		failed = err != nil
		tell(now.Now(), measured)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}
