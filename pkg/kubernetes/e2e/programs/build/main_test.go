package main

import (
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestMissingBuildsNothing: make test asks in this way on machines where nothing is built.
func TestMissingBuildsNothing(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	var said strings.Builder
	assert.NilError(t, run(t.Context(), true, &said))
	assert.Equal(t, said.String(), "etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl\n")
	left, err := os.ReadDir(cache)
	assert.NilError(t, err)
	assert.Equal(t, len(left), 0)
}
