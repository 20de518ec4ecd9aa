package usage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metrics "k8s.io/metrics/pkg/client/clientset/versioned"
	"k8s.io/utils/clock"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// scale is by how much averages are finer than what is measured, so that they reach a
// value that does not change.
const scale = 1000

// mostMeasured bounds a measured value, so that no sum overflows: ten times it and times scale is a
// number.
const mostMeasured = int64(1) << 49

// nodeMetrics are the metrics of nodes, smoothed over polls.
type nodeMetrics struct {
	client metrics.Interface
	clock  clock.WithTicker

	mu     sync.Mutex
	polled bool
	failed error // of the last poll
	nodes  map[string]average
}

// An average is what a node uses, in thousandths of a unit and times scale.
type average struct {
	at          time.Time // of the measurement
	cpu, memory int64
}

// poll reads all nodes. A node that is not there any more is forgotten.
func (n *nodeMetrics) poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	list, err := n.client.MetricsV1beta1().NodeMetricses().List(ctx, metav1.ListOptions{})
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failed = explained(err); n.failed != nil {
		return n.failed
	}
	now := n.clock.Now()
	next := make(map[string]average, len(list.Items))
	for i := range list.Items {
		m := &list.Items[i]
		cpu, memory, ok := amounts(m.Usage)
		if !ok {
			continue
		}
		old, known := n.nodes[m.Name]
		// An average over a gap would be one of two times that have nothing in common.
		if !known || now.Sub(old.at) > MaxAge {
			old = average{cpu: cpu * scale, memory: memory * scale}
		}
		next[m.Name] = average{at: m.Timestamp.Time, cpu: smooth(old.cpu, cpu), memory: smooth(old.memory, memory)}
	}
	n.nodes, n.polled = next, true
	return nil
}

// explained is an error of the metrics API that says what to do where the cluster has none, or nothing
// that answers.
func explained(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("metrics of nodes: the cluster has no API metrics.k8s.io; install metrics-server: %w", err)
	case apierrors.IsServiceUnavailable(err):
		return fmt.Errorf("metrics of nodes: the API metrics.k8s.io does not answer; look whether metrics-server runs: %w", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("metrics of nodes: this program may not read them; its ClusterRole needs get and list of nodes and pods of metrics.k8s.io: %w", err)
	}
	return fmt.Errorf("metrics of nodes: %w", err)
}

// smooth is nine parts of the old average and one part of a new value.
func smooth(old, value int64) int64 { return (9*old + value*scale) / 10 }

// amounts are the cpu, in thousandths, and the memory of a list; false where one is
// missing.
func amounts(list v1.ResourceList) (cpu, memory int64, ok bool) {
	c, hasCPU := list[v1.ResourceCPU]
	m, hasMemory := list[v1.ResourceMemory]
	return min(max(pods.Milli(c), 0), mostMeasured), min(max(pods.Whole(m), 0), mostMeasured), hasCPU && hasMemory
}

func listOf(cpu, memory int64) v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(cpu, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
	}
}

// view is what is known now. Pods are listed when the first one is asked for.
func (n *nodeMetrics) view(ctx context.Context, maxAge time.Duration) (*metricsView, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case !n.polled && n.failed != nil:
		return nil, n.failed
	case !n.polled:
		return nil, errors.New("metrics of nodes have not been read yet")
	}
	return &metricsView{
		nodes: n.nodes, oldest: n.clock.Now().Add(-maxAge),
		pods: sync.OnceValue(func() map[types.NamespacedName]*v1beta1.PodMetrics { return n.pods(ctx) }),
	}, nil
}

// pods lists what all pods use. Without an answer no pod is known.
func (n *nodeMetrics) pods(ctx context.Context) map[types.NamespacedName]*v1beta1.PodMetrics {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	list, err := n.client.MetricsV1beta1().PodMetricses(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		klog.FromContext(ctx).Error(err, "Metrics of pods could not be read")
		return nil
	}
	pods := make(map[types.NamespacedName]*v1beta1.PodMetrics, len(list.Items))
	for i := range list.Items {
		pods[types.NamespacedName{Namespace: list.Items[i].Namespace, Name: list.Items[i].Name}] = &list.Items[i]
	}
	return pods
}

// A metricsView is one moment. What it says does not change.
type metricsView struct {
	nodes  map[string]average
	oldest time.Time
	pods   func() map[types.NamespacedName]*v1beta1.PodMetrics
}

// Node implements framework.Usage.
func (m *metricsView) Node(name string) (v1.ResourceList, bool) {
	a, ok := m.nodes[name]
	if !ok || a.at.Before(m.oldest) {
		return nil, false
	}
	return listOf(a.cpu/scale, a.memory/scale), true
}

// Pod implements framework.Usage.
func (m *metricsView) Pod(namespace, name string) (v1.ResourceList, bool) {
	pod := m.pods()[types.NamespacedName{Namespace: namespace, Name: name}]
	if pod == nil || pod.Timestamp.Time.Before(m.oldest) || len(pod.Containers) == 0 {
		return nil, false
	}
	var cpu, memory int64
	for _, c := range pod.Containers {
		containerCPU, containerMemory, ok := amounts(c.Usage)
		if !ok {
			return nil, false
		}
		cpu, memory = cpu+containerCPU, memory+containerMemory
	}
	return listOf(cpu, memory), true
}
