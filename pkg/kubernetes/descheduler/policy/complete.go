package policy

import (
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// find is the plugin of a name; one that is not registered is reported.
func (l *loader) find(m mention) (framework.Definition, bool) {
	d, ok := l.registry.Find(m.name)
	if !ok {
		m.at.fail("there is no plugin %s, %s", m.name, yamltree.Instead(m.name, l.registry.Names()))
	}
	return d, ok
}

// complete makes a profile of what is written: with defaults, and checked.
func (l *loader) complete(w *written) {
	w.profile.Plugins = map[framework.Point][]string{}
	w.profile.Args = map[string]any{}
	w.profile.Limit = map[string]int{}
	if l.configuration {
		w.expandFilter(l.registry)
	}
	for _, point := range framework.Points() {
		l.completePoint(w, point)
	}
	for _, name := range w.profile.Enabled() {
		l.completeArgs(w, name)
	}
	for _, config := range w.configs {
		if _, enabled := w.profile.Args[config.name]; !enabled && !config.failed {
			config.at.warn("%s is enabled at no point of this profile, so this has no effect", config.name)
		}
	}
}

// expandFilter takes the set of filter for preevictionfilter too: Koordinator has one
// point for both.
func (w *written) expandFilter(registry *framework.Registry) {
	from := w.sets[framework.Filter]
	if from == nil || w.sets[framework.PreEvictionFilter] != nil {
		return
	}
	both := &set{at: from.at, disabled: from.disabled}
	for _, m := range from.enabled {
		if d, ok := registry.Find(m.name); ok && d.Works(framework.PreEvictionFilter) {
			both.enabled = append(both.enabled, m)
		}
	}
	w.sets[framework.PreEvictionFilter], w.expanded = both, true
}

// completePoint works out what is enabled at a point.
func (l *loader) completePoint(w *written, point framework.Point) {
	s := w.sets[point]
	if s == nil {
		s = &set{at: w.at}
	}
	for _, m := range s.enabled {
		if d, ok := l.find(m); ok && !d.Works(point) {
			m.at.fail("%s does not work at %s, but at %s", m.name, point, pointsOf(d))
		}
	}
	defaults := defaultsAt(point, l.defaults(), w.profile.Plugins[framework.Evict], l.registry)
	l.checkDisabled(w, point, defaults)
	if single(point) && len(s.enabled) > 0 {
		defaults = nil // there is one, and the text names it
	}
	list := merged(defaults, names(s.disabled), names(s.enabled))
	switch {
	case single(point) && len(list) > 1:
		s.at.fail("%d plugins are enabled at %s, where one can be: %s", len(list), point, strings.Join(list, ", "))
	case point == framework.Evict && len(list) == 0:
		s.at.fail("no plugin is enabled at %s, where one must be; %s can", point, strings.Join(l.working(point), " or "))
	}
	if len(list) > 0 {
		w.profile.Plugins[point] = list
	}
}

// defaultsAt are the plugins at a point unless the text switches them off. An evict plugin
// that is a controller too does its work there, so it is enabled there as well.
func defaultsAt(point framework.Point, defaults map[framework.Point][]string, evict []string, registry *framework.Registry) []string {
	list := slices.Clone(defaults[point])
	if point != framework.Controller {
		return list
	}
	for _, name := range evict {
		if d, ok := registry.Find(name); ok && d.Works(point) && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// single are points at which one plugin works.
func single(point framework.Point) bool { return point == framework.Evict || point == framework.Sort }

// checkDisabled tells of names that switch nothing off, and of a profile without any of
// the filters that are defaults of either kind.
func (l *loader) checkDisabled(w *written, point framework.Point, defaults []string) {
	s := w.sets[point]
	if s == nil || w.expanded && point == framework.PreEvictionFilter {
		return
	}
	for _, m := range s.disabled {
		if m.name == all {
			continue
		}
		if _, ok := l.find(m); ok && !slices.Contains(defaults, m.name) {
			m.at.warn("%s is no default of %s, so this has no effect", m.name, point)
		}
	}
	if point != framework.Filter {
		return
	}
	left := merged(defaults, names(s.disabled), names(s.enabled))
	protecting := slices.Concat(l.options.Defaults[point], l.options.ConfigurationDefaults[point])
	if len(defaults) > 0 && !slices.ContainsFunc(left, func(name string) bool { return slices.Contains(protecting, name) }) {
		s.at.warn("%s is switched off: pods that it protects, such as those of the system, of DaemonSets and with local data, can be evicted",
			strings.Join(defaults, ", "))
	}
}

func pointsOf(d framework.Definition) string {
	points := make([]string, len(d.Points))
	for i, p := range d.Points {
		points[i] = string(p)
	}
	return strings.Join(points, ", ")
}

// working lists the plugins that work at a point.
func (l *loader) working(point framework.Point) []string {
	var names []string
	for _, name := range l.registry.Names() {
		if d, _ := l.registry.Find(name); d.Works(point) {
			names = append(names, name)
		}
	}
	return names
}
