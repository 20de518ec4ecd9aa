package outoftree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// A Plugin is compiled in. It is the one that app.WithPlugin of kube-scheduler takes.
type Plugin struct {
	Name string // by which profiles name it
	New  frameworkruntime.PluginFactory
}

// Options say which plugins are compiled in, and what they are given beside what kube-scheduler's own have. The zero
// value is no plugins.
type Options struct {
	Plugins    []Plugin
	Log        *zap.Logger                // nil logs nothing
	Recorder   events.EventRecorderLogger // for events of plugins; nil records none
	KubeConfig *rest.Config               // for clients of plugins; nil is none
	Dynamic    dynamic.Interface          // for events of other resources than those of Kubernetes; nil hears of none
}

// Names are the names of the plugins.
func (o *Options) Names() []string {
	names := make([]string, len(o.Plugins))
	for i, p := range o.Plugins {
		names[i] = p.Name
	}
	return names
}

// A Set is the plugins of a profile that are none of kube-scheduler's. Its methods may be called from any goroutine. Nil is none.
type Set struct {
	options Options
	log     *zap.Logger
	said    *config.Plugins // by the profile
	guards  map[string]*guarded
	ordered []*guarded // as the profile has them before filters
	lister  fwk.SharedLister
	waker   *waker

	// cycle has one place, which is taken while plugins are asked about a pod in a scheduling cycle, since they are written for
	// one pod at a time. It is no mutex: a call may wait for a moment to come, and tests know of channels only that this passes.
	cycle chan struct{}

	mu     sync.Mutex
	logged map[string]time.Time // when a problem was logged last
}

// New is those of some plugins that a profile enables; nil is none. The error says which plugins cannot be.
func New(o Options, of *config.Plugins) (*Set, error) {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Recorder == nil {
		o.Recorder = new(events.FakeRecorder)
	}
	s := &Set{options: o, log: o.Log, said: of.DeepCopy(), guards: map[string]*guarded{}, logged: map[string]time.Time{}, cycle: make(chan struct{}, 1)}
	s.waker = newWaker(s)
	inTree := plugins.NewInTreeRegistry()
	var problems []error
	for _, p := range o.Plugins {
		switch {
		case p.Name == "" || p.New == nil:
			problems = append(problems, fmt.Errorf("plugin %q: name or factory is missing", p.Name))
		case inTree[p.Name] != nil:
			problems = append(problems, fmt.Errorf("plugin %s: kube-scheduler has one of that name", p.Name))
		case s.guards[p.Name] != nil:
			problems = append(problems, fmt.Errorf("plugin %s: there are two of that name", p.Name))
		case !enabled(of, p.Name):
			s.log.Info("plugin is compiled in, and the profile does not enable it", zap.String("plugin", p.Name))
		default:
			s.guards[p.Name] = newGuarded(s, p.Name)
		}
	}
	if err := errors.Join(problems...); err != nil || len(s.guards) == 0 {
		return nil, err
	}
	for _, p := range s.entries(&s.said.PreFilter) {
		s.ordered = append(s.ordered, s.guards[p.Name])
	}
	return s, nil
}

// AddTo adds the plugins to a registry of the framework, and enables them in a profile where those of kube-scheduler are not asked.
func (s *Set) AddTo(registry frameworkruntime.Registry, of *config.Plugins) {
	if s == nil {
		return
	}
	for _, p := range s.options.Plugins {
		if g := s.guards[p.Name]; g != nil {
			registry[p.Name] = s.factory(g, p.New)
		}
	}
	for _, at := range extensionPoints {
		switch at.name {
		case preScore, score, permit, postBind:
			at.of(of).Enabled = s.entries(at.of(s.said))
		case preFilter, filter, reserve, preBind: // the framework makes the list
		default: // not asked
		}
	}
}

// entries are the plugins that are enabled at a point, those that are named there first.
func (s *Set) entries(at *config.PluginSet) (list []config.Plugin) {
	for _, p := range slices.Concat(at.Enabled, s.said.MultiPoint.Enabled) {
		if s.guards[p.Name] == nil || named(list, p.Name) != nil {
			continue
		}
		if said := enabledAt(s.said, at, p.Name); said != nil {
			list = append(list, *said)
		}
	}
	return list
}

// factory makes a plugin and puts it behind its guard. A panic of the factory is an error.
func (s *Set) factory(g *guarded, from frameworkruntime.PluginFactory) frameworkruntime.PluginFactory {
	return func(ctx context.Context, args runtime.Object, h fwk.Handle) (plugin fwk.Plugin, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		inner, err := from(ctx, args, &handle{Handle: h, set: s})
		if err != nil {
			return nil, err
		}
		if inner == nil {
			return nil, errors.New("the factory made no plugin")
		}
		if name := inner.Name(); name != g.name {
			return nil, fmt.Errorf("it calls itself %q", name)
		}
		if err := g.guard(inner); err != nil {
			return nil, err
		}
		return g, s.waker.register(ctx, g)
	}
}

// RuntimeOptions are what the framework needs to run the plugins.
func (s *Set) RuntimeOptions() []frameworkruntime.Option {
	if s == nil {
		return nil
	}
	return []frameworkruntime.Option{
		frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()),
		frameworkruntime.WithPodsInPreBind(frameworkruntime.NewPodsInPreBindMap()),
		frameworkruntime.WithPodActivator(s.waker),
		frameworkruntime.WithPodNominator(noNominations{}),
		frameworkruntime.WithEventRecorder(s.options.Recorder),
		frameworkruntime.WithKubeConfig(s.options.KubeConfig),
	}
}

// SetLister says what the plugins see of nodes and pods: all of them, at any time and from any goroutine.
func (s *Set) SetLister(lister fwk.SharedLister) { s.lister = lister }

// Cycle begins to ask about a pod in a scheduling cycle, which ends with the function that it returns.
func (s *Set) Cycle() (end func()) {
	if s == nil {
		return func() {}
	}
	s.cycle <- struct{}{}
	return func() { <-s.cycle }
}

// Has reports whether a plugin is one of the set.
func (s *Set) Has(plugin string) bool { return s != nil && s.guards[plugin] != nil }

// Decide reports whether any of the plugins has a say about where a pod may run, so that what is asked of one pod says
// nothing of another, and what was asked before nothing of now.
func (s *Set) Decide() bool { return s.asks(preFilter, filter, reserve, permit, preBind, postBind) }

// Permit reports whether any of the plugins is asked after a node was reserved for a pod.
func (s *Set) Permit() bool { return s.asks(reserve, permit, preBind, postBind) }

// Score reports whether any of the plugins scores.
func (s *Set) Score() bool { return s.asks(score) }

func (s *Set) asks(at ...point) bool {
	if s == nil {
		return false
	}
	for _, g := range s.guards {
		if slices.ContainsFunc(at, func(p point) bool { return g.points[p] }) {
			return true
		}
	}
	return false
}

// Sign is equal for pods about which all plugins that filter answer alike. It is not ok if one of them does not say so.
func (s *Set) Sign(pod *v1.Pod) (signature string, ok bool) {
	if s == nil {
		return "", true
	}
	signed := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.guards)) {
		g := s.guards[name]
		if !g.points[preFilter] && !g.points[filter] {
			continue
		}
		fragments, ok := g.sign(pod)
		if !ok {
			return "", false
		}
		for _, f := range fragments {
			signed[f.Key] = f.Value
		}
	}
	text, err := json.Marshal(signed)
	return string(text), err == nil
}

// PreFilter asks the plugins about a pod, one after the other, up to the first that refuses it, whose name the status has. Choosing
// are those that say on which nodes alone it may run.
func (s *Set) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod) (result *fwk.PreFilterResult, status *fwk.Status, choosing sets.Set[string]) {
	skipped := state.GetSkipFilterPlugins().Clone()
	choosing = sets.New[string]()
	for _, g := range s.ordered {
		if g.preFilters == nil {
			continue
		}
		said, status := g.preFilter(ctx, state, pod)
		switch {
		case status.IsSkip():
			skipped.Insert(g.name)
		case !status.IsSuccess():
			return nil, status.WithPlugin(g.name), nil
		case !said.AllNodes():
			choosing.Insert(g.name)
			result = result.Merge(said)
		}
	}
	state.SetSkipFilterPlugins(skipped)
	return result, nil, choosing
}

// PodsToActivate writes what plugins may write pods into which are to be tried, and Activate has those tried.
func (s *Set) PodsToActivate(state fwk.CycleState) {
	state.Write(framework.PodsToActivateKey, framework.NewPodsToActivate())
}

// Activate has the pods tried that plugins wrote for that in a cycle.
func (s *Set) Activate(state fwk.CycleState) {
	data, err := state.Read(framework.PodsToActivateKey)
	if err != nil {
		return
	}
	to, ok := data.(*framework.PodsToActivate)
	if !ok {
		return
	}
	to.Lock()
	chosen := maps.Clone(to.Map)
	clear(to.Map)
	to.Unlock()
	s.waker.activate(chosen)
}
