package descheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// profiles are the profiles of one policy, built.
type profiles struct {
	policy   *policy.Policy
	list     []*profile
	tookBack bool // see takeBack; of Run
}

// A profile is one set of plugins. Each plugin is built once and is the same at all
// points where it is enabled.
type profile struct {
	name       string
	selector   labels.Selector
	preSort    []framework.PreSortPlugin
	sort       framework.SortPlugin // nil: less
	deschedule []step
	balance    []step
	filter     []framework.FilterPlugin
	preEvict   []framework.PreEvictionFilterPlugin
	evict      framework.EvictPlugin
	controller []controller
}

// A step is one plugin that a cycle runs.
type step struct {
	name   string
	run    func(ctx context.Context, nodes []*v1.Node) *framework.Status
	missed *missed // of the handle of the plugin
	// repeats says that the plugin at balance may run more than once in a cycle.
	repeats bool
}

// build makes all plugins of a policy, and returns what is wrong with all profiles.
func (d *Descheduler) build(ctx context.Context, p *policy.Policy) (*profiles, error) {
	set := &profiles{policy: p}
	var errs []error
	for i := range p.Profiles {
		built, err := d.buildProfile(ctx, set, i)
		if err != nil {
			errs = append(errs, fmt.Errorf("profile %s: %w", p.Profiles[i].Name, err))
			continue
		}
		set.list = append(set.list, built)
	}
	return set, errors.Join(errs...)
}

func (d *Descheduler) buildProfile(ctx context.Context, set *profiles, index int) (*profile, error) {
	of := &set.policy.Profiles[index]
	p := &profile{name: of.Name, selector: of.NodeSelector}
	plugins, handles := map[string]framework.Plugin{}, map[string]*handle{}
	var errs []error
	for i, name := range of.Enabled() {
		h := &handle{d: d, set: set, profile: p, plugin: name, id: fmt.Sprintf("%d-%d", index, i)}
		h.enabled(of)
		built, err := d.buildPlugin(ctx, h, of.Args[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("plugin %s: %w", name, err))
			continue
		}
		plugins[name], handles[name] = built, h
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, point := range framework.Points() {
		for _, name := range of.Plugins[point] {
			definition, _ := d.registry.Find(name)
			works := definition.Works(point)
			err := contain(func() error {
				works = works && p.add(point, handles[name], plugins[name])
				return nil
			})
			switch {
			case err != nil:
				errs = append(errs, fmt.Errorf("plugin %s at %s: %w", name, point, err))
			case !works:
				errs = append(errs, fmt.Errorf("plugin %s does not work at %s", name, point))
			}
		}
	}
	if n := len(of.Plugins[framework.Evict]); n != 1 {
		errs = append(errs, fmt.Errorf("%d evict plugins are enabled, and exactly one is needed", n))
	}
	if n := len(of.Plugins[framework.Sort]); n > 1 {
		errs = append(errs, fmt.Errorf("%d sort plugins are enabled, and one is the most", n))
	}
	return p, errors.Join(errs...)
}

// enabled reads from a policy how the plugin of a handle is called.
func (h *handle) enabled(of *policy.Profile) {
	at := func(point framework.Point) bool { return slices.Contains(of.Plugins[point], h.plugin) }
	h.controller = at(framework.Controller)
	h.balances = at(framework.Balance) && !at(framework.Deschedule)
	for _, point := range framework.Points() {
		h.mixed = h.mixed || point != framework.Controller && at(point)
	}
}

// buildPlugin calls the factory of a plugin. One that panics has failed.
func (d *Descheduler) buildPlugin(ctx context.Context, h *handle, args any) (built framework.Plugin, err error) {
	definition, ok := d.registry.Find(h.plugin)
	if !ok {
		return nil, errors.New("is not registered")
	}
	if h.controller && d.options.ControllerLanding == nil {
		return nil, errors.New("is a controller, and there is no landing for controllers")
	}
	err = d.guarded(h.profile.name, h.plugin, func() (err error) {
		built, err = definition.New(ctx, args, h)
		return err
	})
	if err == nil && built == nil {
		return nil, errors.New("its factory made nothing")
	}
	return built, err
}

// add enables a plugin at a point, or says that its type has no such point.
func (p *profile) add(point framework.Point, h *handle, plugin framework.Plugin) (ok bool) {
	switch point {
	case framework.PreSort:
		return appendTo(&p.preSort, plugin)
	case framework.Sort:
		p.sort, ok = plugin.(framework.SortPlugin)
	case framework.Deschedule:
		var x framework.DeschedulePlugin
		if x, ok = plugin.(framework.DeschedulePlugin); ok {
			p.deschedule = append(p.deschedule, step{name: h.plugin, run: x.Deschedule, missed: &h.missed})
		}
	case framework.Balance:
		var x framework.BalancePlugin
		if x, ok = plugin.(framework.BalancePlugin); ok {
			r, again := plugin.(framework.Repeater)
			p.balance = append(p.balance, step{name: h.plugin, run: x.Balance, missed: &h.missed, repeats: again && r.Repeats()})
		}
	case framework.Filter:
		return appendTo(&p.filter, plugin)
	case framework.PreEvictionFilter:
		return appendTo(&p.preEvict, plugin)
	case framework.Evict:
		p.evict, ok = plugin.(framework.EvictPlugin)
	case framework.Controller:
		var x framework.ControllerPlugin
		if x, ok = plugin.(framework.ControllerPlugin); ok {
			p.controller = append(p.controller, newController(p, h.plugin, x))
		}
	}
	return ok
}

func appendTo[T framework.Plugin](list *[]T, plugin framework.Plugin) bool {
	x, ok := plugin.(T)
	if ok {
		*list = append(*list, x)
	}
	return ok
}

// inFlight are the pods that evict plugins report as in flight.
func (d *Descheduler) inFlight(s *profiles) (pods []*v1.Pod) {
	for _, p := range s.list {
		if r, ok := p.evict.(framework.InFlightReporter); ok {
			pods = append(pods, d.asked(p, r.InFlight)...)
		}
	}
	return pods
}

// asked returns the pods that the evict plugin of a profile reports.
func (d *Descheduler) asked(p *profile, report func() []*v1.Pod) (pods []*v1.Pod) {
	_ = d.watched(p.name, p.evict.Name(), func() error {
		pods = report()
		return nil
	})
	return pods
}

// background are the pods whose owners are to end them, each once.
func (d *Descheduler) background(s *profiles) (pods []*v1.Pod) {
	seen := map[string]bool{}
	for _, p := range s.list {
		r, ok := p.evict.(framework.BackgroundReporter)
		if !ok {
			continue
		}
		for _, pod := range d.asked(p, r.Background) {
			if !seen[string(pod.UID)] {
				seen[string(pod.UID)] = true
				pods = append(pods, pod)
			}
		}
	}
	return pods
}

// underWay says whether the evict plugin reports the eviction of a pod as begun.
func (p *profile) underWay(pod *v1.Pod) bool {
	var pods []*v1.Pod
	if r, ok := p.evict.(framework.InFlightReporter); ok {
		pods = r.InFlight()
	}
	if r, ok := p.evict.(framework.BackgroundReporter); ok {
		pods = append(pods, r.Background()...)
	}
	for _, other := range pods {
		if other.UID == pod.UID {
			return true
		}
	}
	return false
}

// onlyRequests says whether the evict plugin ends no pod itself.
func (p *profile) onlyRequests() bool {
	r, ok := p.evict.(framework.Requester)
	return ok && r.OnlyRequests()
}

// ignoresBudgets says whether the evict plugin goes past disruption budgets.
func (p *profile) ignoresBudgets() bool {
	b, ok := p.evict.(framework.BudgetIgnorer)
	return ok && b.IgnoresBudgets()
}
