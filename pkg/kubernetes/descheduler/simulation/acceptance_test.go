package simulation

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// acceptance names the tests that show each point of the list of what the descheduler must
// do: what is asked for, and the mistakes of others that are not repeated.
var acceptance = []struct{ point, tests string }{
	{"files of Kubernetes load, unknown keys are errors, all defaults are printed", "TestLoadsDeschedulerPolicy TestAllProblemsAtOnce TestProblems TestExamplePoliciesLoad TestValidate TestPrintedPolicyLoadsAgain"},
	{"files of Koordinator load", "TestLoadsDeschedulerConfiguration"},
	{"all extension points, and one evict plugin", "TestOrderOfPlugins TestProfilesThatCannotBeBuilt TestProblemsBeforeTheStart TestControllersRestart"},
	{"disabled takes defaults away", "TestDisabled TestMerged TestWarnings"},
	{"limits of a cycle, of a plugin, in flight, over time", "TestLimitsOfACycle TestLimitsInFlight TestRateOfAWorkloadSlides TestLimitsHoldForAnyPlugins TestClosedLoop"},
	{"plugins stop at a limit", "TestStopAfter TestLimitsEndQuestions TestLimits"},
	{"all plugins by name and arguments", "TestRegister TestArgumentsAsTheyAreWritten TestTableOfPlugins TestKeysAreInTheDocument"},
	{"the scheduler's core names a place, with this cycle counted", "TestBookingsHold TestBookCountsWhatWasBooked TestEvictionsHaveAPlace TestLandingIsBooked TestClosedLoop"},
	{"a second cycle proposes nothing", "TestLaws TestClosedLoop TestClustersThatFailed TestRenewedPodsAreMovedOnce TestLaterEvictionsMakeRoom TestRepeatedAtBalance TestAskedAgainAtMost"},
	{"equal input gives equal output", "TestClosedLoop TestLaws TestLimitsHoldForAnyPlugins"},
	{"ping-pong ends", "TestCoolDown TestCoolDownForgets TestCoolDownOnlyWhereItCameBack TestClosedLoop"},
	{"a dry run says what a cycle would do", "TestDryRunOfACluster TestDryRunRespectsBudgets TestDryRunPrintsReport TestReport TestEvictionsHaveAPlace"},
	{"a restart in the middle of a migration", "TestEndOfTheProcessAtEachWrite TestEndOfTheSchedulerInTheMiddle TestRandomHistories"},
	{"metrics, events and spans", "TestMetrics TestEvents TestSpans TestTracing"},
	{"why a pod was evicted or was not", "TestReport TestDeclined TestDecisionsAreBounded"},
	{"guarantees of queues and gangs are kept, over-used queues go first", "TestGuaranteesAreKept TestGangsStayWhole TestOverUsedQueuesGoFirst TestClosedLoop"},
	{"D-CFG-11 D-FW-3: names are there once", "TestProblems TestRegistryRefuses"},
	{"D-CFG-2 D-CFG-3 D-CFG-4 D-CFG-5 D-CFG-8 D-CFG-12: keys and their spellings, arguments without an entry", "TestAllProblemsAtOnce TestProblems TestDisabled TestLoadsDeschedulerPolicy"},
	{"D-CFG-7: nodes and pods are ordered by plugins", "TestOrderOfPlugins TestSort"},
	{"D-CFG-16: values that make no sense are found at the start", "TestValidateNamesAll TestValidateLoad TestValidate"},
	{"D-CYC-6: who leads", "TestCommandLine TestDryRunOfACluster"},
	{"D-EV-3: limits of a cycle begin anew", "TestLimitsStartAnew TestLimitsInFlight"},
	{"D-FW-1 D-FW-5: a plugin is built once for a profile, and plugins run in order", "TestOrderOfPlugins"},
	{"D-K-CFG-2: one evict plugin", "TestProblems TestProfilesThatCannotBeBuilt"},
	{"D-CFG-13: metrics providers", "TestProvidersThatAreWrong"},
	{"D-CFG-15: priority thresholds", "TestThresholdDoesNotDependOnSystemCriticalPods TestFilter"},
	{"D-FW-4: a plugin that fails stops no other", "TestFailuresAreContained TestPluginsCannotDisturbOthers TestHostilePlugin"},
	{"D-EV-5: a second call for a pod is free", "TestSecondCallIsFree"},
	{"D-BG-1 to D-BG-5: evictions in the background", "TestBackgroundEnds TestBackgroundAfterRestart TestNotBackground"},
	{"D-USE-1: measured use is smoothed", "TestNodesAreSmoothed"},
	{"D-USE-2: a query moves one pod of a node", "TestQueryMovesOnePod"},
	{"D-USE-3: tokens", "TestTokens"},
	{"D-SPR-1: the least important goes first", "TestSpreadTakesTheLeastImportant TestLeastImportantGoFirst"},
	{"D-SPR-2: pods that stay count too", "TestSpreadCountsAllPods"},
	{"D-SPR-3: constraints are looked at together", "TestSpreadSeesAllConstraints"},
	{"D-K-LNL-1: pools in order", "TestPoolsInOrder"},
	{"D-K-LNL-2: pods in production", "TestProductionMovesProduction"},
	{"D-K-LNL-5 D-K-LNL-6: the order of pods, and reasons with values", "TestCostsOrderPods TestProductionMovesProduction TestLoad"},
	{"D-K-LNL-3: the n-th observation acts", "TestDebounceActsAtTheNth TestDebounceCountsInARow"},
	{"D-K-LNL-4: without room nothing is forgotten", "TestNoRoomForgetsNothing"},
	{"D-K-PMJ-1: ways of eviction", "TestLabelsChooseTheWay"},
	{"D-K-PMJ-3: one job for a pod, which counts until it has ended", "TestOneJobForAPod TestMigratingClosedLoop"},
	{"D-K-PMJ-6: pods of other schedulers", "TestRefusals"},
	{"D-K-PMJ-2: the bucket refuses", "TestBucket"},
	{"D-K-PMJ-4: old jobs go", "TestScavenge"},
	{"D-K-PMJ-7: traps of reservations", "TestMigration TestEndedPodsNeedNoPlace TestMigratingClosedLoop TestPlaceIsKeptFromOthers TestTwoMigrationsOfOneWorkload TestMostOf"},
	{"a plugin out of tree", "TestPluginOutOfTree"},
	{"events trigger evictions, also of pods that are heard of late", "TestPodsLeaveAProblemAtOnce TestPodsThatAreHeardOfAfterTheProblem"},
	{"a cycle of a large cluster is fast", "TestQuestionsGrowWithWhatMoves TestRoomIsFoundWithFewLooks TestFewPodsAreLookedAtInADomain"},
	{"hostile clusters, API servers, clocks and policies", "TestAbsurdCluster TestAnswersForEver TestClockBackwards TestBounds TestHostilePlugin"},
	{"policies change without a restart", "TestReload TestReloadWhileRunning TestWrongPolicyIsNotUsed"},
}

// testsThere are the names of all tests of the descheduler.
func testsThere(t *testing.T) map[string]bool {
	there := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	assert.NilError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range function.FindAllStringSubmatch(string(text), -1) {
			there[found[1]] = true
		}
		return err
	}))
	return there
}

// TestPairs says whether the tests exist that the document names for pairs of features.
func TestPairs(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/descheduler.md")
	assert.NilError(t, err)
	_, section, _ := strings.Cut(string(text), "\n## Pairs of features\n")
	section, _, _ = strings.Cut(section, "\n## ")
	there, named := testsThere(t), regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(section, -1)
	assert.Assert(t, len(named) > 40, "%d", len(named))
	for _, name := range named {
		assert.Check(t, there[name[1]], name[1])
	}
}

// TestAcceptance says whether the tests exist that show each point.
func TestAcceptance(t *testing.T) {
	there := testsThere(t)
	for _, a := range acceptance {
		for name := range strings.FieldsSeq(a.tests) {
			assert.Check(t, there[name], "%s: there is no %s", a.point, name)
		}
	}
}
