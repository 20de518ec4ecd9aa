package shimtest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		m.Start()
		assert.NilError(t, m.Follow(maps))
		m.AddPod("web", "cpu=1", shimtest.Queue("root.team"))
		assert.DeepEqual(t, m.Booked(), []string{})

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
		assert.DeepEqual(t, m.Booked(), []string{})
		change("own", "partitions: [{name: default, queues: [{name: root, queues: [{name: team}]}]}]")
		assert.DeepEqual(t, m.Booked(), []string{"web node-1"})
		change("own", "nonsense")
		assert.Assert(t, strings.Contains(strings.Join(m.Events(), "\n"), "own ConfigurationRefused: "), "%q", m.Events())
		assert.DeepEqual(t, m.Booked(), []string{"web node-1"})
	})
}

// oneQueue has no rules of placement: an application goes to the queue that it asks for.
const oneQueue = "partitions: [{name: default, queues: [{name: root, queues: [{name: default}]}]}]"
