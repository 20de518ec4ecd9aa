package command

import (
	"bytes"
	"context"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// A writer is a plugin that writes by itself, whatever the descheduler is set to.
type writer struct {
	handle framework.Handle
	got    *[]error
}

func (writer) Name() string { return "Writer" }

func (w writer) Deschedule(ctx context.Context, _ []*v1.Node) *framework.Status {
	objects := w.handle.(framework.DynamicHandle).DynamicClient().Resource(v1.SchemeGroupVersion.WithResource("nodes"))
	*w.got = append(*w.got, w.handle.ClientSet().CoreV1().Nodes().Delete(ctx, "a", metav1.DeleteOptions{}), objects.Delete(ctx, "a", metav1.DeleteOptions{}))
	return nil
}

// TestPluginsCannotWriteInADryRun: neither client of a plugin sends anything that writes.
func TestPluginsCannotWriteInADryRun(t *testing.T) {
	complete(t)
	server := apiServer(t, []v1.Node{readyNode("a"), readyNode("b")}, nil)
	var got []error
	definition := framework.Definition{
		Name: "Writer", Points: []framework.Point{framework.Deschedule},
		New: func(_ context.Context, _ any, h framework.Handle) (framework.Plugin, error) {
			return writer{h, &got}, nil
		},
	}
	policy := written(t, "policy.yaml", smallest+"profiles: [{plugins: {deschedule: {enabled: [Writer]}}}]\n")
	var out bytes.Buffer
	code := Run(t.Context(), Streams{&out, &out}, []string{
		"--dry-run", "--policy-config-file", policy, "--kubeconfig", kubeconfigOf(t, server.URL),
	}, definition)
	assert.Equal(t, code, exitDone, out.String())
	assert.Equal(t, len(got), 2)
	for _, err := range got {
		assert.ErrorIs(t, err, descheduler.ErrDryRun)
	}
}
