package simulator_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// TestOpenbWhole plays the published trace. The files are not part of this
// repository: NARWHAL_OPENB names the folder that has them.
func TestOpenbWhole(t *testing.T) {
	s, err := simulator.ReadOpenb(openbFile(t, "openb_node_list_all_node.csv"), openbFile(t, "openb_pod_list_default.csv"), nil)
	assert.NilError(t, err)
	assert.Equal(t, len(s.Nodes), 1523)
	assert.Equal(t, len(s.Trace), 8152)

	began := time.Now()
	r, err := simulator.Run(s, simulator.Options{Verify: true})
	assert.NilError(t, err)
	t.Logf("with every step verified: %s", time.Since(began))
	assert.Equal(t, r.Pods.Arrived, 8152)
	assert.Equal(t, r.Pods.Placed+r.Pods.GaveUp, 8152)
	assert.Equal(t, r.Pods.Running+r.Pods.Pending, 0)
	t.Logf("%+v %+v %+v", r.Pods, r.Waiting, r.GaveUp)
}

// openbFile is a file of the trace.
func openbFile(t *testing.T, name string) simulator.File {
	t.Helper()
	folder := os.Getenv("NARWHAL_OPENB")
	if folder == "" {
		t.Skip("the openb trace is not part of the repository; NARWHAL_OPENB=<folder with its files> runs this test")
	}
	f, err := os.Open(filepath.Join(folder, name))
	assert.NilError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return simulator.File{Name: name, Text: f}
}

// TestOpenbFilled fills the nodes of the trace with each order of nodes, and shows how much of
// the GPUs is used. The best that was published for the default list is 95.2 %.
func TestOpenbFilled(t *testing.T) {
	orders := []struct{ name, policy string }{
		{"fair", "{type: fair, resourceweights: {gpu: 1, vcore: 0.01}}"},
		{"binpacking", "{type: binpacking, resourceweights: {gpu: 1, vcore: 0.01}}"},
		{"devices", "{type: devices, devices: {gpu: 1000}}"},
	}
	for _, list := range []string{"default", "cpu250", "multigpu50"} {
		used := map[string]int64{}
		for _, order := range orders {
			for seed := range uint64(3) {
				text := "partitions: [{name: default, nodesortpolicy: " + order.policy + ", queues: [{name: root, queues: [{name: default}]}]}]"
				queues := simulator.File{Name: "queues.yaml", Text: strings.NewReader(text)}
				s, err := simulator.ReadOpenbToFill(openbFile(t, "openb_node_list_all_node.csv"), openbFile(t, "openb_pod_list_"+list+".csv"), &queues, seed+1)
				assert.NilError(t, err)
				r, err := simulator.Run(s, simulator.Options{})
				assert.NilError(t, err)
				gpu := r.Resources[slices.IndexFunc(r.Resources, func(u simulator.ResourceUse) bool { return u.Kind == "gpu" })]
				used[order.name] += gpu.Peak * 1000 / gpu.Capacity
				t.Logf("%-10s %-10s seed %d: %.2f %% of the GPUs are used, %d pods wait", list, order.name, seed+1, 100*float64(gpu.Peak)/float64(gpu.Capacity), r.Pods.Pending)
			}
		}
		assert.Assert(t, used["devices"] > used["binpacking"] && used["binpacking"] > used["fair"], "%s: %v", list, used)
		assert.Assert(t, list != "default" || used["devices"] > 3*952, "%v", used)
	}
}
