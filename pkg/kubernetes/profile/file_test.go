package profile_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
)

// What a file with the configuration of kube-scheduler says counts, and what of it has no meaning is logged. One that is
// wrong ends the program before it leads, with the name of the file.
func TestProfileFile(t *testing.T) {
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "config.yaml")
		assert.NilError(t, os.WriteFile(file, []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+text), 0o600))
		return file
	}
	core, seen := observer.New(zap.WarnLevel)
	read, err := profile.ReadFile(write("parallelism: 4"), []string{"narwhal"}, zap.New(core))
	assert.NilError(t, err)
	assert.Assert(t, read != nil)
	assert.Equal(t, seen.Len(), 1)
	assert.Equal(t, seen.All()[0].ContextMap()["part"], "parallelism: the filters run on as many goroutines as there are processors")

	_, err = profile.ReadFile(write("extenders: [{urlPrefix: 'http://one', filterVerb: filter}]"), nil, zap.NewNop())
	assert.ErrorContains(t, err, "config.yaml: extenders: http://one is not asked")
	read, err = profile.ReadFile("", nil, zap.NewNop())
	assert.Assert(t, read == nil && err == nil)
}
