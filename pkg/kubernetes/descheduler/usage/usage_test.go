package usage

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metrics "k8s.io/metrics/pkg/client/clientset/versioned"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

// A server answers as the metrics API and as Prometheus do.
type server struct {
	t      *testing.T
	url    string
	client metrics.Interface
	clock  *clocktesting.FakeClock

	mu      sync.Mutex
	nodes   []v1beta1.NodeMetrics
	pods    []v1beta1.PodMetrics
	answer  string // of Prometheus
	fails   bool
	headers []string
	lists   map[string]int
	polls   chan struct{} // gets one for each list of nodes, where it is set
}

func newServer(t *testing.T) *server {
	s := &server{t: t, clock: clocktesting.NewFakeClock(ft.Now), lists: map[string]int{}}
	one := httptest.NewServer(s)
	t.Cleanup(one.Close)
	s.url = one.URL
	client, err := metrics.NewForConfig(&rest.Config{Host: one.URL, QPS: -1})
	assert.NilError(t, err)
	s.client = client
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.headers = append(s.headers, r.Header.Get("Authorization"))
	s.lists[r.URL.Path]++
	w.Header().Set("Content-Type", "application/json")
	kind := metav1.TypeMeta{APIVersion: "metrics.k8s.io/v1beta1", Kind: "NodeMetricsList"}
	switch {
	case s.fails:
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.URL.Path == "/apis/metrics.k8s.io/v1beta1/nodes":
		if s.polls != nil {
			s.polls <- struct{}{}
		}
		assert.Check(s.t, json.NewEncoder(w).Encode(v1beta1.NodeMetricsList{TypeMeta: kind, Items: s.nodes}))
	case r.URL.Path == "/apis/metrics.k8s.io/v1beta1/pods":
		kind.Kind = "PodMetricsList"
		assert.Check(s.t, json.NewEncoder(w).Encode(v1beta1.PodMetricsList{TypeMeta: kind, Items: s.pods}))
	default:
		fmt.Fprintf(w, `{"status":"success","data":%s}`, s.answer)
	}
}

func (s *server) set(change func(s *server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// node is what a node uses, measured now.
func (s *server) node(name, amounts string) v1beta1.NodeMetrics {
	return v1beta1.NodeMetrics{ObjectMeta: metav1.ObjectMeta{Name: name}, Timestamp: metav1.NewTime(s.clock.Now()), Usage: ft.Amounts(amounts)}
}

func (s *server) pod(name string, amounts ...string) v1beta1.PodMetrics {
	p := v1beta1.PodMetrics{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Timestamp: metav1.NewTime(s.clock.Now())}
	for _, a := range amounts {
		p.Containers = append(p.Containers, v1beta1.ContainerMetrics{Usage: ft.Amounts(a)})
	}
	return p
}

func (s *server) sources(providers ...Provider) *Sources {
	sources, err := New(Options{Providers: providers, Metrics: s.client, Clock: s.clock, TokenFile: filepath.Join(s.t.TempDir(), "none")})
	assert.NilError(s.t, err)
	return sources
}

func cpuOf(t *testing.T, u framework.Usage, node string) int64 {
	t.Helper()
	list, ok := u.Node(node)
	assert.Assert(t, ok)
	return list.Cpu().MilliValue()
}

// D-USE-1: nine parts of the old average and one part of the new value, in integers,
// and the average reaches a value that does not change.
func TestNodesAreSmoothed(t *testing.T) {
	s := newServer(t)
	sources := s.sources(Provider{Source: framework.KubernetesMetrics})
	s.nodes = []v1beta1.NodeMetrics{s.node("n1", "cpu=1 memory=1Gi")}
	assert.NilError(t, sources.Poll(t.Context()))
	assert.Equal(t, cpuOf(t, sources, "n1"), int64(1000))
	for _, want := range []int64{1100, 1190, 1271} {
		s.set(func(s *server) { s.nodes = []v1beta1.NodeMetrics{s.node("n1", "cpu=2 memory=1Gi")} })
		assert.NilError(t, sources.Poll(t.Context()))
		assert.Equal(t, cpuOf(t, sources, "n1"), want)
	}
	for range 150 {
		assert.NilError(t, sources.Poll(t.Context()))
	}
	assert.Assert(t, cpuOf(t, sources, "n1") >= 1999)
	list, _ := sources.Node("n1")
	assert.Equal(t, list.Memory().Value(), int64(1<<30))
}

func TestOldAndMissingValuesAreNotGivenOut(t *testing.T) {
	s := newServer(t)
	sources := s.sources(Provider{Source: framework.KubernetesMetrics})
	_, err := sources.Of(t.Context(), framework.UsageQuery{Source: framework.KubernetesMetrics})
	assert.ErrorContains(t, err, "not been read yet")
	_, ok := sources.Node("n1")
	assert.Assert(t, !ok)
	s.nodes = []v1beta1.NodeMetrics{s.node("n1", "cpu=1 memory=1Gi"), s.node("n2", "cpu=1")}
	s.pods = []v1beta1.PodMetrics{s.pod("p", "cpu=1 memory=1", "cpu=2 memory=2"), s.pod("q", "cpu=1"), s.pod("r")}
	assert.NilError(t, sources.Poll(t.Context()))
	view, err := sources.Of(t.Context(), framework.UsageQuery{Source: framework.KubernetesMetrics, MaxAge: time.Minute})
	assert.NilError(t, err)
	assert.Equal(t, cpuOf(t, view, "n1"), int64(1000))
	list, ok := view.Pod("a", "p")
	assert.Assert(t, ok)
	assert.Equal(t, list.Cpu().MilliValue(), int64(3000))
	assert.Equal(t, list.Memory().Value(), int64(3))
	for _, name := range []string{"q", "r", "unknown"} {
		_, ok = view.Pod("a", name)
		assert.Assert(t, !ok, name)
	}
	assert.Equal(t, s.lists["/apis/metrics.k8s.io/v1beta1/pods"], 1) // pods are listed once for a view
	_, ok = view.Node("n2")
	assert.Assert(t, !ok, "its memory is missing")

	s.clock.Step(time.Minute + time.Second)
	view, err = sources.Of(t.Context(), framework.UsageQuery{Source: framework.KubernetesMetrics, MaxAge: time.Minute})
	assert.NilError(t, err)
	_, ok = view.Node("n1")
	assert.Assert(t, !ok, "it is too old")
	_, ok = view.Pod("a", "p")
	assert.Assert(t, !ok, "it is too old")
	_, ok = sources.Node("n1") // with the age of the source
	assert.Assert(t, ok)

	// After a gap the average begins anew, and a node that is gone is forgotten.
	s.clock.Step(3 * time.Minute)
	s.set(func(s *server) { s.nodes = []v1beta1.NodeMetrics{s.node("n1", "cpu=3 memory=1Gi")} })
	assert.NilError(t, sources.Poll(t.Context()))
	assert.Equal(t, cpuOf(t, sources, "n1"), int64(3000))
	s.set(func(s *server) { s.nodes = nil })
	assert.NilError(t, sources.Poll(t.Context()))
	_, ok = sources.Node("n1")
	assert.Assert(t, !ok)

	s.set(func(s *server) { s.fails = true })
	assert.ErrorContains(t, sources.Poll(t.Context()), "metrics of nodes")
	_, ok = sources.Pod("a", "p")
	assert.Assert(t, !ok)
}

// A scheduler is told what nodes use and since when, and goes on being told the time while the source does not answer.
func TestFollow(t *testing.T) {
	s := newServer(t)
	began := s.clock.Now()
	s.nodes = []v1beta1.NodeMetrics{s.node("n2", "cpu=2 memory=1Gi"), s.node("n1", "cpu=1 memory=1Gi")}
	sources := s.sources(Provider{Source: framework.KubernetesMetrics})
	ctx, cancel := context.WithCancel(t.Context())
	told, ended := make(chan string), make(chan struct{})
	go func() {
		defer close(ended)
		sources.Follow(ctx, framework.UsageQuery{Source: framework.KubernetesMetrics}, func(now time.Time, measured []framework.Measurement) {
			text := fmt.Sprint(now.Sub(began), ":")
			for _, m := range measured {
				text += fmt.Sprintf(" %s %v at %v", m.Node, m.Use.Cpu(), m.At.Sub(began))
			}
			told <- text
		})
	}()
	assert.Equal(t, <-told, "0s: n1 1 at 0s n2 2 at 0s")
	s.set(func(s *server) { s.fails = true })
	s.clock.Step(PollInterval)
	assert.Equal(t, <-told, "5s:")
	s.set(func(s *server) { s.fails = false })
	s.clock.Step(PollInterval)
	assert.Equal(t, <-told, "10s: n1 1 at 0s n2 2 at 0s")
	cancel()
	<-ended
}

// What Prometheus answers is of the time of the query.
func TestMeasuredByPrometheus(t *testing.T) {
	s := newServer(t)
	sources := s.sources(Provider{Source: framework.Prometheus, URL: s.url})
	s.answer = fmt.Sprintf(`{"resultType":"vector","result":[{"metric":{"instance":"n1"},"value":[%d,"0.25"]}]}`, s.clock.Now().Unix())
	measured, err := sources.Measured(t.Context(), framework.UsageQuery{Source: framework.Prometheus, Query: "use"})
	assert.NilError(t, err)
	assert.Equal(t, len(measured), 1)
	assert.Equal(t, measured[0].Node, "n1")
	assert.Assert(t, measured[0].At.Equal(s.clock.Now()))
	part := measured[0].Use[framework.MetricResource]
	assert.Equal(t, part.MilliValue(), int64(250))
}

func TestPollsUntilTheEnd(t *testing.T) {
	s := newServer(t)
	sources := s.sources(Provider{Source: framework.KubernetesMetrics})
	ctx, cancel := context.WithCancel(t.Context())
	s.polls = make(chan struct{}, 1)
	ended := make(chan struct{})
	go func() {
		sources.Run(ctx)
		close(ended)
	}()
	for range 3 {
		<-s.polls
		s.clock.Step(PollInterval)
	}
	cancel()
	<-ended
	(*Sources)(nil).Run(ctx)
	assert.NilError(t, (*Sources)(nil).Poll(ctx))
	assert.Assert(t, (*Sources)(nil).Usage() == nil)
	assert.Assert(t, sources.Usage() != nil)
}

func vector(samples string) string { return `{"resultType":"vector","result":[` + samples + `]}` }

func sample(node, value string, at time.Time) string {
	return fmt.Sprintf(`{"metric":{"instance":%q},"value":[%d,%q]}`, node, at.Unix(), value)
}

// D-USE-2: a vector with the label instance and values between 0 and 1.
func TestPrometheus(t *testing.T) {
	s := newServer(t)
	sources := s.sources(Provider{Source: framework.Prometheus, URL: s.url})
	ask := func(answer string) (framework.Usage, error) {
		s.set(func(s *server) { s.answer = answer })
		return sources.Of(t.Context(), framework.UsageQuery{Source: framework.Prometheus, Query: "q"})
	}
	view, err := ask(vector(sample("n1", "0.4215", ft.Now) + "," + sample("n2", "1", ft.Now) + "," + sample("n3", "0.5", ft.Now.Add(-3*time.Minute-time.Second))))
	assert.NilError(t, err)
	list, ok := view.Node("n1")
	assert.Assert(t, ok)
	part := list[framework.MetricResource]
	assert.Equal(t, part.MilliValue(), int64(422))
	_, ok = view.Node("n3")
	assert.Assert(t, !ok, "it is too old")
	_, ok = view.Node("n4")
	assert.Assert(t, !ok)
	_, ok = view.Pod("a", "p")
	assert.Assert(t, !ok)
	for answer, want := range map[string]string{
		vector(sample("n1", "42", ft.Now)):                                    "the value 42 of instance n1 is not between 0 and 1",
		vector(sample("n1", "NaN", ft.Now)):                                   "is not between 0 and 1",
		vector(sample("n1", "-1", ft.Now)):                                    "is not between 0 and 1",
		vector(sample("", "0.1", ft.Now)):                                     "no label instance",
		vector(sample("n", "0.1", ft.Now) + "," + sample("n", "0.1", ft.Now)): "two samples of instance n",
		`{"resultType":"scalar","result":[1,"1"]}`:                            "is a scalar, and no vector",
	} {
		_, err := ask(answer)
		assert.ErrorContains(t, err, want)
	}
	s.set(func(s *server) { s.fails = true })
	_, err = ask("")
	assert.ErrorContains(t, err, `query "q"`)
	_, ok = sources.Node("n1")
	assert.Assert(t, !ok)
}

// D-USE-3: the token is read anew for each query: from the secret, or else from the
// file of the service account.
func TestTokens(t *testing.T) {
	s := newServer(t)
	s.answer = vector("")
	secret := &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "sys", Name: "prom"}, Data: map[string][]byte{TokenKey: []byte("one\n")}}
	client := fake.NewClientset(secret)
	file := filepath.Join(t.TempDir(), "token")
	ask := func(p Provider) error {
		p.Source, p.URL = framework.Prometheus, s.url
		sources, err := New(Options{Providers: []Provider{p}, Clock: s.clock, Client: client, TokenFile: file})
		assert.NilError(t, err)
		_, err = sources.Of(t.Context(), framework.UsageQuery{Source: framework.Prometheus, Query: "q"})
		return err
	}
	named := Provider{SecretNamespace: "sys", SecretName: "prom"}
	assert.NilError(t, ask(named))
	secret.Data[TokenKey] = []byte("two")
	_, err := client.CoreV1().Secrets("sys").Update(t.Context(), secret, metav1.UpdateOptions{})
	assert.NilError(t, err)
	assert.NilError(t, ask(named))
	assert.NilError(t, ask(Provider{})) // outside of a cluster
	assert.NilError(t, os.WriteFile(file, []byte("three\n"), 0o600))
	assert.NilError(t, ask(Provider{}))
	assert.DeepEqual(t, s.headers, []string{"Bearer one", "Bearer two", "", "Bearer three"})
	assert.ErrorContains(t, ask(Provider{SecretNamespace: "sys", SecretName: "no"}), "token for prometheus")
	delete(secret.Data, TokenKey)
	_, err = client.CoreV1().Secrets("sys").Update(t.Context(), secret, metav1.UpdateOptions{})
	assert.NilError(t, err)
	assert.ErrorContains(t, ask(named), "secret sys/prom has no prometheusAuthToken")
}

func TestProvidersThatAreWrong(t *testing.T) {
	kube, prom := Provider{Source: framework.KubernetesMetrics}, Provider{Source: framework.Prometheus, URL: "http://p"}
	_, err := New(Options{Providers: []Provider{kube, kube, prom, {Source: framework.Prometheus, URL: "p:x"}, {Source: "Graphite"}}})
	for _, part := range []string{"KubernetesMetrics is there twice", "Prometheus is there twice", `"p:x" is no URL`, `"Graphite" is neither`} {
		assert.ErrorContains(t, err, part)
	}
	none, err := New(Options{})
	assert.Assert(t, none == nil && err == nil)
	s := newServer(t)
	_, err = s.sources(kube).Of(t.Context(), framework.UsageQuery{Source: framework.Prometheus})
	assert.ErrorContains(t, err, "source Prometheus is none of the metrics providers")
}

// TestAbsurdMeasurements: what is beyond counting stays the most that is measured, and what is negative
// is nothing.
func TestAbsurdMeasurements(t *testing.T) {
	for text, want := range map[string]int64{"9E": mostMeasured, "100E": mostMeasured, "1P": mostMeasured, "-9E": 0, "0": 0} {
		cpu, memory, ok := amounts(ft.Amounts("cpu=" + text + " memory=" + text))
		assert.Assert(t, ok)
		assert.Equal(t, cpu, want, text)
		assert.Equal(t, memory, want, text)
		assert.Equal(t, smooth(cpu*scale, cpu), want*scale, text)
	}
}
