package usage

import (
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/rest"
	metrics "k8s.io/metrics/pkg/client/clientset/versioned"
	"k8s.io/utils/clock"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

// TestSourcesThatDoNotAnswer cost a bounded time, and say so.
func TestSourcesThatDoNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := metrics.NewForConfig(&rest.Config{Host: "http://silent", Transport: ft.Silent{}, QPS: -1})
		assert.NilError(t, err)
		s, err := New(Options{
			Providers: []Provider{{Source: framework.KubernetesMetrics}, {Source: framework.Prometheus, URL: "http://silent"}},
			Metrics:   client, Clock: clock.RealClock{}, Transport: ft.Silent{}, TokenFile: "none",
		})
		assert.NilError(t, err)
		for name, ask := range map[string]func() error{
			"Prometheus": func() error {
				_, err := s.Of(t.Context(), framework.UsageQuery{Source: framework.Prometheus, Query: "q"})
				return err
			},
			"nodes": func() error { return s.Poll(t.Context()) },
		} {
			began := time.Now()
			assert.ErrorContains(t, ask(), "context deadline exceeded", name)
			assert.Equal(t, time.Since(began), 30*time.Second, name)
		}
		began := time.Now()
		assert.Equal(t, len(s.nodes.pods(t.Context())), 0)
		assert.Equal(t, time.Since(began), 30*time.Second)
	})
}
