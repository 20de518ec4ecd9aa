package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/programs"
)

// A Scenario is played once with each scheduler, in a world of its own, and a second time
// with a scheduler that crashes in the middle.
type Scenario struct {
	name    string
	play    func(*World)
	options Options
	short   bool // it is of the short form: together they show the whole chain

	release       string // the first release of Kubernetes that has what it needs, or nothing
	withoutMiddle string // why it does not call Middle, or nothing
	withoutKube   string // why it is not played with kube-scheduler, or nothing
}

var scenarios = []Scenario{
	{name: "first-hour", play: firstHour, options: Options{Shipped: true}},
	{name: "deployment", play: deploymentRuns},
	{name: "job", play: jobCompletes},
	{name: "daemonset", play: daemonSetOnEveryNode},
	{name: "daemonset-preempts", play: daemonSetPreempts, short: true},
	{name: "preemption-respects-budgets", play: preemptionRespectsBudgets},
	{name: "foreign-pod", play: foreignPodIsBooked, short: true, withoutKube: "it does not show its books"},
	{name: "resize", play: podsAreResizedInPlace, withoutKube: "it does not show its books"},
	{name: "resize-makes-room", play: resizeMakesRoom, withoutKube: "it makes no room for pods that run"},
	{name: "restart", play: restartTouchesNothing, withoutMiddle: "it crashes there, and starts again"},
	{name: "api-server-restart", play: apiServerRestarts},
	{name: "node-flap", play: nodeFlaps, options: Options{NodesCanFail: true}},
	{name: "failing-binds", play: bindingsFail},
	{name: "failing-node", play: bindingsToOneNodeFail, withoutKube: "it may try the same node for ever"},
	{name: "two-schedulers", play: twoSchedulers, options: Options{MayBeRefused: true}},
	{name: "backlog", play: backlogAfterAPause},
	{name: "zones", play: podsAreSpreadOverZones},
	{name: "autoscaler", play: autoscalersAreTold},
	{name: "full-cluster", play: fullClusterGetsRoom},
	{name: "volumes", play: volumesAreBound},
	{name: "devices", play: devicesAreClaimed, release: "1.34"},
	{name: "devices-freed", play: devicesAreFreed, release: "1.34", withoutKube: "it makes no room for devices"},
	{name: "stop", play: stopsInTheMiddle, withoutMiddle: "it stops there, and starts again", withoutKube: "it does not wait for bindings that are under way"},
	{name: "replicas", play: replicasTakeTurns, withoutMiddle: "a replica crashes there", withoutKube: "it reads no queues"},
	{name: "wrong-configuration", play: configurationIsWrong, withoutMiddle: "it starts again there", withoutKube: "it reads no queues"},
	{name: "compiled-in", play: compiledInPluginActs, options: Options{Plugin: true}, withoutKube: "it is the program of the example"},
	{name: "plugin", play: pluginTellsTheTruth, withoutKube: "it has no plugin"},
	{name: "namespace-quota", play: namespaceHasQuota, withoutKube: "it has no quotas of namespaces"},
	{name: "pod-groups", play: podGroupsStartWhole, options: Options{PodGroups: true}, withoutKube: "its own gates for groups are off"},
	{name: "pod-groups-live-on", play: podGroupsLiveOn, options: Options{PodGroups: true}, withoutKube: "its own gates for groups are off"},
	{name: "pod-groups-make-room", play: podGroupsMakeRoom, options: Options{PodGroups: true}, withoutKube: "its own gates for groups are off"},
	{name: "job-starts-whole", play: jobStartsWhole, options: Options{PodGroups: true}, withoutKube: "it makes no room for a whole job"},
	{name: "job-goes-on", play: jobGoesOn, options: Options{PodGroups: true}, withoutKube: "its own gates for groups are off"},
	{name: "replicas-start-whole", play: replicasStartWhole, options: Options{PodGroups: true}, release: "1.37", withoutKube: "its own gates for groups are off"},
	{name: "replicas-require-domains", play: replicasRequireDomains, options: Options{PodGroups: true}, release: "1.37", withoutKube: "its own gates for groups are off"},
	{name: "pod-groups-share-devices", play: podGroupsShareDevices, options: Options{PodGroups: true}, release: "1.36", withoutKube: "its own gates for groups are off"},
	{name: "pod-groups-free-devices", play: podGroupsMakeRoomForDevices, options: Options{PodGroups: true}, release: "1.36", withoutKube: "it makes no room for a whole group"},
	{name: "tenants", play: tenantsAttack, options: Options{Shipped: true, PodGroups: true}, withoutKube: "it has no queues to attack"},
	{name: "user-limit", play: usersHaveALimit, withoutKube: "it knows no users"},
	{name: "gang", play: gangRuns, short: true, withoutKube: noTaskGroups},
	{name: "gang-job", play: gangOfAJob, withoutKube: noTaskGroups},
	{name: "gang-timeout", play: gangsTimeOut, withoutKube: noTaskGroups},
	{name: "gang-node-lost", play: gangLosesNodes, withoutKube: noTaskGroups},
	{name: "gangs-compete", play: gangsCompete, withoutKube: noTaskGroups},
	{name: "chaos", play: chaos, withoutMiddle: "it crashes there", withoutKube: "it does not show its books"},
	{name: "fewest-violations", play: preemptionViolatesFewest},
	{name: "level-nodes", play: nodesAreLevelled, options: Options{Audit: true}, withoutMiddle: byDescheduler, withoutKube: "it may run a replacement elsewhere than our core would"},
	{name: "recipes", play: recipesAct, withoutMiddle: byDescheduler},
	{name: "node-problem", play: podsLeaveAProblem, withoutMiddle: byDescheduler},
	{name: "drain", play: nodeIsDrained, withoutMiddle: byDescheduler, withoutKube: noTaskGroups},
	{name: "migration", play: migrationGoesOn, options: Options{Audit: true}, withoutMiddle: byDescheduler, withoutKube: "it keeps no places"},
}

const (
	noTaskGroups  = "it has no task groups"
	byDescheduler = "it is about the descheduler"
)

// schedulers are those that scenarios are played with.
var schedulers = []Scheduler{KubeScheduler(kubeSchedulerName), Narwhal()}

// kubeSchedulerName is what pods get that ask for no scheduler.
const kubeSchedulerName = "default-scheduler"

// TestScenariosAreNamed keeps the table in the documents complete.
func TestScenariosAreNamed(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "kubernetes.md"))
	assert.NilError(t, err)
	for _, s := range scenarios {
		assert.Assert(t, strings.Contains(string(page), "`"+s.name+"`"), "docs/kubernetes.md does not name %s", s.name)
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if narwhalFolder != "" {
		os.RemoveAll(narwhalFolder)
	}
	os.Exit(code)
}

// isShort reports whether the short form is asked for, with narwhal-scheduler alone. make
// test does where the programs of a control plane are there.
func isShort() bool { return os.Getenv("E2E") == "short" }

// needControlPlane skips tests that need programs which are not there. With E2E, which make
// e2e sets, that is a failure: it must not pass because nothing was played. What calls it
// is not of the short form.
func needControlPlane(t *testing.T) {
	t.Helper()
	if isShort() {
		t.Skip("not in the short form")
	}
	needProgramsOfControlPlane(t)
}

func needProgramsOfControlPlane(t *testing.T) {
	t.Helper()
	folder, err := programs.Here(".", programs.Release())
	assert.NilError(t, err)
	missing := folder.Missing()
	switch asked := os.Getenv("E2E") != ""; {
	case asked && len(missing) > 0:
		t.Fatalf("%v: %v", missing, programs.ErrNotBuilt)
	case len(missing) > 0:
		t.Skipf("needs a real control plane, of which %v is %v", missing, programs.ErrNotBuilt)
	case !asked:
		t.Skip("needs minutes of a real control plane, which is started only if E2E is set: make e2e")
	}
}

// needRelease skips tests on a control plane of an older release.
func needRelease(t *testing.T, release string) {
	t.Helper()
	if played := programs.Release(); played < release {
		t.Skipf("it needs what Kubernetes %s has, and not %s", release, played)
	}
}

func TestScenarios(t *testing.T) {
	needProgramsOfControlPlane(t)
	playAll(t, func(s Scenario) (Options, bool) { return s.options, true })
}

// TestSchedulerRestarts plays the scenarios with a scheduler that crashes in the middle of
// each.
func TestSchedulerRestarts(t *testing.T) {
	needControlPlane(t)
	playAll(t, func(s Scenario) (Options, bool) {
		s.options.Restarts = true
		return s.options, s.withoutMiddle == ""
	})
}

func playAll(t *testing.T, with func(Scenario) (Options, bool)) {
	for _, scheduler := range schedulers {
		t.Run(scheduler.Name(), func(t *testing.T) {
			if missing := scheduler.Missing(); missing != "" {
				t.Skip(missing)
			}
			if isShort() && scheduler.Name() == kubeSchedulerName {
				t.Skip("not in the short form")
			}
			for _, s := range scenarios {
				if options, ok := with(s); ok {
					t.Run(s.name, func(t *testing.T) {
						t.Parallel() // most of the time they wait
						play(t, s, scheduler, options)
					})
				}
			}
		})
	}
}

func play(t *testing.T, s Scenario, scheduler Scheduler, options Options) {
	if (testing.Short() || isShort()) && !s.short {
		t.Skip("not in the short form")
	}
	if s.release != "" {
		needRelease(t, s.release)
	}
	if s.options.PodGroups {
		needRelease(t, "1.36")
	}
	if scheduler.Name() == kubeSchedulerName && s.withoutKube != "" {
		t.Skipf("not with kube-scheduler: %s", s.withoutKube)
	}
	options.Recorded = true
	w := NewWorld(t, scheduler, options)
	s.play(w)
	w.CheckLaws()
	w.checkRecordings()
	assert.Equal(t, w.middles > 0, s.withoutMiddle == "", "the table of scenarios is wrong about a middle")
}
