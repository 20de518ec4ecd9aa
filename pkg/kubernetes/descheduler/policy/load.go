package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// Bounds on what a text may ask for, far above what policies need.
const (
	TextMax     = 1 << 20 // bytes of text
	ProfilesMax = 100     // profiles of one policy
	valuesMax   = 100_000 // YAML values, counting what aliases repeat
	problemsMax = 1000    // problems shown of each severity
)

// Options say how a text is read.
type Options struct {
	// Lenient makes warnings of unknown keys, except in arguments of plugins.
	Lenient bool
	// Defaults are the plugins that each profile has unless it switches them off.
	Defaults map[framework.Point][]string
	// ConfigurationDefaults are those of the kind DeschedulerConfiguration; nil: the
	// same.
	ConfigurationDefaults map[framework.Point][]string
}

// Load reads a policy of either kind, in YAML or JSON. It uses nothing unless all of it
// is right: the error is of type Problems, and has everything that is wrong. Warnings
// are returned in both cases. It changes none of its arguments and keeps none.
func Load(text []byte, registry *framework.Registry, options Options) (*Policy, []Warning, error) {
	r := &reader{lenient: options.Lenient}
	l := &loader{reader: r, registry: registry, options: options}
	policy := l.document(string(text))
	warnings := sorted(r.warnings)
	if r.failed() {
		return nil, warnings, Problems(sorted(r.problems))
	}
	return policy, warnings, nil
}

// A loader reads one text.
type loader struct {
	*reader
	registry *framework.Registry
	options  Options
	// configuration is set for the kind DeschedulerConfiguration.
	configuration bool
	needs         []need
}

// giveUp reports the last problem there will be.
func (l *loader) giveUp(line int, format string, args ...any) {
	l.add(Problem{Line: max(line, 1), Column: 1, Message: fmt.Sprintf(format, args...)})
	l.gaveUp = true
}

// document reads a whole text.
func (l *loader) document(text string) *Policy {
	if len(text) > TextMax {
		l.giveUp(1, "the text has more than %d bytes, which are the most", TextMax)
		return nil
	}
	root := l.parse(text)
	if root == nil {
		return nil
	}
	walk := &yamltree.Walk{Max: valuesMax, Exceeded: func() {
		l.giveUp(1, "the text stands for more than %d values; do its aliases (*name) repeat each other?", valuesMax)
	}}
	top := cursor{read: l.reader}.moved(walk.Top(root))
	if !top.IsMapping() {
		top.fail("must be a policy with apiVersion: %s and kind: %s, not %s", APIVersion, Kind, top.Describe())
		return nil
	}
	l.kind(top)
	return l.policy(top)
}

// parse makes nodes of a text that holds one YAML document.
func (l *loader) parse(text string) *yaml.Node {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		text = strings.ReplaceAll(text, "\t", " ") // JSON has tabs between values only; YAML forbids one at the start
	}
	root, second, err := yamltree.Parse(text)
	switch {
	case err != nil:
		line := 1
		if syntax, ok := errors.AsType[*yamltree.SyntaxError](err); ok {
			line = syntax.Line
		}
		l.giveUp(line, "not YAML: %s%s", err, tabIn(text, line))
		return nil
	case root == nil:
		l.giveUp(1, "the text has nothing but blanks and comments; a policy begins with apiVersion: %s", APIVersion)
	case second != nil:
		l.add(Problem{Line: max(second.Line, 1), Column: max(second.Column, 1), Message: "a second YAML document; a policy is one"})
	}
	return root
}

// tabIn is a hint where a line begins with a tab, which YAML does not allow.
func tabIn(text string, line int) string {
	lines := strings.SplitN(text, "\n", line+1)
	if len(lines) < line {
		return ""
	}
	if blank, _, _ := strings.Cut(lines[line-1], strings.TrimSpace(lines[line-1])); !strings.Contains(blank, "\t") {
		return ""
	}
	return "; the line begins with a tab, and YAML wants blanks"
}

// kind finds out which of both kinds the text is, and checks the version.
func (l *loader) kind(top cursor) {
	for _, key := range []string{"apiVersion", "kind"} {
		value, ok := top.Find(key)
		if !ok {
			top.fail("%s is missing; write apiVersion: %s and kind: %s", key, APIVersion, Kind)
			continue
		}
		at := top.moved(value)
		text, ok := at.text()
		switch {
		case !ok:
		case key == "kind" && text == KindConfiguration:
			l.configuration = true
		case key == "kind" && text != Kind:
			at.fail("%s is no kind of policies; write %s or %s", at.Describe(), Kind, KindConfiguration)
		case key == "apiVersion" && text != APIVersion:
			at.fail("%s cannot be read; write %s, which has profiles", at.Describe(), APIVersion)
		}
	}
}

// defaults are the plugins of profiles that say nothing.
func (l *loader) defaults() map[framework.Point][]string {
	if l.configuration && l.options.ConfigurationDefaults != nil {
		return l.options.ConfigurationDefaults
	}
	return l.options.Defaults
}

// policy reads the top level of both kinds.
func (l *loader) policy(top cursor) *Policy {
	p := &Policy{
		NodeSelector: labels.Everything(),
		Limits:       Limits{CoolDown: CoolDown{Initial: DefaultCoolDown, Max: DefaultCoolDownMax}},
	}
	ignore := func(cursor) {}
	known := []field{
		{"apiVersion", ignore},
		{"kind", ignore},
		{"profiles", func(c cursor) { p.Profiles = l.profiles(c) }},
		{"nodeSelector", func(c cursor) { p.NodeSelector = c.selector() }},
		{"evictionFailureEventNotification", func(c cursor) { p.FailureEvents, _ = c.boolean() }},
		{"nodeOrder", func(c cursor) { p.NodeOrder = c.nodeOrder() }},
		{"gracePeriodSeconds", func(c cursor) {
			if seconds := c.count(); seconds != nil {
				grace := int64(*seconds)
				p.GracePeriodSeconds = &grace
			}
		}},
		{"metricsCollector", func(c cursor) { p.collector(c) }},
		{"metricsProviders", func(c cursor) { p.providers(c) }},
	}
	known = append(known, p.Limits.fields()...)
	known = append(known, p.Settings.fields()...)
	top.fieldsOr(func(key string) string { return elsewhere[key] }, known...)
	if len(p.Profiles) == 0 && !l.failed() {
		p.Profiles = nil // an empty list is the same as none
		top.warn("the policy has no profile, so nothing is ever evicted")
	}
	if value, ok := top.Find("metricsCollector"); ok {
		p.checkCollector(top.moved(value).atKey())
	}
	l.assumeMetrics(p)
	l.checkNeeds(p.Metrics)
	return p
}

// nodeOrder is one of the orders of nodes.
func (c cursor) nodeOrder() framework.NodeOrder {
	text, ok := c.text()
	switch order := framework.NodeOrder(text); {
	case !ok:
	case order != framework.LeastAllocated && order != framework.MostAllocated:
		c.fail("must be %s or %s, not %s", framework.LeastAllocated, framework.MostAllocated, c.shown())
	default:
		return order
	}
	return ""
}

// selector is a label selector, as a text or as an object.
func (c cursor) selector() labels.Selector {
	if c.IsMapping() {
		var object metav1.LabelSelector
		before := len(c.read.problems)
		c.decode(valueOf(&object))
		if len(c.read.problems) > before {
			return labels.Everything()
		}
		selector, err := metav1.LabelSelectorAsSelector(&object)
		if err != nil {
			c.fail("is no label selector: %s", err)
			return labels.Everything()
		}
		return selector
	}
	text, ok := c.text()
	if !ok {
		return labels.Everything()
	}
	selector, err := labels.Parse(text)
	if err != nil {
		c.fail("is no label selector, such as pool=general,zone in (a,b): %s", err)
		return labels.Everything()
	}
	return selector
}

// merged is what a profile has at a point: the defaults without those that are
// disabled, then what is enabled. A default that is enabled again keeps its place.
func merged(defaults, disabled, enabled []string) []string {
	var names []string
	for _, name := range defaults {
		if !slices.Contains(disabled, name) && !slices.Contains(disabled, all) {
			names = append(names, name)
		}
	}
	for _, name := range enabled {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
