package shimtest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// ConfigMaps are followed: what changes there is in use at once, what is wrong is told and
// changes nothing.
func TestConfigMapsAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		maps := shim.ConfigMaps{Namespace: "narwhal", Names: []string{"defaults", "own"}}
		m := shimtest.New(t, shimtest.Options{Queues: oneQueue})
		read, problem, err := maps.Read(context.Background(), m.API)
		assert.NilError(t, err)
		assert.NilError(t, problem)
		assert.Equal(t, read.Queues, "")
		m.AddNode("node-1", "cpu=4")
		change := func(name, queues string) {
			t.Helper()
			one := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "narwhal", Name: name, UID: "uid"}, Data: map[string]string{"queues.yaml": queues}}
			client := m.API.CoreV1().ConfigMaps("narwhal")
			if _, err := client.Update(context.Background(), one, metav1.UpdateOptions{}); err != nil {
				_, err = client.Create(context.Background(), one, metav1.CreateOptions{})
				assert.NilError(t, err)
			}
			m.Advance(time.Second)
		}
		change("defaults", oneQueue)
		m.Start()
		assert.NilError(t, m.Follow(maps))
		m.AddPod("web", "cpu=1", shimtest.Queue("root.team"))
		assert.DeepEqual(t, m.Booked(), []string{})
		change("own", "partitions: [{name: default, queues: [{name: root, queues: [{name: team}]}]}]")
		assert.DeepEqual(t, m.Booked(), []string{"web node-1"})
		change("own", "nonsense")
		assert.Assert(t, strings.Contains(strings.Join(m.Events(), "\n"), "own ConfigurationRefused: "), "%q", m.Events())
		assert.DeepEqual(t, m.Booked(), []string{"web node-1"})
	})
}

// A configuration that is wrong when the scheduler starts does not end it: the queues that were in use before are. That is
// told, again and again and by a metric, until it is mended. A first configuration that is wrong is an error.
func TestWrongConfigurationAtTheStart(t *testing.T) {
	const team = "partitions: [{name: default, queues: [{name: root, queues: [{name: team}]}]}]"
	synctest.Test(t, func(t *testing.T) {
		maps := shim.ConfigMaps{Namespace: "narwhal", Names: []string{"defaults", "own"}}
		api := shimtest.NewAPI()
		write := func(queues string) {
			one := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "narwhal", Name: "own", UID: "uid"}, Data: map[string]string{"queues.yaml": queues}}
			client := api.CoreV1().ConfigMaps("narwhal")
			if _, err := client.Update(t.Context(), one, metav1.UpdateOptions{}); err != nil {
				_, err = client.Create(t.Context(), one, metav1.CreateOptions{})
				assert.NilError(t, err)
			}
		}
		metrics := shim.NewMetrics()
		start := func() (*shimtest.MockScheduler, error) {
			read, problem, err := maps.Read(t.Context(), api)
			assert.NilError(t, err)
			former, err := maps.InUse(t.Context(), api)
			assert.NilError(t, err)
			m := shimtest.New(t, shimtest.Options{API: api, Queues: read.Queues, Shim: shim.Options{Config: read, Problem: problem, Former: former, Metrics: metrics}})
			if err := m.StartFor(t.Context()); err != nil {
				return m, err
			}
			assert.NilError(t, m.Follow(maps))
			m.Settle()
			return m, nil
		}
		write("nonsense")
		_, err := start()
		assert.ErrorContains(t, err, "nonsense")
		write(team)
		m, err := start()
		assert.NilError(t, err)
		m.AddNode("node-1", "cpu=4")
		m.Stop()

		write("nonsense")
		m, err = start()
		assert.NilError(t, err)
		m.AddPod("web", "cpu=1", shimtest.Queue("root.team"))
		m.Advance(25 * time.Minute)
		assert.DeepEqual(t, m.Booked(), []string{"web node-1"})
		assert.Equal(t, gauge(t, metrics, "narwhal_configuration_refused"), 1.0)
		assert.Equal(t, strings.Count(strings.Join(m.Events(), "\n"), "own ConfigurationRefused: "), 3, "%q", m.Events())
		write(team)
		m.Advance(25 * time.Minute)
		assert.Equal(t, gauge(t, metrics, "narwhal_configuration_refused"), 0.0)
		assert.Equal(t, strings.Count(strings.Join(m.Events(), "\n"), "own ConfigurationRefused: "), 3, "%q", m.Events())
	})
}

// What is kept is what is read again, however large it is.
func TestLargeConfigurationIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		maps := shim.ConfigMaps{Namespace: "narwhal", Names: []string{"own"}}
		large := oneQueue + " # " + strings.Repeat("x", 600<<10)
		m := shimtest.New(t, shimtest.Options{Queues: large})
		m.Create(&v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "narwhal", Name: "own"}, Data: map[string]string{"queues.yaml": large}})
		m.Start()
		assert.NilError(t, m.Follow(maps))
		m.Settle()
		kept, err := maps.InUse(t.Context(), m.API)
		assert.NilError(t, err)
		assert.Assert(t, *kept == large)
	})
}

// gauge is the value of a metric without labels.
func gauge(t *testing.T, of prometheus.Collector, name string) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(of)
	families, err := registry.Gather()
	assert.NilError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// oneQueue has no rules of placement: an application goes to the queue that it asks for.
const oneQueue = "partitions: [{name: default, queues: [{name: root, queues: [{name: default}]}]}]"
