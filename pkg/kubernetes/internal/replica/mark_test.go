package replica

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// A label that could not be written is tried again, until the process leads no more.
func TestLeaderIsMarkedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "narwhal", Name: "a"}})
		failures := 2
		client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			failures--
			return failures >= 0, nil, errors.New("the API server is down")
		})
		m := mark{client: client, pod: types.NamespacedName{Namespace: "narwhal", Name: "a"}, of: "narwhal-scheduler", log: zap.NewNop()}
		began := time.Now()
		m.lead(t.Context())
		assert.Equal(t, time.Since(began), 2*markPause)
		marked, known := m.marked(t.Context())
		assert.Assert(t, known)
		assert.DeepEqual(t, marked, []string{"a"})

		failures = 1000
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		m.lead(ctx)
		mark{client: client, log: zap.NewNop()}.lead(t.Context()) // outside of a cluster there is no pod
	})
}
