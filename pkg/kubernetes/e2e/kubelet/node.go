package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const leaseNamespace = corev1.NamespaceNodeLease

var one = *resource.NewQuantity(1, resource.DecimalSI)

// A Node is what a node of the cluster has. Kinds that it does not name are those of a
// real one: 110 pods.
type Node struct {
	Name     string
	Capacity corev1.ResourceList // all of it is allocatable
	Labels   map[string]string
	Taints   []corev1.Taint
}

// AddNode registers a node, which is ready at once.
func (k *Kubelets) AddNode(ctx context.Context, n Node) error {
	capacity := n.Capacity.DeepCopy()
	if _, ok := capacity[corev1.ResourcePods]; !ok {
		capacity[corev1.ResourcePods] = *resource.NewQuantity(110, resource.DecimalSI)
	}
	labels := map[string]string{
		corev1.LabelHostname:   n.Name,
		corev1.LabelOSStable:   "linux",
		corev1.LabelArchStable: "amd64",
	}
	maps.Copy(labels, n.Labels)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: labels},
		Spec:       corev1.NodeSpec{Taints: n.Taints},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Conditions:  ready(k.now()),
			Addresses:   []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: addressOfNodes}, {Type: corev1.NodeHostName, Address: n.Name}},
			NodeInfo:    corev1.NodeSystemInfo{KubeletVersion: "v1.36.3", OperatingSystem: "linux", Architecture: "amd64"},
		},
	}
	if _, err := k.options.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("node %s: %w", n.Name, err)
	}
	if k.options.LeaseEvery > 0 {
		return k.addLease(ctx, n.Name)
	}
	return nil
}

// Silence makes the kubelet of a node do nothing more, as a machine that hangs or is cut
// off: its lease runs out, and its pods neither start nor stop.
func (k *Kubelets) Silence(node string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.silent[node] = true
}

// Resume ends the silence of a node.
func (k *Kubelets) Resume(ctx context.Context, node string) error {
	k.mu.Lock()
	delete(k.silent, node)
	k.mu.Unlock()
	if err := k.report(ctx, node); err != nil {
		return err
	}
	if k.options.LeaseEvery > 0 {
		if err := k.renew(ctx, node); err != nil {
			return err
		}
	}
	for _, key := range k.residents.of(node) {
		k.queue.Add(key)
	}
	return nil
}

// report says that a node is ready.
func (k *Kubelets) report(ctx context.Context, node string) error {
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": ready(k.now())}})
	if err != nil {
		return fmt.Errorf("status of node %s: %w", node, err)
	}
	_, err = k.options.Client.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("status of node %s: %w", node, err)
	}
	return nil
}

func ready(now time.Time) []corev1.NodeCondition {
	at := metav1.NewTime(now)
	all := []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"},
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID"},
	}
	for i := range all {
		all[i].LastHeartbeatTime, all[i].LastTransitionTime = at, at
	}
	return all
}

func (k *Kubelets) addLease(ctx context.Context, node string) error {
	k.mu.Lock()
	k.leased = append(k.leased, node)
	k.mu.Unlock()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: node, Namespace: leaseNamespace},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       new(node),
			LeaseDurationSeconds: new(int32(40)),
			RenewTime:            new(metav1.NewMicroTime(k.now())),
		},
	}
	if _, err := k.options.Client.CoordinationV1().Leases(leaseNamespace).Create(ctx, lease, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("lease of node %s: %w", node, err)
	}
	return nil
}

// renewAll renews the leases of all nodes that are not silent.
func (k *Kubelets) renewAll(ctx context.Context) {
	k.mu.Lock()
	var nodes []string
	for _, node := range k.leased {
		if !k.silent[node] {
			nodes = append(nodes, node)
		}
	}
	k.mu.Unlock()
	for _, node := range nodes {
		if err := k.renew(ctx, node); err != nil {
			k.options.Log.Warn("a lease is not renewed", "node", node, "error", err)
		}
	}
}

func (k *Kubelets) renew(ctx context.Context, node string) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"renewTime": metav1.NewMicroTime(k.now())}})
	if err != nil {
		return fmt.Errorf("lease of node %s: %w", node, err)
	}
	_, err = k.options.Client.CoordinationV1().Leases(leaseNamespace).Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("lease of node %s: %w", node, err)
	}
	return nil
}
