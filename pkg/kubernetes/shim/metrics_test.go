package shim

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"gotest.tools/v3/assert"
	coordination "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Requests of an instrumented client count by verb and code, and those that wait for their turn; the lease is renewed.
func TestRequestsAreCounted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	m := NewMetrics()
	config := &rest.Config{Host: server.URL, QPS: 1000, Burst: 10}
	m.Instrument(config)
	client, err := kubernetes.NewForConfig(config)
	assert.NilError(t, err)
	_, err = client.CoreV1().Pods("default").Get(t.Context(), "web", metav1.GetOptions{})
	assert.Assert(t, err != nil)
	_, err = client.CoordinationV1().Leases("default").Update(t.Context(), &coordination.Lease{ObjectMeta: metav1.ObjectMeta{Name: "lease"}}, metav1.UpdateOptions{})
	assert.NilError(t, err)
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	assert.NilError(t, err)
	seen := 0
	for _, f := range families {
		one := f.GetMetric()[0]
		switch f.GetName() {
		case "narwhal_api_request_seconds":
			assert.Equal(t, len(f.GetMetric()), 2)
			assert.Equal(t, one.GetLabel()[0].GetValue()+one.GetLabel()[1].GetValue(), "200PUT")
			seen++
		case "narwhal_api_throttled_seconds":
			assert.Equal(t, one.GetHistogram().GetSampleCount(), uint64(2))
			seen++
		case "narwhal_lease_renewed_timestamp_seconds":
			assert.Assert(t, one.GetGauge().GetValue() > 0)
			seen++
		}
	}
	assert.Equal(t, seen, 3)
}
