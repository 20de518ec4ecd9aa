package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"k8s.io/utils/clock"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/evictors"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/usage"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
)

// TestWired: metrics, spans and the answers why a pod was evicted are those of the descheduler
// that runs.
func TestWired(t *testing.T) {
	complete(t)
	server := apiServer(t, []v1.Node{readyNode("a"), readyNode("b")}, duplicates())
	spans := tracetest.NewInMemoryExporter()
	var asked answering
	s, r, _ := newProcess(t, smallest+"profiles: [{plugins: {balance: {enabled: [RemoveDuplicates]}}}]\n", nil)
	r.how = &rest.Config{Host: server.URL}
	r.build = func(ctx context.Context, p *parts) (descheduling, error) {
		p.spans = sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
		p.answers = func(a answering) { asked = a }
		return build(ctx, p)
	}
	s.dryRun = true
	assert.NilError(t, s.run(t.Context(), r))
	assert.Equal(t, value(t, r.metrics, "descheduler_pods_evicted_total"), 2.0)
	count := map[string]int{}
	for _, span := range spans.GetSpans() {
		count[span.Name]++
	}
	assert.Equal(t, count["Cycle"], 1, "%v", count)
	assert.Equal(t, count["EvictPod"], 2, "%v", count)
	evicted := 0
	for i := range 4 {
		if strings.Contains(fmt.Sprint(asked.Why("shop", fmt.Sprint("web-", i))), "evicted from a") {
			evicted++
		}
	}
	assert.Equal(t, evicted, 2)
}

// TestInstallationIsTheLease: an installation is told apart from others by its lease, also where it asks for none.
func TestInstallationIsTheLease(t *testing.T) {
	complete(t)
	server, installation := apiServer(t, []v1.Node{readyNode("a")}, nil), ""
	s, r, _ := newProcess(t, smallest+"profiles: [{}]\n", nil)
	assert.NilError(t, s.flags.Parse([]string{"--leader-elect-resource-namespace=team", "--leader-elect-resource-name=mine"}))
	assert.NilError(t, r.file.registry.Register(framework.Definition{
		Name: "Looks", Points: []framework.Point{framework.Evict},
		New: func(context.Context, any, framework.Handle) (framework.Plugin, error) { return nil, nil },
		TakeBack: func(_ context.Context, h framework.Handle, _ func(framework.Asker) bool) error {
			installation = framework.InstallationOf(h)
			return nil
		},
	}))
	r.how, r.build = &rest.Config{Host: server.URL}, build
	assert.NilError(t, s.run(t.Context(), r))
	assert.Equal(t, installation, "team/mine")
}

// TestGated: the gate switches evictions in the background on, in a changed policy too.
func TestGated(t *testing.T) {
	complete(t)
	background := func(of string) bool {
		_, r, _ := newProcess(t, smallest+"profiles: [{}]\n", nil)
		var g gates
		assert.NilError(t, g.Set(of))
		return gated(r.policy, &g).Profiles[0].Args[evictors.EvictionName].(*evictors.EvictionArgs).Background
	}
	assert.Assert(t, background("EvictionsInBackground=true"))
	assert.Assert(t, !background("EvictionsInBackground=false"))
}

// queuesOf is a configuration with one queue, which is guaranteed so many processors.
func queuesOf(guaranteed string) string {
	return "partitions: [{name: default, queues: [{name: root, queues: [{name: a, resources: {guaranteed: {vcore: " + guaranteed + "}}}]}]}]"
}

// TestPlacesFollowQueues: each cycle reads the queues of the scheduler from the ConfigMap that the flags
// name. What is wrong there, or cannot be read, is told, and the queues before stay in use.
func TestPlacesFollowQueues(t *testing.T) {
	core, log := observer.New(zap.WarnLevel)
	s, _, _ := newProcess(t, smallest, nil)
	s.queues.namespace, s.queues.configMap = "here", "queues"
	client := fake.NewClientset()
	var refused error
	client.PrependReactor("get", "configmaps", func(ktesting.Action) (bool, runtime.Object, error) { return refused != nil, nil, refused })
	factory := informers.NewSharedInformerFactory(client, 0)
	maker, err := places{parts: &parts{settings: s, log: zap.New(core)}, client: client, factory: factory}.maker(t.Context())
	assert.NilError(t, err)
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	factory.WaitForCacheSync(t.Context().Done())
	pod := duplicates()[0]
	pod.Spec.SchedulerName, pod.Labels = "narwhal", map[string]string{"applicationId": "app", "queue": "root.a"}
	node := readyNode("a")
	guaranteed := func() int64 {
		t.Helper()
		l, err := maker(framework.NewSnapshot(framework.Objects{Nodes: []*v1.Node{&node}, Pods: []*v1.Pod{&pod}}, time.Now()))
		assert.NilError(t, err)
		share, _ := l.(framework.Queues).ShareOf(&pod)
		return share.Guaranteed
	}
	put := func(text string) {
		t.Helper()
		one := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "here", Name: "queues"}, Data: map[string]string{"queues.yaml": text}}
		_ = client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("configmaps"), "here", "queues") // there may be none
		assert.NilError(t, client.Tracker().Add(one))
	}
	assert.Equal(t, guaranteed(), int64(0)) // there is no ConfigMap
	put(queuesOf("4"))
	assert.Equal(t, guaranteed(), int64(4000))
	put(queuesOf("3"))
	assert.Equal(t, guaranteed(), int64(3000))
	assert.Equal(t, log.Len(), 0, "%v", log.All())

	put("partitions: 1")
	assert.Equal(t, guaranteed(), int64(3000))
	assert.Equal(t, log.Len(), 1)
	assert.Equal(t, log.TakeAll()[0].Message, "queues of the scheduler are wrong, those before are used")
	put(queuesOf("2"))
	refused = errors.New("no connection")
	assert.Equal(t, guaranteed(), int64(3000))
	assert.Equal(t, log.Len(), 1)
	assert.Equal(t, log.TakeAll()[0].Message, "queues of the scheduler cannot be read, those before are used")
	refused = nil
	assert.Equal(t, guaranteed(), int64(2000))
}

// landingWith is the landing of a process for a pod and a node, with queues.
func landingWith(t *testing.T, s *settings, pod *v1.Pod, node *v1.Node, queues string) framework.Landing {
	t.Helper()
	client := fake.NewClientset(&v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "here", Name: "queues"}, Data: map[string]string{"queues.yaml": queues},
	})
	s.queues.namespace, s.queues.configMap = "here", "queues"
	factory := informers.NewSharedInformerFactory(client, 0)
	maker, err := places{parts: &parts{settings: s, log: zap.NewNop()}, client: client, factory: factory}.maker(t.Context())
	assert.NilError(t, err)
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	factory.WaitForCacheSync(t.Context().Done())
	l, err := maker(framework.NewSnapshot(framework.Objects{Nodes: []*v1.Node{node}, Pods: []*v1.Pod{pod}}, time.Now()))
	assert.NilError(t, err)
	return l
}

// TestDefaultQueue: where the scheduler has a default queue, pods that name none count for that.
func TestDefaultQueue(t *testing.T) {
	pod, node := duplicates()[0], readyNode("a")
	pod.Spec.SchedulerName, pod.Spec.NodeName = "narwhal", "a"
	s, _, _ := newProcess(t, smallest, nil)
	assert.NilError(t, s.flags.Parse([]string{"--default-queue=root.batch"}))
	l := landingWith(t, s, &pod, &node, "partitions: [{name: default, queues: [{name: root, queues: ["+
		"{name: default, resources: {guaranteed: {vcore: 1}}}, {name: batch, resources: {guaranteed: {vcore: 3}}}]}]}]")
	share, ok := l.(framework.Queues).ShareOf(&pod)
	assert.Assert(t, ok)
	assert.Equal(t, share.Queue, "root.batch")
}

// TestPlacesLikeYuniKorn: what queues leave out counts as the scheduler has it. Without an access list no user may submit with the
// profile, so nothing lands that comes anew.
func TestPlacesLikeYuniKorn(t *testing.T) {
	ended, node := duplicates()[0], readyNode("a")
	ended.Spec.SchedulerName, ended.Status.Phase = "narwhal", v1.PodFailed
	for _, like := range []bool{false, true} {
		s, _, _ := newProcess(t, smallest, nil)
		s.queues.likeYuniKorn = like
		l := landingWith(t, s, &ended, &node, "partitions: [{queues: [{name: root, queues: [{name: default}]}]}]")
		place, err := l.Place(&ended, framework.Choice{})
		if like {
			assert.ErrorContains(t, err, "user nobody may not submit to queue root.default")
			continue
		}
		assert.NilError(t, err)
		assert.Equal(t, place.Node, "a")
	}
}

// TestPlacesFollowMeasuredUse: where the profile of the scheduler has LoadAware, each cycle asks what nodes use. A policy without that
// source is told of, and nodes count by requests.
func TestPlacesFollowMeasuredUse(t *testing.T) {
	core, log := observer.New(zap.WarnLevel)
	s, _, _ := newProcess(t, smallest, nil)
	of, err := profile.Default()
	assert.NilError(t, err)
	client := fake.NewClientset()
	cycle := func() {
		t.Helper()
		s.queues.profile = of
		factory := informers.NewSharedInformerFactory(client, 0)
		maker, err := places{parts: &parts{settings: s, log: zap.New(core)}, client: client, factory: factory, clock: clock.RealClock{}}.maker(t.Context())
		assert.NilError(t, err)
		_, err = maker(framework.NewSnapshot(framework.Objects{}, time.Now()))
		assert.NilError(t, err)
	}
	cycle()
	assert.Equal(t, log.Len(), 0, "%v", log.All())
	of.Plugins.Score.Enabled = []config.Plugin{{Name: profile.LoadAware}}
	cycle()
	assert.Equal(t, log.Len(), 1)
	assert.Equal(t, log.All()[0].Message, "LoadAware of the scheduler cannot be known, and nodes count by requests")
	assert.Equal(t, log.All()[0].ContextMap()["error"], "the policy has no metrics providers")
}

// silentMaps is an API server that has nothing, and never answers about ConfigMaps.
type silentMaps struct{}

// RoundTrip implements http.RoundTripper.
func (silentMaps) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "/configmaps/") {
		return ft.Silent{}.RoundTrip(r)
	}
	return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Request: r}, nil
}

// TestQueuesThatCannotBeRead: an API server that never answers holds a cycle up for a while, which is
// told, and not for ever.
func TestQueuesThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, log := observer.New(zap.WarnLevel)
		s, _, _ := newProcess(t, smallest, nil)
		client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://silent", Transport: silentMaps{}})
		assert.NilError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		maker, err := places{parts: &parts{settings: s, log: zap.New(core)}, client: client, factory: informers.NewSharedInformerFactory(client, 0)}.maker(ctx)
		assert.NilError(t, err)
		began := time.Now()
		_, err = maker(framework.NewSnapshot(framework.Objects{}, began))
		assert.NilError(t, err)
		assert.Equal(t, time.Since(began), 10*time.Second)
		assert.Equal(t, log.Len(), 1)
		assert.Equal(t, log.All()[0].Message, "queues of the scheduler cannot be read, those before are used")
		cancel()
		time.Sleep(2 * time.Second) // in virtual time: filter plugins look for the end once in a second
	})
}

// TestMeasured: the sources of measured use are those that the policy names, and without any a
// plugin is told that there is none.
func TestMeasured(t *testing.T) {
	loads := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		loads[r.URL.Path]++
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/apis/metrics.k8s.io/v1beta1/nodes":
			assert.Check(t, json.NewEncoder(w).Encode(v1beta1.NodeMetricsList{TypeMeta: metav1.TypeMeta{APIVersion: "metrics.k8s.io/v1beta1", Kind: "NodeMetricsList"}, Items: []v1beta1.NodeMetrics{{
				ObjectMeta: metav1.ObjectMeta{Name: "a"}, Timestamp: metav1.Now(), Usage: v1.ResourceList{"cpu": resource.MustParse("3"), "memory": resource.MustParse("1Gi")},
			}}}))
		case "/apis/metrics.k8s.io/v1beta1/pods":
			assert.Check(t, json.NewEncoder(w).Encode(v1beta1.PodMetricsList{TypeMeta: metav1.TypeMeta{APIVersion: "metrics.k8s.io/v1beta1", Kind: "PodMetricsList"}}))
		case "/api/v1/query":
			fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"instance":"a"},"value":[`+
				strconv.FormatInt(time.Now().Unix(), 10)+`,"0.25"]}]}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	how := &rest.Config{Host: server.URL}
	of := func(text string) *usage.Sources {
		t.Helper()
		_, r, _ := newProcess(t, smallest+text, nil)
		sources, err := measured(how, fake.NewClientset(), r.policy, clock.RealClock{})
		assert.NilError(t, err)
		return sources
	}
	none := of("")
	assert.Assert(t, none.Usage() == nil)
	assert.NilError(t, none.Poll(t.Context()))

	nodes := of("metricsProviders: [{source: KubernetesMetrics}]\n")
	_, known := nodes.Usage().Node("a")
	assert.Assert(t, !known) // nothing was read yet
	assert.NilError(t, nodes.Poll(t.Context()))
	list, known := nodes.Usage().Node("a")
	assert.Assert(t, known)
	assert.Equal(t, list.Cpu().MilliValue(), int64(3000))
	_, err := nodes.Of(t.Context(), framework.UsageQuery{Source: framework.Prometheus, Query: "q"})
	assert.Error(t, err, "source Prometheus is none of the metrics providers of the policy")

	both := of("metricsProviders: [{source: Prometheus, prometheus: {url: '" + server.URL + "'}}, {source: KubernetesMetrics}]\n")
	asked, err := both.Of(t.Context(), framework.UsageQuery{Source: framework.Prometheus, Query: "q"})
	assert.NilError(t, err)
	list, known = asked.Node("a")
	assert.Assert(t, known)
	part := list[framework.MetricResource]
	assert.Equal(t, part.MilliValue(), int64(250))
	assert.NilError(t, both.Poll(t.Context()))
	assert.Equal(t, loads["/apis/metrics.k8s.io/v1beta1/nodes"], 2)
}
