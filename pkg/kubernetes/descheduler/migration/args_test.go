package migration_test

import (
	"math"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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
	args.EvictBurst, args.MaxUnavailablePerWorkload = -3, new(intstr.FromString("-10%"))
	args.MaxMigratingGlobally, args.MaxMigratingPerWorkload = new(-1), new(intstr.FromString("many"))
	args.SkipEvictionGates = []migration.Gate{"PDB"}
	args.EvictionPolicy = "Kill"
	args.DefaultJobTTL.Duration, args.ArbitrationArgs.Interval.Duration = -time.Second, 0
	args.Namespaces = &migration.Namespaces{Include: []string{"a"}, Exclude: []string{"b"}}
	args.PriorityThreshold = &migration.PriorityThreshold{Value: new(int32(2_000_000_001)), Name: "high"}
	args.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}
	args.NodeSelector = "a=b=c"
	err := args.Validate()
	for _, want := range []string{
		"maxConcurrentReconciles: must be above 0, not 0", "evictQPS: must be above 0, not 0", "evictBurst: must be above 0, not -3",
		"reservationImage: must not be empty", "schedulerNames: must not be empty where defaultJobMode is ReservationFirst",
		"maxMigratingGlobally: must be at least 0, not -1", "maxUnavailablePerWorkload: must be at least 0, not -10%",
		`maxMigratingPerWorkload: must be a number or a percentage, such as 2 or 10%, not "many"`, `skipEvictionGates[0]: "PDB" is not known, known here: MaxUnavailablePerWorkload, `,
		`evictionPolicy: "Kill" is none of`, "defaultJobTTL: must be at least 0s, not -1s", "arbitrationArgs.interval: must be above 0s, not 0s",
		"namespaces: only one of", "priorityThreshold: only one of", "priorityThreshold.value: must be at most 2000000000, not 2000000001", "labelSelector: ", "nodeSelector: ",
	} {
		assert.ErrorContains(t, err, want)
	}
	args = migration.NewArgs()
	args.SchedulerNames = []string{"narwhal", ""}
	assert.Error(t, args.Validate(), "schedulerNames[1]: must not be empty")
	args = migration.NewArgs()
	args.DefaultJobMode = "Later"
	assert.Error(t, args.Validate(), `defaultJobMode: "Later" is neither ReservationFirst nor EvictDirectly`)
}

// TestEvictQPS is a number or a text of one, as charts write it, and may be less than one.
func TestEvictQPS(t *testing.T) {
	for text, want := range map[string]migration.PerSecond{
		"10": 10, `"10"`: 10, "10.5": 10.5, `"0.5"`: 0.5, "0.00001": 0.00001, "1e6": 1e6,
	} {
		args := migration.NewArgs()
		assert.NilError(t, yaml.UnmarshalStrict([]byte("evictQPS: "+text), args), text)
		assert.NilError(t, args.Validate(), text)
		assert.Equal(t, args.EvictQPS, want)
	}
	for text, want := range map[string]string{
		`"x"`: "must be a number such as 10 or 0.5", `""`: "must be a number", "[1]": "must be a number", "true": "must be a number", `"NaN"`: "must be a number",
		`"Inf"`: "must be a number", `"1e400"`: "must be a number", `"0x10"`: "must be a number", `" 1"`: "must be a number",
		"0": "must be above 0, not 0", `"-1"`: "must be above 0, not -1", "-0.5": "must be above 0, not -0.5",
		"1e-9": "must be from 0.00001, about one a day, to 1000000, not 1e-09", "1000001": "must be from 0.00001, about one a day, to 1000000, not 1.000001e+06",
	} {
		args := migration.NewArgs()
		err := yaml.UnmarshalStrict([]byte("evictQPS: "+text), args)
		if err == nil {
			err = args.Validate()
		}
		assert.ErrorContains(t, err, want, text)
	}
	for _, absurd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		args := migration.NewArgs()
		args.EvictQPS = migration.PerSecond(absurd)
		assert.ErrorContains(t, args.Validate(), "evictQPS: must be ")
	}
}
