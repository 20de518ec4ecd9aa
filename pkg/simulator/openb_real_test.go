package simulator_test

import (
	"os"
	"path/filepath"
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
