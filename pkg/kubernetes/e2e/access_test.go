package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/programs"
)

// TestAccess shows that roles count: a service account that has none may not list nodes. So
// the manifests of a scheduler can be tested here. kubectl sees the same.
func TestAccess(t *testing.T) {
	needControlPlane(t)
	w := NewWorld(t, KubeScheduler(kubeSchedulerName), Options{})
	w.AddNodes(1, "1", "1Gi")
	config, err := w.cluster.ConfigOf(w.ctx, namespace, "default")
	assert.NilError(t, err)
	client, err := kubernetes.NewForConfig(config)
	assert.NilError(t, err)
	_, err = client.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{})
	assert.Assert(t, apierrors.IsForbidden(err), "%v", err)

	kubectl, err := w.cluster.Program(programs.Kubectl)
	assert.NilError(t, err)
	run := func(kubeconfig string, arguments ...string) string {
		output, err := exec.CommandContext(w.ctx, kubectl, append(arguments, "--kubeconfig", kubeconfig)...).CombinedOutput()
		t.Logf("kubectl %s: %s (%v)", strings.Join(arguments, " "), output, err)
		return strings.TrimSpace(string(output))
	}
	administrator, err := w.cluster.Kubeconfig("test", w.cluster.Config())
	assert.NilError(t, err)
	account, err := w.cluster.Kubeconfig("account", config)
	assert.NilError(t, err)
	assert.Equal(t, run(account, "auth", "can-i", "list", "nodes"), "Warning: resource 'nodes' is not namespace scoped\n\nno")
	assert.Equal(t, run(administrator, "get", "nodes", "--output=name"), "node/node-1")
}

// TestKustomizationsAreApplied: the API server takes the manifests as they are.
func TestKustomizationsAreApplied(t *testing.T) {
	needControlPlane(t)
	w := NewWorld(t, KubeScheduler(kubeSchedulerName), Options{})
	assert.NilError(t, apply(w.cluster, filepath.Join(manifests, "namespace.yaml"))) // in which the rest would be
	for _, folder := range []string{manifests, deschedulerManifests} {
		assert.NilError(t, kubectlApply(w.cluster, "--kustomize", folder, "--dry-run=server"))
	}
}
