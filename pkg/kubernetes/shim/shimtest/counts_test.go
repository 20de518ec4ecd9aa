package shimtest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// TestRequestsForEachPod counts what a backlog costs the API server: one binding for each pod,
// and nothing is read or written beside it. Ten times as many pods cost ten times as much.
func TestRequestsForEachPod(t *testing.T) {
	for _, pods := range []int{200, 2000} {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{Feasibility: filters})
			for i := range 20 {
				m.Put(shimtest.NewNode(fmt.Sprint("node-", i), "cpu=32 memory=256Gi"))
			}
			for i := range pods {
				m.Put(shimtest.NewPod(fmt.Sprint("pod-", i), "cpu=100m memory=128Mi"))
			}
			m.Start()
			m.Advance(time.Minute)
			assert.Equal(t, m.API.Requests("bind"), pods)
			assert.Equal(t, m.API.Requests("get")+m.API.Requests("patch")+m.API.Requests("delete"), 0)
			assert.Equal(t, len(m.API.Bindings()), pods)
		})
	}
}

// TestRequestsOfARestart: with 110 pods on each node, none of those that run is asked about or
// changed, and one that waits is bound.
func TestRequestsOfARestart(t *testing.T) {
	const nodes, onEach = 100, 109
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Feasibility: filters})
		for i := range nodes {
			m.Put(shimtest.NewNode(fmt.Sprint("node-", i), "cpu=32 memory=256Gi"))
			for k := range onEach {
				m.Put(shimtest.NewPod(fmt.Sprint("pod-", i, "-", k), "cpu=100m memory=128Mi", shimtest.On(fmt.Sprint("node-", i))))
			}
		}
		for i := range nodes + 1 {
			m.Put(shimtest.NewPod(fmt.Sprint("waits-", i), "cpu=1"))
		}
		m.Start()
		m.Advance(10 * time.Second)
		assert.Equal(t, len(m.API.Bindings()), nodes) // one for each node, up to its 110 pods
		assert.Equal(t, m.API.Requests("bind"), nodes)
		assert.Equal(t, m.API.Requests("get")+m.API.Requests("delete"), 0)
		assert.Equal(t, m.Node("node-7").Allocations, onEach+1)
	})
}
