package usage

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/rest"
	metrics "k8s.io/metrics/pkg/client/clientset/versioned"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// TestMissingMetricsAPI: a poll that failed says what to do, and so does what is asked after it.
func TestMissingMetricsAPI(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusNotFound:           "the cluster has no API metrics.k8s.io; install metrics-server: the server could not find the requested resource (get nodes.metrics.k8s.io)",
		http.StatusServiceUnavailable: "the API metrics.k8s.io does not answer; look whether metrics-server runs: ",
		http.StatusForbidden:          "this program may not read them; its ClusterRole needs get and list of nodes and pods of metrics.k8s.io: ",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		client, err := metrics.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
		assert.NilError(t, err)
		s, err := New(Options{Providers: []Provider{{Source: framework.KubernetesMetrics}}, Metrics: client, Clock: newServer(t).clock})
		assert.NilError(t, err)
		assert.ErrorContains(t, s.Poll(t.Context()), "metrics of nodes: "+want)
		_, err = s.Of(t.Context(), framework.UsageQuery{Source: framework.KubernetesMetrics})
		assert.ErrorContains(t, err, want)
		server.Close()
	}
}
