package profile_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/preferences"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
)

const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

// What has a meaning here is taken, and what has none is told with what has it in its place.
func TestRead(t *testing.T) {
	read, ignored, err := profile.Read([]byte(head+`
percentageOfNodesToScore: 20
leaderElection: {leaderElect: false}
profiles:
- schedulerName: other
- schedulerName: narwhal
  plugins:
    postFilter: {disabled: [{name: "*"}]}
    score:
      enabled: [{name: PodTopologySpread, weight: 5}, {name: ImageLocality, weight: 9}, {name: NodeResourcesBalancedAllocation, weight: 3}]
      disabled: [{name: TaintToleration}]
  pluginConfig:
  - name: PodTopologySpread
    args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway}]}
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 7}
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
`), []string{"narwhal"})
	assert.NilError(t, err)
	assert.Equal(t, strings.Join(ignored, "\n"), strings.TrimSpace(`
leaderElection: flags --leader-elect… say this
percentageOfNodesToScore: all nodes with room for a pod are compared
profile other: one profile is used, that of narwhal
plugins: postFilter: the queue configuration says what is preempted
pluginConfig: NodeResourcesFit: how resources score: the order of nodes of the partition (nodesortpolicy) says this, with the plugin's weight
plugins: score: NodeResourcesBalancedAllocation: the order of nodes of the partition (nodesortpolicy) says this
`))
	of := preferences.ProfileOf(read)
	assert.DeepEqual(t, of.Weights, preferences.Weights{Order: 1, NodeTaints: 0, NodeLabels: 2, Spread: 5, PodAffinity: 2, Images: 9, Devices: 2})
	assert.Equal(t, of.RequiredWeight, int64(7))
	assert.Equal(t, of.Constraints[0].TopologyKey, "rack")
}

// The only profile is meant, whatever its name. Nothing is told where nothing is left out.
func TestReadTheOnlyProfile(t *testing.T) {
	defaults, err := profile.Default()
	assert.NilError(t, err)
	for _, text := range []string{"", "profiles: [{schedulerName: other}]"} {
		read, ignored, err := profile.Read([]byte(head+text), []string{"narwhal"})
		assert.NilError(t, err)
		assert.DeepEqual(t, preferences.ProfileOf(read), preferences.ProfileOf(defaults))
		assert.Equal(t, len(ignored), 0, "%v", ignored)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ text, problem string }{
		{"kind: Pod", "apiVersion"},
		{head + "profilse: []", `unknown field "profilse"`},
		{head + "profiles: [{schedulerName: a}, {schedulerName: b}]", "profiles: there are those of a, b, and none of narwhal"},
		{head + "profiles: [{plugins: {filter: {enabled: [{name: Coscheduling}]}}}]", "plugins: Coscheduling is none of kube-scheduler's, and is not compiled in: there are DefaultBinder, "},
		{head + "extenders: [{urlPrefix: 'http://one', filterVerb: filter}]", "extenders: http://one is not asked; say ignorable: true"},
		{
			head + "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}}]}]",
			"default constraint on zone: DoNotSchedule is not kept",
		},
		{head + "parallelism: -1", "parallelism"},
	} {
		_, _, err := profile.Read([]byte(c.text), []string{"narwhal"})
		assert.ErrorContains(t, err, c.problem)
	}
}
