package upstream

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/example"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// TestPluginOutOfTree: the example that upstream has for writers of plugins runs here, with its own
// arguments, defaults and validation, and with the filters and landings of this descheduler.
func TestPluginOutOfTree(t *testing.T) {
	registry := pluginregistry.NewRegistry()
	pluginregistry.Register(example.PluginName, example.New, &example.Example{}, &example.ExampleArgs{},
		example.ValidateExampleArgs, example.SetDefaults_Example, registry)
	d, err := Definition(example.PluginName, registry[example.PluginName])
	assert.NilError(t, err)
	assert.DeepEqual(t, d.Points, []framework.Point{framework.Deschedule})
	e := newEngine(t, d)

	_, _, err = policy.Load([]byte(policyOf("{}", "Example", `{regex: "(", maxAge: 1h}`, "deschedule")), e.registry, policy.Options{})
	assert.ErrorContains(t, err, "line 7:")
	w := &world{
		now: time.Now(), policy: policyOf("{}", "Example", `{regex: "^old", maxAge: 30m}`, "deschedule"),
		nodes: []*v1.Node{frameworktest.Node("n0", "cpu=8", ""), frameworktest.Node("n1", "cpu=8", "")},
		pods:  concat(several("old", "n0", 2, "1"), several("new", "n0", 1, "1"), several("older", "n1", 1, "1")),
	}
	w.pods[3].OwnerReferences = nil // no filter lets it go
	evicted, why := e.ours(w)
	assert.Equal(t, w.names(evicted), "old-n0-0, old-n0-1", "%v", why)

	_, err = Definition("None", pluginregistry.PluginUtilities{})
	assert.ErrorContains(t, err, `plugin "None" has no type that is known`)
}
