package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// all in a list of disabled plugins stands for all defaults.
const all = "*"

// The names of a single profile that has none, by kind.
const (
	unnamed              = "default"
	unnamedConfiguration = "koord-descheduler"
)

// A written profile is what the text says of one, before defaults.
type written struct {
	at       cursor
	name     cursor // where the name stands; the profile where there is none
	profile  Profile
	sets     map[framework.Point]*set
	configs  []pluginConfig
	expanded bool // the sets of filter were taken for preevictionfilter too
}

// A set is what a profile enables and disables at one point.
type set struct {
	at                cursor
	enabled, disabled []mention
}

// A mention is a plugin named in the text.
type mention struct {
	name string
	at   cursor
}

func names(mentions []mention) []string {
	list := make([]string, len(mentions))
	for i, m := range mentions {
		list[i] = m.name
	}
	return list
}

// profiles reads all profiles and completes them.
func (l *loader) profiles(c cursor) []Profile {
	items := c.items()
	if len(items) > ProfilesMax {
		items[ProfilesMax].fail("more than %d profiles", ProfilesMax)
		return nil
	}
	all := make([]*written, len(items))
	for i, item := range items {
		all[i] = l.profile(item)
	}
	l.checkNames(all)
	profiles := make([]Profile, len(all))
	for i, w := range all {
		l.complete(w)
		profiles[i] = w.profile
	}
	return profiles
}

// checkNames refuses names that are there twice, and names the only profile.
func (l *loader) checkNames(all []*written) {
	lines := map[string]int{}
	for _, w := range all {
		name := &w.profile.Name
		switch {
		case *name == "" && len(all) > 1:
			w.name.fail("a profile of several needs a name")
		case *name == "" && l.configuration:
			*name = unnamedConfiguration
		case *name == "":
			*name = unnamed
		case lines[*name] > 0:
			w.name.fail("a profile with this name is in line %d already", lines[*name])
		default:
			lines[*name] = w.name.Line
		}
	}
}

// profile reads one profile.
func (l *loader) profile(c cursor) *written {
	w := &written{at: c, name: c, sets: map[framework.Point]*set{}, profile: Profile{NodeSelector: labels.Everything()}}
	c.fields(
		field{"name", func(c cursor) {
			w.name = c
			w.profile.Name, _ = c.text()
		}},
		field{"nodeSelector", func(c cursor) { w.profile.NodeSelector = c.selector() }},
		field{"pluginConfig", func(c cursor) { w.configs = l.pluginConfigs(c) }},
		field{"plugins", w.plugins},
	)
	return w
}

// plugins reads what is enabled and disabled at each point.
func (w *written) plugins(c cursor) {
	var known []field
	for _, point := range framework.Points() {
		read := func(c cursor) {
			if before := w.sets[point]; before != nil {
				c.atKey().fail("is %s, which is in line %d already", point, before.at.AtKey().Line)
				return
			}
			w.sets[point] = readSet(c)
		}
		known = append(known, field{string(point), read})
		if point == framework.PreEvictionFilter {
			known = append(known, field{"preEvictionFilter", read})
		}
	}
	c.fields(known...)
}

func readSet(c cursor) *set {
	s := &set{at: c}
	c.fields(
		field{"enabled", func(c cursor) { s.enabled = mentions(c) }},
		field{"disabled", func(c cursor) { s.disabled = mentions(c) }},
	)
	return s
}

// mentions reads a list of plugins, each as a name or as {name: NAME}.
func mentions(c cursor) []mention {
	var list []mention
	for _, item := range c.items() {
		m := mention{at: item}
		if item.IsMapping() {
			item.fields(field{"name", func(c cursor) {
				m.at = c
				m.name, _ = c.text()
			}})
			if _, ok := item.Find("name"); !ok {
				item.fail("name is missing; write the name of a plugin")
			}
		} else {
			m.name, _ = item.text()
		}
		before := slices.IndexFunc(list, func(other mention) bool { return other.name == m.name })
		switch {
		case m.name == "" && item.IsScalar():
			m.at.fail("must be the name of a plugin")
		case m.name == "":
		case before >= 0:
			m.at.fail("%s is in line %d already", m.name, list[before].at.Line)
		default:
			list = append(list, m)
		}
	}
	return list
}

// A pluginConfig is the arguments of a plugin as written.
type pluginConfig struct {
	mention
	args   cursor // where args stand; the entry where there are none
	values any    // what was read; nil where the plugin is not known or has none
	failed bool   // something in it is wrong, so that validation makes no sense
	limit  *int
}

// pluginConfigs reads the arguments of all plugins of a profile.
func (l *loader) pluginConfigs(c cursor) []pluginConfig {
	var configs []pluginConfig
	for _, item := range c.items() {
		config := pluginConfig{mention: mention{at: item}, args: item}
		given := false
		item.fieldsOr(l.argumentAt(item),
			field{"name", func(c cursor) {
				config.at = c
				config.name, _ = c.text()
			}},
			field{"args", func(c cursor) { config.args, given = c, true }},
			field{"maxNoOfPodsToEvict", func(c cursor) { config.limit = c.count() }},
		)
		before := slices.IndexFunc(configs, func(other pluginConfig) bool { return other.name == config.name })
		switch {
		case config.name == "" && item.IsMapping():
			item.fail("name is missing; write the name of a plugin")
		case config.name == "":
		case before >= 0:
			config.at.fail("arguments of %s are in line %d already", config.name, configs[before].at.Line)
		default:
			l.readArgs(&config, given)
			configs = append(configs, config)
		}
	}
	return configs
}

// argumentAt is a hint for arguments that stand beside the name of their plugin.
func (l *loader) argumentAt(item cursor) func(key string) string {
	name, _ := item.Find("name")
	return func(key string) string {
		if name.Node == nil {
			return ""
		}
		d, _ := l.registry.Find(name.Node.Value)
		if !slices.ContainsFunc(Arguments(d), func(a Argument) bool { return a.Key == key }) {
			return ""
		}
		return "it is an argument of " + d.Name + ", so it belongs below args"
	}
}
