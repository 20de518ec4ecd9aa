// Package requests is an evictor as one outside of this project is written: it asks the owners of
// pods to move them, and evicts nothing itself.
//
//	func main() { os.Exit(command.Main(requests.Definition())) }
package requests

import (
	"context"
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// Name is the name of the plugin in policies.
const Name = "RequestMove"

// Asked is the annotation with which an owner is asked, and Movable the label of the pods of which it may be.
const (
	Asked   = "example.org/move"
	Movable = "example.org/movable"
)

// Definition is the plugin for a registry, at filter and evict.
func Definition() framework.Definition {
	return framework.Supplied(Name, func(_ context.Context, handle framework.Handle) (framework.Evictor, error) {
		return evictor{handle}, nil
	})
}

type evictor struct{ handle framework.Handle }

// Name implements framework.Plugin.
func (evictor) Name() string { return Name }

// Filter implements framework.Evictor.
func (evictor) Filter(pod *v1.Pod) bool { return pod.Labels[Movable] == "true" }

// Evict implements framework.Evictor.
func (e evictor) Evict(ctx context.Context, pod *v1.Pod, options framework.EvictOptions) bool {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "annotations": map[string]string{Asked: options.Reason},
	}})
	if err != nil {
		return false
	}
	_, err = e.handle.ClientSet().CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err == nil
}
