package command

import (
	"errors"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestDiscover is D-CYC-5: an API server without evictions of policy/v1 is an error, one that
// is more than three minor versions away a warning.
func TestDiscover(t *testing.T) {
	for _, c := range []struct {
		minor, client, evictions string
		err                      error
		warnings                 int
	}{
		{"36", "v0.36.3", "v1", nil, 0},
		{"33", "v0.36.3", "v1", nil, 0},
		{"32", "v0.36.3", "v1", nil, 1},
		{"40+", "v0.36.3", "v1", nil, 1},
		{"39+", "v0.36.3", "v1", nil, 0},
		{"old", "v0.36.3", "v1", nil, 0},
		{"1", "", "v1", nil, 0},
		{"36", "v0.36.3", "v1beta1", errNoEvictions, 0},
		{"36", "v0.36.3", "", nil, 1},
	} {
		server := &fakediscovery.FakeDiscovery{Fake: new(clienttesting.Fake), FakedServerVersion: &version.Info{Major: "1", Minor: c.minor}}
		if c.evictions != "" {
			server.Resources = []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
				{Name: "pods"}, {Name: "pods/eviction", Kind: "Eviction", Group: "policy", Version: c.evictions},
			}}}
		}
		core, log := observer.New(zap.WarnLevel)
		assert.Equal(t, discover(server, c.client, false, zap.New(core)), c.err, "%+v", c)
		assert.Equal(t, log.Len(), c.warnings, "%+v", c)
	}
}

// TestOneCycleNeedsAnAPIServer: without an interval the program does not wait for one.
func TestOneCycleNeedsAnAPIServer(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string // empty: it goes on
	}{
		"refuses the connection": {errors.New("connection refused"), "the API server cannot be asked: connection refused"},
		"does not know who asks": {apierrors.NewUnauthorized("who?"), "the API server cannot be asked: who?"},
		"hides its version":      {apierrors.NewForbidden(schema.GroupResource{}, "", nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			fails := new(clienttesting.Fake)
			fails.AddReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.err })
			server := &fakediscovery.FakeDiscovery{Fake: fails}
			if err := discover(server, "v0.36.3", true, zap.NewNop()); c.want != "" {
				assert.Error(t, err, c.want)
			} else {
				assert.NilError(t, err)
			}
			assert.NilError(t, discover(server, "v0.36.3", false, zap.NewNop()))
		})
	}
}
