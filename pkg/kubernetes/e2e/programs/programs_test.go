package programs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestFolderIsFoundFromBelow(t *testing.T) {
	folder, err := Here("build", OfModule)
	assert.NilError(t, err)
	assert.Assert(t, strings.HasSuffix(folder.tools, filepath.Join("pkg", "kubernetes", "e2e", "tools")), folder.tools)
	_, err = Here(t.TempDir(), OfModule)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// TestReleasesHaveTheirPrograms: each release that is played on has a module of its own version, and another folder.
func TestReleasesHaveTheirPrograms(t *testing.T) {
	seen := map[string]bool{}
	for release, version := range map[string]string{OfModule: "=v1.37.", "1.33": "=v1.33.", "1.36": "=v1.36."} {
		folder, err := Here(".", release)
		assert.NilError(t, err)
		assert.Assert(t, strings.Contains(strings.Join(folder.flags, " "), version), "%v", folder.flags)
		assert.Assert(t, !seen[folder.Path()])
		seen[folder.Path()] = true
	}
	_, err := Here(".", "1.20")
	assert.ErrorContains(t, err, "no 1.20.mod is in e2e/tools, which has releases 1.33, 1.36, 1.37")
}

// write makes a tools module for a test.
func write(t *testing.T, module, sums string) string {
	t.Helper()
	tools := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(tools, "go.mod"), []byte(module), 0o600))
	assert.NilError(t, os.WriteFile(filepath.Join(tools, "go.sum"), []byte(sums), 0o600))
	return tools
}

// TestFolderDependsOnSources: other requirements or other sums are another folder, so no
// program is ever stale.
func TestFolderDependsOnSources(t *testing.T) {
	path := func(module, sums string) string {
		folder, err := in("cache", write(t, module, sums), "go.mod")
		assert.NilError(t, err)
		return folder.Path()
	}
	first := path("require (\n\tk8s.io/kubernetes v1.36.3\n)\n", "a\n")
	assert.Equal(t, path("require (\n\tk8s.io/kubernetes v1.36.3\n)\n", "a\n"), first)
	assert.Assert(t, path("require (\n\tk8s.io/kubernetes v1.36.4\n)\n", "a\n") != first)
	assert.Assert(t, path("require (\n\tk8s.io/kubernetes v1.36.3\n)\n", "b\n") != first)
	_, err := in("cache", write(t, "module x\n", ""), "go.mod")
	assert.Error(t, err, "the tools module does not require k8s.io/kubernetes")
}

func TestWhatIsThereIsNotBuilt(t *testing.T) {
	folder, err := in(t.TempDir(), write(t, "\tk8s.io/kubernetes v1.36.3\n", ""), "go.mod")
	assert.NilError(t, err)
	assert.Equal(t, len(folder.Missing()), len(sources))
	_, err = folder.Find(Etcd)
	assert.ErrorIs(t, err, ErrNotBuilt)
	assert.Error(t, err, "etcd: not built, make e2e does it")

	assert.NilError(t, os.MkdirAll(folder.Path(), 0o755))
	for _, source := range sources {
		assert.NilError(t, os.WriteFile(filepath.Join(folder.Path(), source.name), nil, 0o700))
	}
	var output strings.Builder
	assert.NilError(t, folder.Build(t.Context(), &output)) // its go.mod could not be built
	assert.Equal(t, output.String(), "the control plane is in "+folder.Path()+"\n")
}

// TestFailedBuildLeavesNothing: the module is not one that Go can build.
func TestFailedBuildLeavesNothing(t *testing.T) {
	folder, err := in(t.TempDir(), write(t, "module x\nk8s.io/kubernetes v1.36.3\n", ""), "go.mod")
	assert.NilError(t, err)
	var output strings.Builder
	assert.ErrorContains(t, folder.Build(t.Context(), &output), "building etcd: exit status 1")
	entries, err := os.ReadDir(folder.Path())
	assert.NilError(t, err)
	assert.Equal(t, len(entries), 0)
}
