package main

import (
	"context"
	"encoding/json"
	"slices"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// leaderLabel is on the pod of the replica that leads, with the name of its lease. The Service selects by it: all replicas
// are ready, and those that wait offer no REST.
const leaderLabel = "narwhal-scheduler.io/leader"

// A leaderMark writes the label. What it cannot write is in the log: scheduling goes on without it.
type leaderMark struct {
	client         kubernetes.Interface
	namespace, pod string // of this process; without a name it is no pod
	of             string // the lease
	log            *zap.Logger
}

// set marks this pod, and no other one any more: the one that led before may be on a node that is lost.
func (m leaderMark) set(ctx context.Context) {
	if m.pod == "" {
		return
	}
	for _, name := range m.marked(ctx) {
		if name != m.pod {
			m.write(ctx, name, nil)
		}
	}
	m.write(ctx, m.pod, &m.of)
}

// clear takes the mark from this pod, which has it if its process ended while it led, and was started anew.
func (m leaderMark) clear(ctx context.Context) {
	if m.pod != "" && slices.Contains(m.marked(ctx), m.pod) {
		m.write(ctx, m.pod, nil)
	}
}

// marked are the names of the pods that have the mark.
func (m leaderMark) marked(ctx context.Context) []string {
	selector := labels.SelectorFromSet(labels.Set{leaderLabel: m.of}).String()
	found, err := m.client.CoreV1().Pods(m.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		m.log.Warn("it is not known which pod is marked as the leader", zap.Error(err))
		return nil
	}
	names := make([]string, len(found.Items))
	for i, pod := range found.Items {
		names[i] = pod.Name
	}
	return names
}

// write gives a pod the label, or takes it away.
func (m leaderMark) write(ctx context.Context, pod string, value *string) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{leaderLabel: value}}})
	if err == nil {
		_, err = m.client.CoreV1().Pods(m.namespace).Patch(ctx, pod, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		m.log.Warn("the label of the leader is not written", zap.String("pod", m.namespace+"/"+pod), zap.Bool("leads", value != nil), zap.Error(err))
	}
}
