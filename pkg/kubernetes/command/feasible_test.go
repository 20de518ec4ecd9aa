package command

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/usage"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
)

// Prometheus is asked with the token of the secret that the profile names.
func TestPrometheusIsSentItsToken(t *testing.T) {
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.Header.Get("Authorization"):
		default:
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	of, _, err := profile.Read(fmt.Appendf(nil, `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {score: {enabled: [{name: LoadAware}]}}
  pluginConfig:
  - name: LoadAware
    args: {prometheus: {url: %q, query: q, authToken: {secretReference: {namespace: monitoring, name: token}}}}
`, server.URL), nil)
	assert.NilError(t, err)
	client := fake.NewClientset(&v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "monitoring", Name: "token"}, Data: map[string][]byte{usage.TokenKey: []byte("secret")},
	})
	scores, err := newPreferences(shim.NewFactory(client), of, nil)
	assert.NilError(t, err)
	assert.NilError(t, follow(t.Context(), scores, usage.Options{Client: client, Clock: clock.RealClock{}}))
	assert.Equal(t, <-asked, "Bearer secret")
}
