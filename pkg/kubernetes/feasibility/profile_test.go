package feasibility

import (
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
)

// The filters are those of the profile, with its arguments: one that is switched off refuses nothing, and nodes that
// all pods must have are the only ones.
func TestFiltersOfAProfile(t *testing.T) {
	of, err := profile.Default()
	assert.NilError(t, err)
	of.Plugins.Filter.Disabled = []config.Plugin{{Name: names.TaintToleration}}
	for i := range of.PluginConfig {
		if args, ok := of.PluginConfig[i].Args.(*config.NodeAffinityArgs); ok {
			args.AddedAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
				NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{
					Key: "pool", Operator: v1.NodeSelectorOpExists,
				}}}},
			}}
		}
	}
	c, _ := newChecker(t, Options{Profile: of})
	in, out := aNode("in", "zone-1", "pool=a"), aNode("out", "zone-1")
	in.Spec.Taints = []v1.Taint{{Key: "special", Effect: v1.TaintEffectNoSchedule}}
	c.SetNode(in)
	c.SetNode(out)
	pod := aPod("web")
	assert.NilError(t, c.Check(pod, "in"))
	assert.ErrorContains(t, c.Check(pod, "out"), "affinity")
}

// The score that kube-scheduler does not have is none of the filters, wherever a profile enables it.
func TestLoadAwareIsNoFilter(t *testing.T) {
	for _, point := range []string{"score", "multiPoint"} {
		of, _, err := profile.Read([]byte(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {`+point+`: {enabled: [{name: LoadAware}]}}
  pluginConfig: [{name: LoadAware, args: {usageThresholds: {cpu: 50}}}]
`), nil)
		assert.NilError(t, err)
		c, _ := newChecker(t, Options{Profile: of})
		c.SetNode(aNode("in", "zone-1"))
		assert.NilError(t, c.Check(aPod("web"), "in"))
	}
}
