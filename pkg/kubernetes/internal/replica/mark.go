package replica

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// LeaderLabel is on the pod of the replica that leads, with the name of its lease. The Service selects by it: all replicas
// are ready, and those that wait have nothing to offer.
const LeaderLabel = "narwhal-scheduler.io/leader"

// markPause is the pause after which a label is tried again that could not be written.
const markPause = 10 * time.Second

// A mark writes the label. What it cannot write is in the log: the work goes on without it.
type mark struct {
	client kubernetes.Interface
	pod    types.NamespacedName // of this process; without a name it is no pod
	of     string               // the lease
	log    *zap.Logger
}

// lead marks this pod, and no other one any more. It tries until that is done, or the context ends.
func (m mark) lead(ctx context.Context) {
	for m.pod.Name != "" && !m.set(ctx) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(markPause):
		}
	}
}

// set marks this pod, and no other one any more: the one that led before may be on a node that is lost. It reports whether
// all of that is done.
func (m mark) set(ctx context.Context) bool {
	others, done := m.marked(ctx)
	for _, name := range others {
		if name != m.pod.Name {
			done = m.write(ctx, name, nil) && done
		}
	}
	return m.write(ctx, m.pod.Name, &m.of) && done
}

// clear takes the mark from this pod, which has it if its process ended while it led, and was started anew.
func (m mark) clear(ctx context.Context) {
	if m.pod.Name == "" {
		return
	}
	if marked, _ := m.marked(ctx); slices.Contains(marked, m.pod.Name) {
		m.write(ctx, m.pod.Name, nil)
	}
}

// marked are the names of the pods that have the mark, if they are known.
func (m mark) marked(ctx context.Context) (names []string, known bool) {
	selector := labels.SelectorFromSet(labels.Set{LeaderLabel: m.of}).String()
	found, err := m.client.CoreV1().Pods(m.pod.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		m.log.Warn("it is not known which pod is marked as the leader", zap.Error(err))
		return nil, false
	}
	for _, pod := range found.Items {
		names = append(names, pod.Name)
	}
	return names, true
}

// write gives a pod the label, or takes it away. A pod that is gone has none.
func (m mark) write(ctx context.Context, pod string, value *string) bool {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{LeaderLabel: value}}})
	if err == nil {
		_, err = m.client.CoreV1().Pods(m.pod.Namespace).Patch(ctx, pod, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil && (value != nil || !apierrors.IsNotFound(err)) {
		m.log.Warn("the label of the leader is not written", zap.String("pod", m.pod.Namespace+"/"+pod), zap.Bool("leads", value != nil), zap.Error(err))
		return false
	}
	return true
}
