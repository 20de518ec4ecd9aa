package pods_test

import (
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// Informers wrap an object whose end they missed. A pod, none, and what is no object are as they are.
func TestLastKnown(t *testing.T) {
	pod := &v1.Pod{}
	for _, said := range []any{pod, cache.DeletedFinalStateUnknown{Key: "default/web", Obj: pod}} {
		assert.Equal(t, pods.LastKnown(said), any(pod))
	}
	for _, said := range []any{nil, "web"} {
		assert.Equal(t, pods.LastKnown(said), said)
	}
}
