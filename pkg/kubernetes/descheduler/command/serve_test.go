package command

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/replica"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// certificate writes the certificate of a test and its key, and returns a pool that trusts it.
func certificate(t *testing.T) (cert, key string, trust *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	pair := s.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	assert.NilError(t, err)
	text := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	trust = x509.NewCertPool()
	trust.AddCert(s.Certificate())
	return written(t, "tls.crt", text("CERTIFICATE", pair.Certificate[0])), written(t, "tls.key", text("PRIVATE KEY", private)), trust
}

// With a certificate it is HTTPS, from TLS 1.2 on, and HTTP/2 where that is switched on.
func TestHTTPS(t *testing.T) {
	cert, key, trust := certificate(t)
	h := &page{state: new(replica.Readiness)}
	for _, c := range []struct {
		http2 bool
		proto string
	}{{false, "HTTP/1.1"}, {true, "HTTP/2.0"}} {
		port := freePort(t)
		s := serving{address: "127.0.0.1", port: port, cert: cert, key: key, http2: c.http2}
		server, err := s.start(h, zap.NewNop())
		assert.NilError(t, err)
		url := fmt.Sprintf("https://127.0.0.1:%d/healthz", port)
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}, ForceAttemptHTTP2: true}}
		answer, err := client.Get(url)
		assert.NilError(t, err)
		assert.NilError(t, answer.Body.Close())
		assert.Equal(t, answer.StatusCode, http.StatusOK)
		assert.Equal(t, answer.Proto, c.proto)
		old := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}}}
		_, err = old.Get(url)
		assert.ErrorContains(t, err, "protocol version")
		client.CloseIdleConnections()
		server.stop()
	}
	s := serving{address: "127.0.0.1", port: freePort(t), cert: cert, key: cert}
	_, err := s.start(h, zap.NewNop())
	assert.ErrorContains(t, err, "tls-cert-file: ")
}

// A certificate that is renewed in its files is served without a restart, one that is wrong is not, and both are logged.
func TestHTTPSFollowsTheFiles(t *testing.T) {
	cert, key, _ := certificate(t)
	good, err := os.ReadFile(cert)
	assert.NilError(t, err)
	s := serving{cert: cert, key: key}
	synctest.Test(t, func(t *testing.T) {
		core, log := observer.New(zap.InfoLevel)
		config, err := s.tls(zap.New(core))
		assert.NilError(t, err)
		served := func() *tls.Certificate {
			t.Helper()
			one, err := config.GetCertificate(nil)
			assert.NilError(t, err)
			return one
		}
		first := served()
		put := func(text []byte) {
			assert.NilError(t, os.WriteFile(cert, text, 0o600))
			time.Sleep(time.Second) // of the clock of the bubble
		}
		put(nil)
		assert.Equal(t, served(), first)
		put(append([]byte("renewed\n"), good...))
		assert.Assert(t, served() != first)
		assert.Equal(t, log.Len(), 2, "%v", log.All())
		assert.Equal(t, log.All()[0].Message, "the new certificate is wrong, that before is served")
		assert.Equal(t, log.All()[1].Message, "a new certificate is served")
	})
}

// The port of probes has no reports, and needs no certificate.
func TestProbePort(t *testing.T) {
	cert, key, _ := certificate(t)
	state := new(replica.Readiness)
	state.Stand("waits for the lease")
	s := serving{address: "127.0.0.1", port: freePort(t), probePort: freePort(t), cert: cert, key: key}
	server, err := s.start(&page{state: state, metrics: prometheus.NewRegistry()}, zap.NewNop())
	assert.NilError(t, err)
	defer server.stop()
	for path, status := range map[string]int{
		"/healthz": http.StatusOK, "/readyz": http.StatusOK, "/metrics": http.StatusOK, "/report": http.StatusNotFound, "/why/shop/web": http.StatusNotFound,
	} {
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", s.probePort, path))
		assert.NilError(t, err)
		body, err := io.ReadAll(answer.Body)
		assert.NilError(t, err)
		assert.NilError(t, answer.Body.Close())
		assert.Equal(t, answer.StatusCode, status, path)
		assert.Assert(t, status == http.StatusOK || strings.Contains(string(body), "page not found"), "%s: %s", path, body)
	}
	_, err = s.start(&page{state: state}, zap.NewNop())
	assert.ErrorContains(t, err, "bind-address: ")
	s.port = 0
	_, err = s.start(&page{state: state}, zap.NewNop())
	assert.ErrorContains(t, err, "probe-port: ")
}

// With a token reports need it, and what says nothing of pods does not.
func TestReportsNeedAToken(t *testing.T) {
	s := serving{token: written(t, "token", "secret\n")}
	admit, err := s.admits(nil)
	assert.NilError(t, err)
	p := &page{state: new(replica.Readiness), metrics: prometheus.NewRegistry(), admit: admit}
	p.reported(fakeReport("evicted"))
	get := func(path, header, value string) int {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set(header, value)
		p.handler().ServeHTTP(w, r)
		return w.Code
	}
	for _, path := range []string{"/report", "/why/shop/web"} {
		assert.Equal(t, get(path, "Authorization", ""), http.StatusUnauthorized, path)
		assert.Equal(t, get(path, "Authorization", "Bearer guess"), http.StatusUnauthorized, path)
	}
	assert.Equal(t, get("/report", "Authorization", "Bearer secret"), http.StatusOK)
	assert.Equal(t, get("/report", client.TokenHeader, "Bearer secret"), http.StatusOK) // through the API server, which keeps the other one
	assert.Equal(t, get("/metrics", "Authorization", ""), http.StatusOK)
	assert.Equal(t, get("/healthz", "Authorization", ""), http.StatusOK)

	s.token += "-missing"
	_, err = s.admits(nil)
	assert.ErrorContains(t, err, "token: ")
}

// The API server is asked whose token it is and what its user may read, by the path: of one namespace, for example.
func TestReportsByRoles(t *testing.T) {
	api := fake.NewClientset()
	api.PrependReactor("create", "tokenreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authentication.TokenReview).DeepCopy()
		review.Status = authentication.TokenReviewStatus{Authenticated: true, Audiences: review.Spec.Audiences, User: authentication.UserInfo{Username: review.Spec.Token}}
		return true, review, nil
	})
	api.PrependReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorization.SubjectAccessReview).DeepCopy()
		review.Status.Allowed = *review.Spec.NonResourceAttributes == authorization.NonResourceAttributes{Path: "/why/" + review.Spec.User + "/web", Verb: "get"}
		return true, review, nil
	})
	s := serving{kubernetes: true}
	admit, err := s.admits(api)
	assert.NilError(t, err)
	p := &page{state: new(replica.Readiness), admit: admit}
	get := func(path, header string) int {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Authorization", header)
		p.handler().ServeHTTP(w, r)
		return w.Code
	}
	for path, status := range map[string]int{"/report": http.StatusForbidden, "/why/other/web": http.StatusForbidden, "/why/shop/web": http.StatusServiceUnavailable} {
		assert.Equal(t, get(path, "Bearer shop"), status, path) // one that does not lead has no answer
	}
	asked := len(api.Actions())
	assert.Equal(t, get("/report", ""), http.StatusUnauthorized)
	assert.Equal(t, len(api.Actions()), asked, "nothing is asked about no token")
}

func freePort(t *testing.T) int {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	assert.NilError(t, free.Close())
	return free.Addr().(*net.TCPAddr).Port
}

// Every metric has a text that explains it. Names are those of the descheduler of Kubernetes where it
// has them; the two that it deprecated and doubled are not served.
func TestMetricsAreExplained(t *testing.T) {
	metrics := prometheus.NewPedanticRegistry()
	descheduler.NewMetrics(metrics)
	newFollower(&file{}, nil, metrics)
	described := make(chan *prometheus.Desc, 100)
	metrics.Describe(described)
	close(described)
	names := map[string]bool{}
	for d := range described {
		name, text, _ := strings.Cut(strings.TrimPrefix(d.String(), `Desc{fqName: "`), `"`)
		names[name] = true
		assert.Check(t, strings.Contains(text, `.", `), "%s: %s", name, text)
	}
	for _, name := range []string{"pods_evicted_total", "pods_evicted", "loop_duration_seconds", "strategy_duration_seconds", "build_info"} {
		assert.Check(t, names["descheduler_"+name], name)
	}
	assert.Equal(t, len(names), 16)
}
