package command

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/replica"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
)

// newReplica is a scheduler in a pod, that runs nothing while it leads.
func newReplica(client kubernetes.Interface, pod string) *instance {
	leading := replica.Leading{Elect: true, Name: "narwhal-scheduler", Lease: 15 * time.Second, Renew: 10 * time.Second, Wait: 2 * time.Second}
	return &instance{
		settings:  &settings{configMaps: []string{"narwhal-config"}, leader: leading},
		namespace: "narwhal", pod: pod, log: zap.NewNop(), state: new(replica.Readiness), counts: shim.NewMetrics(),
		connect: func(float32, int) (kubernetes.Interface, error) { return client, nil },
	}
}

// A replica that waits is ready, and is not the one that the Service selects. When it leads, its pod is that one, and it
// begins with the configuration of that moment, whatever it was when the process was started.
func TestStandbyTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		configure := func(queues string) {
			one := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "narwhal", Name: "narwhal-config"}, Data: map[string]string{"queues.yaml": queues}}
			assert.NilError(t, client.Tracker().Update(v1.SchemeGroupVersion.WithResource("configmaps"), one, "narwhal"))
		}
		assert.NilError(t, client.Tracker().Add(&v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "narwhal", Name: "narwhal-config"}}))
		for _, name := range []string{"a", "b"} {
			of := map[string]string{"app": "narwhal-scheduler"}
			if name == "b" {
				of[replica.LeaderLabel] = "narwhal-scheduler" // its process led, ended and was started anew
			}
			assert.NilError(t, client.Tracker().Add(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "narwhal", Name: name, Labels: of}}))
		}
		selected := func() string {
			pods, err := client.CoreV1().Pods("narwhal").List(t.Context(), metav1.ListOptions{LabelSelector: "app=narwhal-scheduler," + replica.LeaderLabel})
			assert.NilError(t, err)
			var names []string
			for _, pod := range pods.Items {
				names = append(names, pod.Name)
			}
			return strings.Join(names, " ")
		}
		a, b := newReplica(client, "a"), newReplica(client, "b")
		wait := func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		}
		configure("partitions: [] # of the first day")
		first, stop := context.WithCancel(t.Context())
		results := make(chan error, 2)
		go func() { results <- a.lead(first, wait, nil) }()
		time.Sleep(time.Second)
		second, stopSecond := context.WithCancel(t.Context())
		go func() { results <- b.lead(second, wait, nil) }()
		time.Sleep(time.Minute)
		ready, waits := b.state.Get()
		assert.Assert(t, ready && waits == "waits for the lease", waits)
		assert.Equal(t, selected(), "a")

		configure("partitions: [] # of today")
		stop()
		assert.NilError(t, <-results)
		time.Sleep(10 * time.Second)
		assert.Equal(t, b.config.Queues, "partitions: [] # of today")
		assert.Equal(t, selected(), "b")
		stopSecond()
		assert.NilError(t, <-results)
	})
}
