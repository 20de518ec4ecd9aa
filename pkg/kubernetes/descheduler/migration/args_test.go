package migration_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
)

// The defaults are those that are documented, and valid.
func TestDefaults(t *testing.T) {
	var registry framework.Registry
	assert.NilError(t, registry.Register(migration.Definition()))
	definition, _ := registry.Find("MigrationController")
	args := definition.Args().(*migration.Args)
	assert.NilError(t, definition.Validate(args))
	text, err := yaml.Marshal(args)
	assert.NilError(t, err)
	assert.Equal(t, string(text), `arbitrationArgs:
  enabled: true
  interval: 500ms
defaultJobMode: ReservationFirst
defaultJobTTL: 5m0s
dryRun: false
evictAllBarePods: false
evictBurst: 1
evictFailedBarePods: false
evictLocalStoragePods: false
evictQPS: 10
evictSystemCriticalPods: false
evictionPolicy: Eviction
ignorePvcPods: false
maxConcurrentReconciles: 1
maxMigratingPerNode: 2
nodeFit: false
objectLimiters:
  workload:
    duration: 5m0s
reservationImage: registry.k8s.io/pause:3.10
schedulerNames:
- narwhal
skipCheckExpectedReplicas: false
`)
}

// All that is wrong is told at once.
func TestValidate(t *testing.T) {
	args := migration.NewArgs()
	args.MaxConcurrentReconciles, args.EvictQPS, args.ReservationImage, args.SchedulerNames = 0, 0, "", nil
	args.MaxMigratingGlobally, args.MaxMigratingPerWorkload = ptr.To(-1), ptr.To(intstr.FromString("many"))
	args.SkipEvictionGates = []migration.Gate{"PDB"}
	args.EvictionPolicy = "Kill"
	args.DefaultJobTTL.Duration, args.ArbitrationArgs.Interval.Duration = -time.Second, 0
	args.Namespaces = &migration.Namespaces{Include: []string{"a"}, Exclude: []string{"b"}}
	args.PriorityThreshold = &migration.PriorityThreshold{Value: ptr.To[int32](2_000_000_001), Name: "high"}
	args.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}
	args.NodeSelector = "a=b=c"
	err := args.Validate()
	for _, want := range []string{
		"maxConcurrentReconciles: 0 is not above 0", "evictQPS and evictBurst are above 0", "reservationImage: an image is needed",
		"schedulerNames: without one there is no ReservationFirst", "maxMigratingGlobally: a limit is not negative",
		`maxMigratingPerWorkload: "many" is neither a number nor a percentage`, `skipEvictionGates: "PDB" is none of`,
		`evictionPolicy: "Kill" is none of`, "defaultJobTTL: it is not negative", "arbitrationArgs.interval: it is above 0",
		"namespaces: only one of", "priorityThreshold: only one of", "priorityThreshold: 2000000001 is above 2000000000", "labelSelector: ", "nodeSelector: ",
	} {
		assert.ErrorContains(t, err, want)
	}
	args = migration.NewArgs()
	args.DefaultJobMode = "Later"
	assert.Error(t, args.Validate(), `defaultJobMode: "Later" is neither ReservationFirst nor EvictDirectly`)
}
