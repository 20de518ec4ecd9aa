package plugins

import (
	"testing"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// written has arguments of each plugin as they stand in policies, with every key.
var written = map[string]string{
	"DefaultEvictor": `
kind: DefaultEvictorArgs
nodeSelector: pool=a
labelSelector: {matchLabels: {a: b}}
namespaceLabelSelector: {matchLabels: {a: b}}
priorityThreshold: {value: 10000}
nodeFit: true
minReplicas: 2
minPodAge: 5m
noEvictionPolicy: Mandatory
podProtections:
  defaultDisabled: [PodsWithLocalStorage, DaemonSetPods, SystemCriticalPods, FailedBarePods]
  extraEnabled: [PodsWithPVC, PodsWithoutPDB, PodsWithResourceClaims]
  config: {PodsWithPVC: {protectedStorageClasses: [{name: fast}]}}
evictLocalStoragePods: false
evictDaemonSetPods: false
evictSystemCriticalPods: false
ignorePvcPods: false
ignorePodsWithoutPDB: false
evictFailedBarePods: false
`,
	"PodLifeTime": `
maxPodLifeTimeSeconds: 86400
namespaces: {include: [batch]}
labelSelector: {matchLabels: {a: b}}
ownerKinds: {exclude: [Job]}
states: [Pending, CrashLoopBackOff, OOMKilled, OutOfcpu, ContainerStatusUnknown]
conditions: [{type: Ready, status: "False", reason: x, minTimeSinceLastTransitionSeconds: 60}]
exitCodes: [1, 137]
includingInitContainers: true
includingEphemeralContainers: true
`,
	"RemoveFailedPods": `
namespaces: {exclude: [kube-system]}
labelSelector: {matchLabels: {a: b}}
excludeOwnerKinds: [Job]
minPodLifetimeSeconds: 60
reasons: [NodeAffinity]
exitCodes: [1]
includingInitContainers: true
`,
	"RemovePodsHavingTooManyRestarts": `
namespaces: {include: [a]}
labelSelector: {matchLabels: {a: b}}
podRestartThreshold: 100
includingInitContainers: true
states: [Running, CrashLoopBackOff]
`,
	"RemovePodsViolatingInterPodAntiAffinity": "namespaces: {include: [a]}\nlabelSelector: {matchLabels: {a: b}}",
	"RemovePodsViolatingNodeAffinity": `
namespaces: {include: [a]}
labelSelector: {matchLabels: {a: b}}
nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution, preferredDuringSchedulingIgnoredDuringExecution]
`,
	"RemovePodsViolatingNodeTaints": `
namespaces: {include: [a]}
labelSelector: {matchLabels: {a: b}}
includePreferNoSchedule: true
excludedTaints: [dedicated=special, reserved]
`,
	"RemovePodsViolatingTopologySpreadConstraint": `
namespaces: {include: [a]}
labelSelector: {matchLabels: {a: b}}
constraints: [DoNotSchedule, ScheduleAnyway]
topologyBalanceNodeFit: false
`,
	"OpenRoom":         "namespaces: {include: [a]}\nwaitsFor: 10m",
	"RemoveDuplicates": "namespaces: {include: [a]}\nexcludeOwnerKinds: [ReplicaSet]",
	"LowNodeUtilization": `
thresholds: {cpu: 20, memory: 20.5, pods: 20}
targetThresholds: {cpu: 50, memory: 50, pods: 50}
useDeviationThresholds: false
numberOfNodes: 1
metricsUtilization: {source: KubernetesMetrics, metricsServer: false}
evictableNamespaces: {exclude: [kube-system]}
evictionLimits: {node: 5}
`,
	"HighNodeUtilization": `
thresholds: {cpu: 20, memory: 20}
numberOfNodes: 1
evictionModes: [OnlyThresholdingResources]
evictableNamespaces: {exclude: [kube-system]}
`,
	"LowNodeLoad": `
paused: false
dryRun: false
numberOfNodes: 1
nodeMetricExpirationSeconds: 60
evictableNamespaces: {exclude: [kube-system]}
nodeSelector: {matchLabels: {a: b}}
podSelectors: [{name: x, selector: {matchLabels: {a: b}}}]
nodeFit: true
useDeviationThresholds: false
lowThresholds: {cpu: 20, memory: 30}
highThresholds: {cpu: 50, memory: 60}
prodLowThresholds: {cpu: 20}
prodHighThresholds: {cpu: 50}
resourceWeights: {cpu: 2, memory: 1}
anomalyCondition: {timeout: 2m, consecutiveAbnormalities: 4, consecutiveNormalities: 2}
detectorCacheTimeout: 10m
nodePools: [{name: y, nodeSelector: {matchLabels: {c: d}}, lowThresholds: {cpu: 20}, highThresholds: {cpu: 50}}]
`,
}

// Arguments are read as users of the other projects write them, and a wrong key is an
// error.
func TestArgumentsAsTheyAreWritten(t *testing.T) {
	var registry framework.Registry
	assert.NilError(t, Register(&registry))
	for _, name := range registry.Names() {
		d, _ := registry.Find(name)
		if d.Args == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			args := d.Args()
			assert.Assert(t, written[name] != "")
			assert.NilError(t, yaml.UnmarshalStrict([]byte(written[name]), args))
			assert.NilError(t, d.Validate(args))
			printed, err := yaml.Marshal(args)
			assert.NilError(t, err)
			again := d.Args()
			assert.NilError(t, yaml.UnmarshalStrict(printed, again))
			assert.DeepEqual(t, again, args)
			assert.ErrorContains(t, yaml.UnmarshalStrict([]byte(written[name]+"\nthreshold: 3\n"), d.Args()), "threshold")
		})
	}
}
