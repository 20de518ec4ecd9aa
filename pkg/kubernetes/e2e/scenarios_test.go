package e2e

import (
	"os"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/programs"
)

// A Scenario is played once with each scheduler, in a world of its own, and a second time
// with a scheduler that crashes in the middle, if it has a middle.
type Scenario struct {
	name    string
	play    func(*World)
	options Options
	middle  bool // it calls Middle
	short   bool // it is of the short form: together they show the whole chain

	withoutKube string // why it is not played with kube-scheduler, or nothing
}

var scenarios = []Scenario{
	{name: "deployment", play: deploymentRuns, middle: true},
	{name: "job", play: jobCompletes, middle: true},
	{name: "daemonset", play: daemonSetOnEveryNode, middle: true},
	{name: "daemonset-preempts", play: daemonSetPreempts, middle: true, short: true},
	{name: "preemption-respects-budgets", play: preemptionRespectsBudgets, middle: true},
	{name: "foreign-pod", play: foreignPodIsBooked, middle: true, short: true, withoutKube: "it does not show its books"},
	{name: "api-server-restart", play: apiServerRestarts},
	{name: "node-flap", play: nodeFlaps, options: Options{NodesCanFail: true}, middle: true},
	{name: "failing-binds", play: bindingsFail, middle: true},
	{name: "failing-node", play: bindingsToOneNodeFail, withoutKube: "it may try the same node for ever"},
	{name: "two-schedulers", play: twoSchedulers, options: Options{MayBeRefused: true}, middle: true},
	{name: "backlog", play: backlogAfterAPause, middle: true},
	{name: "full-cluster", play: fullClusterGetsRoom, middle: true},
	{name: "volumes", play: volumesAreBound, middle: true},
	{name: "devices", play: devicesAreClaimed, middle: true},
	{name: "stop", play: stopsInTheMiddle, withoutKube: "it does not wait for bindings that are under way"},
	{name: "plugin", play: pluginTellsTheTruth, withoutKube: "it has no plugin"},
	{name: "namespace-quota", play: namespaceHasQuota, middle: true, withoutKube: "it has no quotas of namespaces"},
	{name: "pod-groups", play: podGroupsStartWhole, options: Options{PodGroups: true}, middle: true, withoutKube: "its own gates for groups are off"},
	{name: "gang", play: gangRuns, middle: true, withoutKube: noTaskGroups},
	{name: "gang-timeout", play: gangsTimeOut, middle: true, withoutKube: noTaskGroups},
	{name: "gang-node-lost", play: gangLosesNodes, middle: true, withoutKube: noTaskGroups},
	{name: "gangs-compete", play: gangsCompete, middle: true, withoutKube: noTaskGroups},
	{name: "fewest-violations", play: preemptionViolatesFewest, middle: true},
	{name: "level-nodes", play: nodesAreLevelled, options: Options{Audit: true}, withoutKube: "it may run a replacement elsewhere than our core would"},
	{name: "duplicates", play: duplicatesAreSpread, options: Options{NodesCanFail: true}},
	{name: "node-problem", play: podsLeaveAProblem},
	{name: "migration", play: migrationGoesOn, options: Options{Audit: true}, withoutKube: "it keeps no places"},
}

const noTaskGroups = "it has no task groups"

// schedulers are those that scenarios are played with.
var schedulers = []Scheduler{KubeScheduler(kubeSchedulerName), Narwhal()}

// kubeSchedulerName is what pods get that ask for no scheduler.
const kubeSchedulerName = "default-scheduler"

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
	folder, err := programs.Here(".")
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
		return s.options, s.middle
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
					t.Run(s.name, func(t *testing.T) { play(t, s, scheduler, options) })
				}
			}
		})
	}
}

func play(t *testing.T, s Scenario, scheduler Scheduler, options Options) {
	if (testing.Short() || isShort()) && !s.short {
		t.Skip("not in the short form")
	}
	if scheduler.Name() == kubeSchedulerName && s.withoutKube != "" {
		t.Skipf("not with kube-scheduler: %s", s.withoutKube)
	}
	w := NewWorld(t, scheduler, options)
	s.play(w)
	w.CheckLaws()
}
