package shimtest_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/outoftree"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/preferences"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// compiledIn are options with plugins of the scheduling framework that are none of kube-scheduler's, and a profile that names them;
// and what was logged about them.
func compiledIn(t testing.TB, profileText string, plugins ...outoftree.Plugin) (shimtest.Options, *observer.ObservedLogs) {
	t.Helper()
	core, logged := observer.New(zap.InfoLevel)
	added := outoftree.Options{Log: zap.New(core), Plugins: plugins}
	read, ignored, err := profile.Read([]byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+profileText), nil, added.Names()...)
	assert.NilError(t, err)
	assert.Equal(t, len(ignored), 0, "%v", ignored)
	var checker *feasibility.Checker
	return shimtest.Options{
		Feasibility: func(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) (shim.Feasibility, error) {
			var err error
			checker, err = feasibility.New(ctx, client, factory, feasibility.Options{Workers: 1, Profile: read, OutOfTree: added})
			return checker, err
		},
		Preferences: func(factory informers.SharedInformerFactory) (shim.Preferences, error) {
			o := preferences.Options{Profile: read}
			if checker.Scores() {
				o.Points = checker.Points
			}
			return preferences.New(factory, o)
		},
	}, logged
}

// of is a plugin that is there already.
func of(p fwk.Plugin) outoftree.Plugin {
	return outoftree.Plugin{Name: p.Name(), New: func(_ context.Context, _ runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
		if g, ok := p.(*gatekeeper); ok {
			g.handle = h
		}
		return p, nil
	}}
}

// everywhere enables plugins at all points at which they are plugins.
func everywhere(names ...string) string {
	text := "profiles: [{plugins: {multiPoint: {enabled: ["
	for _, name := range names {
		text += "{name: " + name + "}, "
	}
	return text + "]}}}]"
}

// calls are what was called of a plugin.
type calls struct {
	mu    sync.Mutex
	lines []string
}

func (c *calls) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, fmt.Sprintf(format, args...))
}

func (c *calls) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lines)
}

// times is how often a line was noted.
func (c *calls) times(line string) (count int) {
	for _, is := range c.all() {
		if is == line {
			count++
		}
	}
	return count
}

// used is a number in the state of a cycle.
type used int

func (u used) Clone() fwk.StateData { return u }

// A gatekeeper notes what follows the choice of a node, and answers as its fields say.
type gatekeeper struct {
	calls
	handle fwk.Handle
	gatekeeping
}

// gatekeeping is what it answers; nil is yes.
type gatekeeping struct {
	reserve  func(pod *v1.Pod) *fwk.Status
	permit   func(pod *v1.Pod) (*fwk.Status, time.Duration)
	preBind  func(ctx context.Context, pod *v1.Pod) *fwk.Status
	postBind func(pod *v1.Pod)
}

// change changes what it answers while it is asked.
func (g *gatekeeper) change(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

func (g *gatekeeper) now() gatekeeping {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.gatekeeping
}

func (*gatekeeper) Name() string { return "Gatekeeper" }

func (g *gatekeeper) Reserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	g.note("reserve %s %s", pod.Name, node)
	if answer := g.now().reserve; answer != nil {
		return answer(pod)
	}
	return nil
}

func (g *gatekeeper) Unreserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node string) {
	g.note("unreserve %s %s", pod.Name, node)
}

func (g *gatekeeper) Permit(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node string) (*fwk.Status, time.Duration) {
	g.note("permit %s %s", pod.Name, node)
	if answer := g.now().permit; answer != nil {
		return answer(pod)
	}
	return nil, 0
}

func (*gatekeeper) PreBindPreFlight(context.Context, fwk.CycleState, *v1.Pod, string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	return nil, nil
}

func (g *gatekeeper) PreBind(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	g.note("preBind %s %s", pod.Name, node)
	if answer := g.now().preBind; answer != nil {
		return answer(ctx, pod)
	}
	return nil
}

func (g *gatekeeper) PostBind(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node string) {
	g.note("postBind %s %s", pod.Name, node)
	if answer := g.now().postBind; answer != nil {
		answer(pod)
	}
}

// EventsToRegister is nothing but changes of nodes' labels, so that tests know when pods are tried.
func (*gatekeeper) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeLabel}}}, nil
}

// waits has a pod wait so long for a word.
func waits(most time.Duration) func(*v1.Pod) (*fwk.Status, time.Duration) {
	return func(*v1.Pod) (*fwk.Status, time.Duration) { return fwk.NewStatus(fwk.Wait), most }
}

// waiting is the names of the pods that wait for a word.
func (g *gatekeeper) waiting() (names []string) {
	g.handle.IterateOverWaitingPods(func(p fwk.WaitingPod) { names = append(names, p.GetPod().Name) })
	slices.Sort(names)
	return names
}

// A chooser likes nodes with the label "liked", by its number.
type chooser struct {
	score     func(node *v1.Node) (int64, *fwk.Status)
	normalize func(fwk.NodeScoreList) *fwk.Status
}

func (*chooser) Name() string { return "Chooser" }

func (*chooser) PreScore(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	if pod.Labels["indifferent"] != "" {
		return fwk.NewStatus(fwk.Skip)
	}
	state.Write("test/chooser", used(len(nodes)))
	return nil
}

func (c *chooser) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	if _, err := state.Read("test/chooser"); err != nil {
		return 0, fwk.AsStatus(err)
	}
	return c.score(node.Node())
}

func (c *chooser) ScoreExtensions() fwk.ScoreExtensions {
	if c.normalize == nil {
		return nil
	}
	return c
}

func (c *chooser) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	return c.normalize(scores)
}

// A filterer answers filters as its function says. It registers no events.
type filterer struct {
	name   string
	filter func(pod *v1.Pod, node *v1.Node) *fwk.Status
}

func (f *filterer) Name() string { return f.name }

func (f *filterer) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	return f.filter(pod, node.Node())
}

// A signer is a filterer that says which pods are alike: those with the same label "kind".
type signer struct{ *filterer }

func (*signer) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	return []fwk.SignFragment{{Key: "kind", Value: pod.Labels["kind"]}}, nil
}

// A preparer answers PreFilter as its function says, and notes which nodes its Filter is asked about.
type preparer struct {
	calls
	name    string
	prepare func(pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status)
}

func (p *preparer) Name() string { return p.name }

func (p *preparer) PreFilter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	return p.prepare(pod, nodes)
}

func (*preparer) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

func (p *preparer) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	p.note("%s %s", pod.Name, node.Node().Name)
	return nil
}
