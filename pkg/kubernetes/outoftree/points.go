package outoftree

import (
	"errors"
	"fmt"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
)

// A point is an extension point of the framework.
type point string

// The points at which plugins are asked.
const (
	preFilter point = "preFilter"
	filter    point = "filter"
	preScore  point = "preScore"
	score     point = "score"
	reserve   point = "reserve"
	permit    point = "permit"
	preBind   point = "preBind"
	postBind  point = "postBind"
)

// extensionPoints are those of a profile that this package knows: where it says which plugins there are, and which type a plugin
// must be of. Those with instead are not asked here. A plugin of which pods would run where they must not, if it is not asked,
// is refused.
var extensionPoints = []struct {
	name       point
	of         func(*config.Plugins) *config.PluginSet
	implements func(fwk.Plugin) bool
	instead    string
	refused    bool
}{
	{name: preFilter, of: func(p *config.Plugins) *config.PluginSet { return &p.PreFilter }, implements: is[fwk.PreFilterPlugin]},
	{name: filter, of: func(p *config.Plugins) *config.PluginSet { return &p.Filter }, implements: is[fwk.FilterPlugin]},
	{name: preScore, of: func(p *config.Plugins) *config.PluginSet { return &p.PreScore }, implements: is[fwk.PreScorePlugin]},
	{name: score, of: func(p *config.Plugins) *config.PluginSet { return &p.Score }, implements: is[fwk.ScorePlugin]},
	{name: reserve, of: func(p *config.Plugins) *config.PluginSet { return &p.Reserve }, implements: is[fwk.ReservePlugin]},
	{name: permit, of: func(p *config.Plugins) *config.PluginSet { return &p.Permit }, implements: is[fwk.PermitPlugin]},
	{name: preBind, of: func(p *config.Plugins) *config.PluginSet { return &p.PreBind }, implements: is[fwk.PreBindPlugin]},
	{name: postBind, of: func(p *config.Plugins) *config.PluginSet { return &p.PostBind }, implements: is[fwk.PostBindPlugin]},
	{
		name: "preEnqueue", of: func(p *config.Plugins) *config.PluginSet { return &p.PreEnqueue }, implements: is[fwk.PreEnqueuePlugin],
		instead: "nothing but scheduling gates holds pods back before a node is looked for", refused: true,
	},
	{
		name: "bind", of: func(p *config.Plugins) *config.PluginSet { return &p.Bind }, implements: is[fwk.BindPlugin],
		instead: "pods are bound by the scheduler itself", refused: true,
	},
	{
		name: "queueSort", of: func(p *config.Plugins) *config.PluginSet { return &p.QueueSort }, implements: is[fwk.QueueSortPlugin],
		instead: "the queue configuration says which pod is next",
	},
	{
		name: "postFilter", of: func(p *config.Plugins) *config.PluginSet { return &p.PostFilter }, implements: is[fwk.PostFilterPlugin],
		instead: "the queue configuration says what is preempted",
	},
	{
		name: "placementGenerate", of: func(p *config.Plugins) *config.PluginSet { return &p.PlacementGenerate }, implements: is[fwk.PlacementGeneratePlugin],
		instead: "the core places groups of pods",
	},
	{
		name: "placementScore", of: func(p *config.Plugins) *config.PluginSet { return &p.PlacementScore }, implements: is[fwk.PlacementScorePlugin],
		instead: "the core places groups of pods",
	},
}

func is[T any](p fwk.Plugin) bool {
	_, ok := p.(T)
	return ok
}

// named is the entry of a plugin in a list, or nil.
func named(list []config.Plugin, name string) *config.Plugin {
	if i := slices.IndexFunc(list, func(p config.Plugin) bool { return p.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// enabledAt is the entry that enables a plugin at a point, or nil: what is said of the point goes before what is said of all.
func enabledAt(of *config.Plugins, at *config.PluginSet, name string) *config.Plugin {
	if said := named(at.Enabled, name); said != nil {
		return said
	}
	if named(at.Disabled, name) != nil || named(at.Disabled, "*") != nil {
		return nil
	}
	return named(of.MultiPoint.Enabled, name)
}

// enabled reports whether a profile enables a plugin anywhere.
func enabled(of *config.Plugins, name string) bool {
	if named(of.MultiPoint.Enabled, name) != nil {
		return true
	}
	for _, at := range extensionPoints {
		if named(at.of(of).Enabled, name) != nil {
			return true
		}
	}
	return false
}

// pointsOf is where a plugin is asked. The error is everything that a profile says of it and that cannot be.
func (s *Set) pointsOf(name string, plugin fwk.Plugin) (map[point]bool, error) {
	asked := map[point]bool{}
	var problems []error
	for _, at := range extensionPoints {
		set := at.of(s.said)
		switch implements := at.implements(plugin); {
		case !implements && named(set.Enabled, name) != nil:
			problems = append(problems, fmt.Errorf("plugins: %s: %s is no such plugin", at.name, name))
		case !implements || enabledAt(s.said, set, name) == nil:
		case at.refused:
			problems = append(problems, fmt.Errorf("plugins: %s: %s is not asked, since %s; where it is not needed say %s: {disabled: [{name: %s}]}",
				at.name, name, at.instead, at.name, name))
		case at.instead != "":
			s.log.Sugar().Warnf("plugins: %s: %s is not asked: %s", at.name, name, at.instead)
		default:
			asked[at.name] = true
		}
	}
	return asked, errors.Join(problems...)
}
