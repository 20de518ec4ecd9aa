package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetCreated makes a pod one that was created at a time, where the API server keeps it. The API server
// lets nothing write that; it and all that watch see a change of the pod.
func (c *Cluster) SetCreated(ctx context.Context, namespace, name string, at time.Time) error {
	for {
		pod, err := c.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("creation time of pod %s/%s: %w", namespace, name, err)
		}
		done, err := c.store(ctx, pod, at)
		if err != nil || done {
			return err
		}
	}
}

// store writes a pod with another creation time in its place, or reports that it has changed meanwhile.
func (c *Cluster) store(ctx context.Context, pod *corev1.Pod, created time.Time) (bool, error) {
	revision := pod.ResourceVersion
	pod = pod.DeepCopy()
	pod.APIVersion, pod.Kind, pod.ResourceVersion = "v1", "Pod", ""
	pod.CreationTimestamp = metav1.NewTime(created)
	value, err := json.Marshal(pod)
	if err != nil {
		return false, fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	key := []byte("/registry/pods/" + pod.Namespace + "/" + pod.Name)
	body, err := json.Marshal(map[string]any{ // bytes become base64, which etcd wants
		"compare": []any{map[string]any{"key": key, "target": "MOD", "result": "EQUAL", "mod_revision": revision}},
		"success": []any{map[string]any{"request_put": map[string]any{"key": key, "value": value}}},
	})
	if err != nil {
		return false, fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.etcdURL+"/v3/kv/txn", bytes.NewReader(body))
	if err != nil {
		return false, fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, fmt.Errorf("pod %s: etcd: %w", pod.Name, err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct{ Succeeded bool }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusOK {
		return false, fmt.Errorf("pod %s: etcd answers %s: %w", pod.Name, response.Status, err)
	}
	return answer.Succeeded, nil
}
