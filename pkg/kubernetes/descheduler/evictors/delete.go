package evictors

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// deletion is the plugin Delete. It is for clusters that do not serve evictions, and for
// pods whose budgets are wrong.
type deletion struct{ client kubernetes.Interface }

var _ framework.BudgetIgnorer = deletion{}

// Name implements framework.Plugin.
func (deletion) Name() string { return DeleteName }

// IgnoresBudgets implements framework.BudgetIgnorer.
func (deletion) IgnoresBudgets() bool { return true }

// EvictPod implements framework.EvictPlugin.
func (d deletion) EvictPod(ctx context.Context, pod *v1.Pod, options framework.EvictOptions) error {
	return read(d.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *about(pod, options)))
}
