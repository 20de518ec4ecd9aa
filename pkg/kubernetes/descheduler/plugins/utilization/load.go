package utilization

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
)

// LoadName is the name of the plugin.
const LoadName = "LowNodeLoad"

// LoadDefinition is LowNodeLoad.
func LoadDefinition() framework.Definition {
	return framework.Typed(framework.Definition{
		Name:   LoadName,
		Points: []framework.Point{framework.Balance},
		Args:   LoadDefaults,
	}, validateLoad, newLoad)
}

// load is LowNodeLoad. It remembers what nodes were like in calls before.
type load struct {
	args     *LoadArgs
	handle   framework.Handle
	pods     []labels.Selector
	pools    []*pool
	maxAge   time.Duration
	keep     time.Duration
	mu       sync.Mutex // held for a call
	detected []*detectors
	looks    int // at nodes that may have too much, for tests
}

func newLoad(a *LoadArgs, handle framework.Handle) (framework.Plugin, error) {
	l := &load{args: a, handle: handle, maxAge: expirationSeconds * time.Second, keep: detectorTimeout}
	if a.NodeMetricExpirationSeconds != nil {
		l.maxAge = time.Duration(*a.NodeMetricExpirationSeconds) * time.Second
	}
	if a.DetectorCacheTimeout != nil {
		l.keep = a.DetectorCacheTimeout.Duration
	}
	for _, s := range a.PodSelectors {
		selector, err := metav1.LabelSelectorAsSelector(s.Selector)
		if err != nil {
			return nil, err
		}
		l.pods = append(l.pods, selector)
	}
	for _, p := range a.pools() {
		made, err := newPool(p)
		if err != nil {
			return nil, err
		}
		l.pools = append(l.pools, made)
		l.detected = append(l.detected, &detectors{byNode: map[string]*detector{}})
	}
	return l, nil
}

// Name implements framework.Plugin.
func (l *load) Name() string { return LoadName }

// Repeats implements framework.Repeater. With several pools a node gives pods away in one of
// them in a cycle.
func (l *load) Repeats() bool { return len(l.pools) == 1 }

// Balance implements framework.BalancePlugin: pods go from nodes that have been loaded
// for long enough to such that are not loaded with them.
func (l *load) Balance(ctx context.Context, nodes []*v1.Node) *framework.Status {
	if l.args.Paused {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	usage, err := usageOf(ctx, l.handle, framework.UsageQuery{Source: framework.KubernetesMetrics, MaxAge: l.maxAge})
	if err != nil {
		return &framework.Status{Err: err}
	}
	run := eviction.Start(ctx, l.handle, LoadName)
	used := map[string]bool{} // nodes that gave pods away in a pool before
	for i, p := range l.pools {
		members := slices.DeleteFunc(slices.Clone(nodes), func(n *v1.Node) bool {
			return used[n.Name] || p.selector != nil && !p.selector.Matches(labels.Set(n.Labels))
		})
		b := &loadBalance{load: l, pool: p, detectors: l.detected[i], now: run.Snapshot().Now()}
		b.cluster = newCluster(run, members, p.dimensions, p.named)
		b.byUse(usage)
		b.balance()
		for _, a := range b.accounts {
			used[a.node.Name] = used[a.node.Name] || a.evicted > 0
		}
	}
	return run.Status()
}

// selects says whether a pod may go, as the arguments say.
func (l *load) selects(pod *v1.Pod) bool {
	matches := func(s labels.Selector) bool { return s.Matches(labels.Set(pod.Labels)) }
	return l.args.EvictableNamespaces.Has(pod.Namespace) && (len(l.pods) == 0 || slices.ContainsFunc(l.pods, matches))
}

var errDryRun = errors.New("the plugin is set to a dry run")
