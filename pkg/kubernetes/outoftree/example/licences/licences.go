// Package licences is a plugin of the scheduling framework of Kubernetes. It knows nothing of Narwhal: kube-scheduler runs it too.
//
// A pod with the label licences.example.com/pool takes one licence of a pool, of which there are so many as the arguments say. It
// waits while none is left, and prefers nodes where pods of its pool run, since those share what they have downloaded.
package licences

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

const (
	// Name is the name of the plugin in profiles.
	Name = "Licences"
	// PoolLabel names the pool of which a pod takes a licence.
	PoolLabel = "licences.example.com/pool"

	usedKey fwk.StateKey = Name
)

// Args are the arguments of the plugin.
type Args struct {
	Pools map[string]int `json:"pools"` // how many licences there are
}

type plugin struct{ args Args }

var (
	_ fwk.PreFilterPlugin     = (*plugin)(nil)
	_ fwk.PreFilterExtensions = (*plugin)(nil)
	_ fwk.FilterPlugin        = (*plugin)(nil)
	_ fwk.ScorePlugin         = (*plugin)(nil)
	_ fwk.EnqueueExtensions   = (*plugin)(nil)
	_ fwk.SignPlugin          = (*plugin)(nil)
)

// New makes the plugin. It is a factory for app.WithPlugin of kube-scheduler, and for outoftree.Plugin.
func New(_ context.Context, args runtime.Object, _ fwk.Handle) (fwk.Plugin, error) {
	p := new(plugin)
	if err := frameworkruntime.DecodeInto(args, &p.args); err != nil {
		return nil, err
	}
	for pool, count := range p.args.Pools {
		if count < 0 {
			return nil, fmt.Errorf("pools: %s: %d is less than 0", pool, count)
		}
	}
	return p, nil
}

// Name is the name of the plugin.
func (p *plugin) Name() string { return Name }

// used is how many licences of the pool of a pod are in use.
type used int

// Clone is for the framework.
func (u used) Clone() fwk.StateData { return u }

// PreFilter counts the licences in use. Other pods are not its business.
func (p *plugin) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if pod.Labels[PoolLabel] == "" {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	var u used
	for _, node := range nodes {
		u += used(members(node, pod))
	}
	state.Write(usedKey, u)
	return nil, nil
}

// members is how many pods of a node are of the pool of a pod.
func members(node fwk.NodeInfo, pod *v1.Pod) (count int) {
	for _, other := range node.GetPods() {
		if shares(other.GetPod(), pod) {
			count++
		}
	}
	return count
}

func shares(a, b *v1.Pod) bool { return a.Labels[PoolLabel] == b.Labels[PoolLabel] }

// PreFilterExtensions are asked what would be without the victims of a preemption.
func (p *plugin) PreFilterExtensions() fwk.PreFilterExtensions { return p }

// AddPod counts the licence of a pod.
func (p *plugin) AddPod(_ context.Context, state fwk.CycleState, pod *v1.Pod, other fwk.PodInfo, _ fwk.NodeInfo) *fwk.Status {
	return count(state, pod, other, 1)
}

// RemovePod counts it no more.
func (p *plugin) RemovePod(_ context.Context, state fwk.CycleState, pod *v1.Pod, other fwk.PodInfo, _ fwk.NodeInfo) *fwk.Status {
	return count(state, pod, other, -1)
}

func count(state fwk.CycleState, pod *v1.Pod, other fwk.PodInfo, by used) *fwk.Status {
	if !shares(other.GetPod(), pod) {
		return nil
	}
	data, err := state.Read(usedKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	state.Write(usedKey, data.(used)+by)
	return nil
}

// Filter refuses every node while no licence is left.
func (p *plugin) Filter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ fwk.NodeInfo) *fwk.Status {
	data, err := state.Read(usedKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if pool := pod.Labels[PoolLabel]; int(data.(used)) >= p.args.Pools[pool] {
		return fwk.NewStatus(fwk.Unschedulable, fmt.Sprintf("all %d licences of %s are in use", p.args.Pools[pool], pool))
	}
	return nil
}

// Score prefers nodes where pods of the pool run.
func (p *plugin) Score(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	if pod.Labels[PoolLabel] != "" && members(node, pod) > 0 {
		return fwk.MaxScore, nil
	}
	return 0, nil
}

// ScoreExtensions are none: scores are from 0 to 100.
func (p *plugin) ScoreExtensions() fwk.ScoreExtensions { return nil }

// EventsToRegister says that the end of a pod of the same pool may help.
func (p *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{
		Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete},
		QueueingHintFn: func(_ klog.Logger, pod *v1.Pod, ended, _ any) (fwk.QueueingHint, error) {
			if other, ok := ended.(*v1.Pod); ok && shares(other, pod) {
				return fwk.Queue, nil
			}
			return fwk.QueueSkip, nil
		},
	}}, nil
}

// SignPod says that pods of a pool are alike, so that not each of them has to be asked about.
func (p *plugin) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	return []fwk.SignFragment{{Key: PoolLabel, Value: pod.Labels[PoolLabel]}}, nil
}
