package shim

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func configMap(name string, data map[string]string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

func TestReadConfiguration(t *testing.T) {
	for _, c := range []struct {
		name string
		maps []*v1.ConfigMap
		want Configuration
		err  string
	}{
		{"none", nil, Configuration{Extra: map[string]string{}}, ""},
		{"one that is missing", []*v1.ConfigMap{nil}, Configuration{Extra: map[string]string{}}, ""},
		{
			"the later goes before the earlier",
			[]*v1.ConfigMap{
				configMap("defaults", map[string]string{"queues.yaml": "old", "log.level": "INFO", "event.trackingEnabled": "false"}),
				configMap("own", map[string]string{"queues.yaml": "new", "log.level": "DEBUG"}),
			},
			Configuration{Queues: "new", Extra: map[string]string{"log.level": "DEBUG", "event.trackingEnabled": "false"}},
			"",
		},
		{
			"another policy group",
			[]*v1.ConfigMap{configMap("own", map[string]string{"queues.yaml": "no", "team.yaml": "yes", "service.policyGroup": "team"})},
			Configuration{Queues: "yes", Extra: map[string]string{"service.policyGroup": "team"}},
			"",
		},
		{
			"settings of the shim",
			[]*v1.ConfigMap{configMap("own", map[string]string{
				"service.clusterId": "east", "service.volumeBindTimeout": "30s", "kubernetes.qps": "100", "kubernetes.burst": " 200\n",
				"service.enableConfigHotRefresh": "false", "service.disableGangScheduling": "true", "service.placeholderImage": "pause",
			})},
			Configuration{
				ClusterID: "east", VolumeTimeout: 30 * time.Second, QPS: 100, Burst: 200, Frozen: true, NoGangs: true, Image: "pause",
				Extra: map[string]string{
					"service.clusterId": "east", "service.volumeBindTimeout": "30s", "kubernetes.qps": "100", "kubernetes.burst": "200",
					"service.enableConfigHotRefresh": "false", "service.disableGangScheduling": "true", "service.placeholderImage": "pause",
				},
			},
			"",
		},
		{
			"settings without effect",
			[]*v1.ConfigMap{configMap("own", map[string]string{"service.schedulingInterval": "1s"})},
			Configuration{
				Extra:    map[string]string{"service.schedulingInterval": "1s"},
				Warnings: []string{"service.schedulingInterval has no effect: scheduling begins when something changes, not at intervals"},
			},
			"",
		},
		{
			"what is wrong is told, and the rest is read",
			[]*v1.ConfigMap{configMap("own", map[string]string{"queues.yaml": "yes", "kubernetes.qps": "-1", "service.volumeBindTimeout": "soon"})},
			Configuration{Queues: "yes", Extra: map[string]string{"kubernetes.qps": "-1", "service.volumeBindTimeout": "soon"}},
			"service.volumeBindTimeout: \"soon\" is no duration above zero\nkubernetes.qps: \"-1\" is no number above zero",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ReadConfiguration(c.maps...)
			assert.DeepEqual(t, got, c.want)
			if c.err == "" {
				assert.NilError(t, err)
			} else {
				assert.Error(t, err, c.err)
			}
		})
	}
}

// A large configuration may be packed, but not be a bomb.
func TestPackedConfiguration(t *testing.T) {
	pack := func(text string) *v1.ConfigMap {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, err := w.Write([]byte(text))
		assert.NilError(t, err)
		assert.NilError(t, w.Close())
		return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "own"}, BinaryData: map[string][]byte{"queues.yaml.gz": packed.Bytes()}}
	}
	got, err := ReadConfiguration(pack("partitions: []"))
	assert.NilError(t, err)
	assert.Equal(t, got.Queues, "partitions: []")
	_, err = ReadConfiguration(pack(strings.Repeat("x", 5<<20)))
	assert.ErrorContains(t, err, "larger than")
	_, err = ReadConfiguration(&v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "own"}, BinaryData: map[string][]byte{"queues.yaml.gz": []byte("plain")}})
	assert.ErrorContains(t, err, "queues.yaml.gz of ConfigMap own: unpacking")
}

// The queues in use are kept in a ConfigMap, which an API server takes up to a MiB: a large configuration is packed.
func TestQueuesInUseAreKept(t *testing.T) {
	for _, size := range []int{100, 500 << 10, 3 << 20} {
		client := fake.NewClientset()
		maps := ConfigMaps{Namespace: "narwhal", Names: []string{"config"}}
		queues := strings.Repeat("- name: leaf\n", size/13)
		for range 2 { // made, and written again
			assert.NilError(t, maps.keep(t.Context(), client, queues))
		}
		kept, err := client.CoreV1().ConfigMaps("narwhal").Get(t.Context(), "config-in-use", metav1.GetOptions{})
		assert.NilError(t, err)
		assert.Assert(t, kept.Size() < 1<<20, "%d bytes of %d", kept.Size(), size)
		got, err := maps.InUse(t.Context(), client)
		assert.NilError(t, err)
		assert.Assert(t, *got == queues)
	}
}
