package example

import (
	"context"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// handle has what the plugin asks for.
type handle struct {
	framework.Handle
	evictor
	snapshot *framework.Snapshot
}

func (h *handle) Snapshot() *framework.Snapshot { return h.snapshot }
func (h *handle) Evictor() framework.PodEvictor { return &h.evictor }

// evictor notes evictions. It has limits, and refuses pods of the system.
type evictor struct {
	framework.PodEvictor
	evicted []string
	perNode int
	onNode  map[string]int
}

func (e *evictor) Filter(pod *v1.Pod) bool { return pod.Namespace != "kube-system" }

func (e *evictor) EvictPod(_ context.Context, pod *v1.Pod, options framework.EvictOptions) error {
	node := pod.Spec.NodeName
	if e.onNode[node] == e.perNode {
		return &framework.LimitError{Scope: framework.ScopeNode, Name: node, Max: e.perNode}
	}
	e.onNode[node]++
	e.evicted = append(e.evicted, fmt.Sprintf("%s/%s: %s", pod.Namespace, pod.Name, options.Reason))
	return nil
}

func pod(namespace, name, node, day string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(namespace + name),
			Annotations: map[string]string{"example.org/remove-after": day},
		},
		Spec: v1.PodSpec{NodeName: node},
	}
}

// The plugin is built from a policy as a descheduler does, and acts by its arguments.
func TestPluginOutOfTree(t *testing.T) {
	registry := new(framework.Registry)
	assert.NilError(t, registry.Register(Definition(), framework.Definition{
		Name: "Evict", Points: []framework.Point{framework.Evict},
		New: func(context.Context, any, framework.Handle) (framework.Plugin, error) { return nil, nil },
	}))
	load := func(args string) (*policy.Policy, error) {
		p, _, err := policy.Load([]byte(`
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- pluginConfig: [{name: RemovePodsPastDate, args: `+args+`}]
  plugins: {deschedule: {enabled: [RemovePodsPastDate]}, evict: {enabled: [Evict]}}
`), registry, policy.Options{})
		return p, err
	}
	_, err := load(`{annotation: ""}`)
	assert.ErrorContains(t, err, "line 5:64: profiles[0].pluginConfig[0].args.annotation: must not be empty")
	p, err := load("{namespaces: [a, kube-system]}")
	assert.NilError(t, err)

	now := time.Date(2026, 5, 2, 12, 0, 0, 0, time.UTC)
	nodes := []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "m"}}, {ObjectMeta: metav1.ObjectMeta{Name: "n"}}}
	h := &handle{
		evictor: evictor{perNode: 1, onNode: map[string]int{}},
		snapshot: framework.NewSnapshot(framework.Objects{Nodes: nodes, Pods: []*v1.Pod{
			pod("a", "due", "m", "2026-05-01"), pod("a", "second", "m", "2026-04-01"), pod("a", "today", "n", "2026-05-02"),
			pod("a", "unread", "n", "soon"), pod("b", "elsewhere", "n", "2026-05-01"), pod("kube-system", "kept", "n", "2026-05-01"),
			pod("a", "z", "n", "2026-01-31"),
		}}, now),
	}
	built, err := Definition().New(t.Context(), p.Profiles[0].Args[Name], h)
	assert.NilError(t, err)
	assert.Assert(t, built.(framework.DeschedulePlugin).Deschedule(t.Context(), nodes) == nil)
	assert.DeepEqual(t, h.evicted, []string{"a/due: its day was 2026-05-01", "a/z: its day was 2026-01-31"})
}
