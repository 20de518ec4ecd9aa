package feasibility

import (
	"context"
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/outoftree"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
)

// A plugin that is compiled in and that the profile does not enable costs nothing: it is not made, the same plugins of
// kube-scheduler are asked at each point, and each question allocates as much as without it.
func TestNoCostWithoutPlugins(t *testing.T) {
	standard, err := profile.Default()
	assert.NilError(t, err)
	never := outoftree.Plugin{Name: "Never", New: func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
		return nil, errors.New("it was made")
	}}
	without, _ := newChecker(t, Options{Workers: 1})
	compiledIn, _ := newChecker(t, Options{Workers: 1, Profile: standard, OutOfTree: outoftree.Options{Plugins: []outoftree.Plugin{never}}})
	assert.DeepEqual(t, compiledIn.framework.ListPlugins(), without.framework.ListPlugins())
	assert.Assert(t, !compiledIn.CountsEarly() && !compiledIn.Permits() && !compiledIn.Scores())

	nodes := []string{"node-1", "node-2", "node-3"}
	for _, c := range []*Checker{without, compiledIn} {
		for _, name := range nodes {
			c.SetNode(aNode(name, "zone-1"))
		}
		c.SetPod(aPod("old", placedOn("node-1"), requests("cpu=1 memory=1Gi"), labelled("app", "a")))
	}
	for name, ask := range map[string]func(*Checker, *v1.Pod){
		"check":           func(c *Checker, pod *v1.Pod) { _ = c.CheckNodes(pod, nodes) },
		"in thought":      func(c *Checker, pod *v1.Pod) { _ = c.CheckWith(pod, "node-1", nil, []*v1.Pod{aPod("old")}) },
		"from everywhere": func(c *Checker, pod *v1.Pod) { _ = c.RefusedEverywhere(pod) },
		"class":           func(c *Checker, pod *v1.Pod) { _ = c.Class(pod) },
		"refers":          func(c *Checker, pod *v1.Pod) { _ = c.References(pod) },
		"reserve and go on": func(c *Checker, pod *v1.Pod) {
			_ = c.Reserve(t.Context(), pod, "node-2")
			c.SetPod(on(pod, "node-2"))
			_ = c.PreBind(t.Context(), pod, "node-2")
			c.Unreserve(t.Context(), pod, "node-2")
			c.RemovePod(pod)
		},
		"scores": func(c *Checker, pod *v1.Pod) { _ = c.Points(pod, nodes) },
	} {
		allocated := func(c *Checker) float64 {
			pod := aPod("new", requests("cpu=1 memory=1Gi"), labelled("app", "a"), spread("app", "a", v1.LabelTopologyZone))
			return testing.AllocsPerRun(100, func() { ask(c, pod) })
		}
		assert.Equal(t, allocated(compiledIn), allocated(without), name)
	}
}
