package descheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// calls is a world of two profiles whose plugins note that they were called.
func calls(t *testing.T) (w *world, called *[]string) {
	w = newWorld(t, podsOf(1, "a", "web")...)
	called = &[]string{}
	note := func(name string) func(context.Context, framework.Handle, []*v1.Node) error {
		return func(_ context.Context, h framework.Handle, nodes []*v1.Node) error {
			var names []string
			for _, n := range nodes {
				names = append(names, n.Name)
			}
			*called = append(*called, fmt.Sprintf("%s %s %s %s", h.ProfileName(), h.InstanceID(), name, strings.Join(names, "")))
			return nil
		}
	}
	w.plugins = append(w.plugins,
		&scripted{name: "X", deschedule: note("X deschedule"), balance: note("X balance")},
		&scripted{name: "Y", deschedule: note("Y deschedule"), balance: note("Y balance")},
		&scripted{name: "Backwards", preSort: func(nodes []*v1.Node) []*v1.Node {
			slices.Reverse(nodes)
			return nodes
		}})
	w.policy.Profiles = []policy.Profile{
		{
			Name: "one", NodeSelector: labels.Everything(),
			Plugins: map[framework.Point][]string{
				framework.Deschedule: {"X", "Y"}, framework.Balance: {"Y"}, framework.Evict: {"Evict"}, framework.PreSort: {"Backwards"},
			},
		},
	}
	return w, called
}

// TestOrderOfPlugins is D-CYC-4 and D-FW-2: the order is that of the policy.
func TestOrderOfPlugins(t *testing.T) {
	w, called := calls(t)
	second := profileOf("two", framework.Balance, "X")
	second.NodeSelector = labels.SelectorFromSet(labels.Set{"name": "b"})
	second.Plugins[framework.Deschedule] = []string{"X"}
	w.policy.Profiles = append(w.policy.Profiles, second)
	w.cycle()
	assert.DeepEqual(t, *called, []string{
		"one 0-1 X deschedule cba", "one 0-2 Y deschedule cba", "two 1-0 X deschedule b", "one 0-2 Y balance cba", "two 1-0 X balance b",
	})
}

// TestNodesOfACycle is D-CYC-2.
func TestNodesOfACycle(t *testing.T) {
	w, called := calls(t)
	w.nodes = []*v1.Node{
		newNode("c"), newNode("b", func(n *v1.Node) { n.Spec.Unschedulable = true }),
		newNode("a", notReady), newNode("d", func(n *v1.Node) { n.Labels["name"] = "other" }),
	}
	selector, err := labels.Parse("name!=other")
	assert.NilError(t, err)
	w.policy.NodeSelector = selector
	w.cycle()
	assert.Equal(t, (*called)[0], "one 0-1 X deschedule cb") // cordoned nodes stay

	*called = nil
	w.nodes = w.nodes[1:]
	report, err := w.d.Cycle(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, report.Skipped, "1 nodes are selected and ready, and 2 are needed")
	assert.Equal(t, len(*called), 0)
}

// TestFailuresAreContained is D-FW-4: a plugin that fails or panics does not stop others.
func TestFailuresAreContained(t *testing.T) {
	w, called := calls(t)
	w.plugins = append(w.plugins,
		&scripted{name: "Fails", deschedule: func(context.Context, framework.Handle, []*v1.Node) error { return errors.New("no luck") }},
		&scripted{name: "Panics", deschedule: func(context.Context, framework.Handle, []*v1.Node) error { panic("a fault") }},
		&scripted{name: "Loses", preSort: func(nodes []*v1.Node) []*v1.Node { return nodes[1:] }},
		&scripted{name: "Doubles", preSort: func(nodes []*v1.Node) []*v1.Node { return append(nodes[:1:1], nodes[:2]...) }})
	w.policy.Profiles[0].Plugins[framework.Deschedule] = []string{"Fails", "Panics", "X"}
	w.policy.Profiles[0].Plugins[framework.PreSort] = []string{"Loses", "Backwards", "Doubles"}
	report, err := w.build().Cycle(t.Context())
	assert.ErrorContains(t, err, "profile one: plugin Fails at deschedule: pre-sort by Loses: it returned other nodes than it was given")
	assert.ErrorContains(t, err, "no luck")
	assert.ErrorContains(t, err, "panic: a fault")
	assert.DeepEqual(t, *called, []string{"one 0-5 X deschedule cba", "one 0-6 Y balance cba"})
	assert.Equal(t, len(report.Failures), 4) // X and Y ran, and their pre-sort failed
	assert.Equal(t, report.Failures[1].Plugin, "Panics")
}

// TestPluginsCannotDisturbOthers: each gets its own list of nodes.
func TestPluginsCannotDisturbOthers(t *testing.T) {
	w, called := calls(t)
	w.plugins = append(w.plugins, &scripted{name: "Clears", deschedule: func(_ context.Context, _ framework.Handle, nodes []*v1.Node) error {
		clear(nodes)
		return nil
	}})
	w.policy.Profiles[0].Plugins[framework.Deschedule] = []string{"Clears", "X"}
	delete(w.policy.Profiles[0].Plugins, framework.PreSort)
	w.cycle()
	assert.Equal(t, (*called)[0], "one 0-1 X deschedule abc")
}

func TestCycleWithoutACluster(t *testing.T) {
	w, called := calls(t)
	w.options.Objects = func() (framework.Objects, error) { return framework.Objects{}, errors.New("no list") }
	report, err := w.build().Cycle(t.Context())
	assert.Error(t, err, "reading the cluster: no list")
	assert.Equal(t, report.Skipped, "there is no view of the cluster: reading the cluster: no list")
	w.d.options.Objects = nil // a source that panics
	_, err = w.d.Cycle(t.Context())
	assert.ErrorContains(t, err, "panic: ")
	assert.Equal(t, len(*called), 0)
}

// TestProfilesThatCannotBeBuilt: the error names every plugin with a fault.
func TestProfilesThatCannotBeBuilt(t *testing.T) {
	fault := func(name string, points []framework.Point, build framework.Factory) framework.Definition {
		return framework.Definition{Name: name, Points: points, New: build}
	}
	build := func(p framework.Plugin, err error) framework.Factory {
		return func(context.Context, any, framework.Handle) (framework.Plugin, error) { return p, err }
	}
	type only struct{ framework.EvictPlugin }
	for _, c := range []struct {
		plugins map[framework.Point][]string
		want    string
	}{
		{map[framework.Point][]string{}, "profile p: 0 evict plugins are enabled, and exactly one is needed"},
		{
			map[framework.Point][]string{framework.Evict: {"Evict", "All"}, framework.Sort: {"All", "Evict"}},
			"profile p: 2 evict plugins are enabled, and exactly one is needed\n2 sort plugins are enabled, and one is the most",
		},
		{
			map[framework.Point][]string{framework.Evict: {"Evict"}, framework.Balance: {"Unknown", "Broken", "Panics", "Empty"}},
			"profile p: plugin Unknown: is not registered\nplugin Broken: no secret\nplugin Panics: panic: a fault\n" +
				"plugin Empty: its factory made nothing",
		},
		{
			map[framework.Point][]string{framework.Evict: {"Evict"}, framework.Balance: {"Only"}, framework.Filter: {"Pretends"}},
			"profile p: plugin Only does not work at balance\nplugin Pretends does not work at filter",
		},
	} {
		w := newWorld(t)
		w.policy.Profiles[0].Plugins = c.plugins
		r := w.registry()
		assert.NilError(t, r.Register(
			fault("Broken", framework.Points(), build(nil, errors.New("no secret"))),
			fault("Panics", framework.Points(), func(context.Context, any, framework.Handle) (framework.Plugin, error) { panic("a fault") }),
			fault("Empty", framework.Points(), build(nil, nil)),
			fault("Only", []framework.Point{framework.Deschedule}, build(&scripted{name: "Only"}, nil)),
			fault("Pretends", framework.Points(), build(only{}, nil)),
		))
		_, err := New(t.Context(), w.policy, r, w.options)
		assert.Error(t, err, c.want)
		// A policy that is wrong changes nothing.
		good := newWorld(t, podsOf(1, "a", "web")...)
		assert.ErrorContains(t, good.build().Reload(t.Context(), w.policy), "profile p: ")
		assert.Equal(t, len(good.cycle()), 1)
	}
}

// TestReload: what was counted stays.
func TestReload(t *testing.T) {
	two, three := 2, 3
	w := newWorld(t, podsOf(5, "a", "web")...)
	w.policy.Limits.InFlight.Total = &two
	assert.Equal(t, len(w.cycle()), 2)
	next := *w.policy
	next.Limits.InFlight.Total = &three
	assert.NilError(t, w.d.Reload(t.Context(), &next))
	assert.Equal(t, len(w.cycle()), 1)
}
