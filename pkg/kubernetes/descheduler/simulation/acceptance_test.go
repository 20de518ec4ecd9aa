package simulation

import (
	"fmt"
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
	{"files of Kubernetes load, unknown keys are errors, all defaults are printed", "TestLoadsDeschedulerPolicy TestAllProblemsAtOnce TestProblems TestExamplePoliciesLoad TestExamplesAct TestMigratingExamplesAct TestNodeProblemExampleActs TestValidate TestPrintedPolicyLoadsAgain"},
	{"files of Koordinator load", "TestLoadsDeschedulerConfiguration"},
	{"all extension points, and one evict plugin", "TestOrderOfPlugins TestProfilesThatCannotBeBuilt TestProblemsBeforeTheStart TestControllersRestart"},
	{"disabled takes defaults away", "TestDisabled TestMerged TestWarnings"},
	{"limits of a cycle, of a plugin, in flight, over time", "TestLimitsCountTheRealPlugin TestLimitsOfACycle TestLimitsOfPlugins TestLimitsInFlight TestRateOfAWorkloadSlides TestLimitsHoldForAnyPlugins TestClosedLoop"},
	{"plugins stop at a limit", "TestStopAfter TestLimitsEndQuestions TestLimits"},
	{"all plugins by name and arguments", "TestSeveralResources TestOnlySelectedPodsGo TestRegister TestArgumentsAsTheyAreWritten TestPluginsAreExplained TestKeysAreExplained"},
	{"the scheduler's core names a place, with this cycle counted", "TestControllersAtOnce TestPlacesAreHeldWhileAnEvictionIsAsked TestBookingsHold TestBookCountsWhatWasBooked TestAnswersDoNotDependOnQuestions TestEvictionsHaveAPlace TestLandingIsBooked TestClosedLoop"},
	{"plugins choose among the nodes of other schedulers, or where a place is reserved", "TestPluginsChoose TestReportOfAnotherLanding TestHotNodesCool"},
	{"a second cycle proposes nothing", "TestLaws TestClosedLoop TestClustersThatFailed TestRenewedPodsAreMovedOnce TestLaterEvictionsMakeRoom TestRepeatedAtBalance TestAskedAgainAtMost"},
	{"equal input gives equal output", "TestClosedLoop TestLaws TestLimitsHoldForAnyPlugins"},
	{"ping-pong ends", "TestCoolDown TestCoolDownForgets TestCoolDownOnlyWhereItCameBack TestClosedLoop"},
	{"a dry run says what a cycle would do", "TestDryRunOfACluster TestDryRunRespectsBudgets TestDryRunPrintsReport TestReport TestEvictionsHaveAPlace"},
	{"a restart in the middle of a migration", "TestEndOfTheProcessAtEachWrite TestEndOfTheSchedulerInTheMiddle TestRandomHistories"},
	{"metrics, events and spans", "TestMetrics TestFailuresAreCounted TestMetricsAreExplained TestEvents TestSpans TestTracing"},
	{"why a pod was evicted or was not, or a plugin does not answer", "TestPluginsThatHangAreTold TestLandingsThatHangAreTold TestReport TestDeclined TestDecisionsAreBounded"},
	{"guarantees of queues and gangs are kept, over-used queues go first", "TestGuaranteesAreKept TestGangsStayWhole TestOverUsedQueuesGoFirst TestClosedLoop"},
	{"a plugin out of tree", "TestPluginOutOfTree"},
	{"events trigger evictions, also of pods that are heard of late", "TestPodsLeaveAProblemAtOnce TestPodsThatAreHeardOfAfterTheProblem"},
	{"drains: opened by an event, within budgets, gangs whole, places reserved first, told, closed, after a restart, one after the other", "TestDrainOpensAndEnds TestDrainCordonsWhatIsOpen TestBudgetsWithoutABurst TestGangsLeaveTogetherOrNot TestGangsMigrateOneByOne TestDrainReservesFirst TestDrainWithoutAPlace TestDrainSaysWhatBlocksIt TestDrainEndsAtOnce TestDrainTakesJobsBack TestDrainAfterARestart TestDrainsOfSeveralNodes TestTenantsAndDrains TestNoTenantHoldsUpOtherNodes"},
	{"a cycle of a large cluster is fast", "TestQuestionsGrowWithWhatMoves TestRoomIsFoundWithFewLooks TestFewPodsAreLookedAtInADomain"},
	{"hostile clusters, API servers, clocks and policies", "TestAbsurdCluster TestAnswersForEver TestClockBackwards TestBounds TestHostilePlugin"},
	{"policies change without a restart", "TestReload TestReloadWhileRunning TestWrongPolicyIsNotUsed"},
}

// ofIDs names the tests that show each point which has an id.
var ofIDs = map[string]string{
	"D-CFG-1":   "TestLoadsDeschedulerPolicy",
	"D-CFG-2":   "TestAllProblemsAtOnce TestArgumentsAsTheyAreWritten",
	"D-CFG-3":   "TestAllProblemsAtOnce TestLenient",
	"D-CFG-4":   "TestLoadsDeschedulerPolicy TestProblems",
	"D-CFG-5":   "TestLoadsDeschedulerPolicy TestProblems",
	"D-CFG-6":   "TestDisabled TestMerged",
	"D-CFG-7":   "TestOrderOfPlugins TestSort",
	"D-CFG-8":   "TestProblems TestLoadsDeschedulerPolicy",
	"D-CFG-9":   "TestAllProblemsAtOnce TestProfilesThatCannotBeBuilt",
	"D-CFG-10":  "TestAllProblemsAtOnce",
	"D-CFG-11":  "TestAllProblemsAtOnce",
	"D-CFG-12":  "TestLoadsDeschedulerPolicy",
	"D-CFG-13":  "TestProblems TestProvidersThatAreWrong",
	"D-CFG-14":  "TestLoadsDeschedulerPolicy",
	"D-CFG-15":  "TestThresholdDoesNotDependOnSystemCriticalPods TestFilter TestValidateNamesAll",
	"D-CFG-16":  "TestValidateNamesAll TestValidateLoad TestValidate",
	"D-TYP-1":   "TestLoadsDeschedulerPolicy TestTypedArguments",
	"D-TYP-2":   "TestPrintedPolicyLoadsAgain TestRandomPoliciesLoadAgain",
	"D-TYP-3":   "TestPrintedPolicyLoadsAgain TestWriteConfig",
	"D-FW-1":    "TestPluginsAreBuiltOnce",
	"D-FW-2":    "TestOrderOfPlugins",
	"D-FW-3":    "TestRegistryRefuses",
	"D-FW-4":    "TestFailuresAreContained TestPluginsCannotDisturbOthers TestHostilePlugin",
	"D-FW-5":    "TestOrderOfPlugins",
	"D-CYC-1":   "TestIntervalZeroIsOneCycle TestIntervalBeginsAtTheEnd",
	"D-CYC-2":   "TestNodesOfACycle",
	"D-CYC-3":   "TestLimitsStartAnew TestBackgroundEnds",
	"D-CYC-4":   "TestOrderOfPlugins TestRepeatedAtBalance",
	"D-CYC-5":   "TestDiscover",
	"D-CYC-6":   "TestFlags TestCommandLine TestDryRunOfACluster",
	"D-EV-1":    "TestLimitsOfACycle TestMetrics",
	"D-EV-2":    "TestEvents TestMetrics",
	"D-EV-3":    "TestLimitsStartAnew TestLimitsInFlight",
	"D-EV-4":    "TestTheWidestLimitIsTold TestLimitsEndQuestions TestStopAfter TestLimits",
	"D-EV-5":    "TestSecondCallIsFree",
	"D-EV-6":    "TestDryRunIsACycle",
	"D-BG-1":    "TestBackgroundEnds TestNotBackground",
	"D-BG-2":    "TestBackgroundEnds",
	"D-BG-3":    "TestBackgroundEnds TestBackgroundAfterRestart",
	"D-BG-4":    "TestReportedEvictions",
	"D-BG-5":    "TestReportedEvictions TestMetrics",
	"D-DRY-1":   "TestDryRunRemembersNothing TestDryRunOfACluster",
	"D-DRY-2":   "TestDryRunIsACycle TestDryRunRespectsBudgets TestReport TestEvictionsHaveAPlace",
	"D-USE-1":   "TestNodesAreSmoothed",
	"D-USE-2":   "TestQueryMovesOnePod TestPrometheus",
	"D-USE-3":   "TestTokens",
	"D-SPR-1":   "TestSpreadTakesTheLeastImportant TestLeastImportantGoFirst",
	"D-SPR-2":   "TestSpreadCountsAllPods",
	"D-SPR-3":   "TestSpreadSeesAllConstraints",
	"D-K-CFG-1": "TestMerged TestLoadsDeschedulerConfiguration TestFilterIsTwoPoints",
	"D-K-CFG-2": "TestProblems TestProfilesThatCannotBeBuilt",
	"D-K-CFG-3": "TestLoadsDeschedulerConfiguration TestAllProblemsAtOnce",
	"D-K-PMJ-1": "TestDeleteOptionsOfAJob TestLabelsChooseTheWay TestDelete TestSoftEviction",
	"D-K-PMJ-2": "TestBucket",
	"D-K-PMJ-3": "TestOneJobForAPod TestMigratingClosedLoop",
	"D-K-PMJ-4": "TestScavenge",
	"D-K-PMJ-5": "TestEndOfTheProcessAtEachWrite",
	"D-K-PMJ-6": "TestRefusals TestReservationsAreSeenAsTheirPods",
	"D-K-PMJ-7": "TestMigration TestNothingIsEvicted TestEndedPodsNeedNoPlace TestMigratingClosedLoop TestPlaceIsKeptFromOthers TestTwoMigrationsOfOneWorkload TestMostOf TestRefusals TestLimitsInFlight",
	"D-K-LNL-1": "TestPoolsInOrder",
	"D-K-LNL-2": "TestProductionMovesProduction",
	"D-K-LNL-3": "TestDebounceActsAtTheNth TestDebounceCountsInARow",
	"D-K-LNL-4": "TestNoRoomForgetsNothing",
	"D-K-LNL-5": "TestWeightsOrderNodes TestEvictionCost TestCostsOrderPods TestLoad TestProductionMovesProduction",
	"D-K-LNL-6": "TestProductionMovesProduction TestLoad",
}

// idsUpTo are the ids that there are: a series and its highest number.
var idsUpTo = map[string]int{
	"D-CFG": 16, "D-TYP": 3, "D-FW": 5, "D-CYC": 6, "D-EV": 6, "D-BG": 5, "D-DRY": 2, "D-USE": 3, "D-SPR": 3,
	"D-K-CFG": 3, "D-K-PMJ": 7, "D-K-LNL": 6,
}

// testsThere are the names of all tests of the descheduler.
func testsThere(t *testing.T) map[string]bool {
	there := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	for _, root := range []string{"..", "../../feasibility"} {
		readTests(t, root, function, there)
	}
	return there
}

func readTests(t *testing.T, root string, function *regexp.Regexp, there map[string]bool) {
	assert.NilError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range function.FindAllStringSubmatch(string(text), -1) {
			there[found[1]] = true
		}
		return err
	}))
}

// TestPairs says whether the tests exist that are named for pairs of features.
func TestPairs(t *testing.T) {
	text, err := os.ReadFile("testdata/pairs.md")
	assert.NilError(t, err)
	there, named := testsThere(t), regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(text), -1)
	assert.Assert(t, len(named) > 40, "%d", len(named))
	for _, name := range named {
		assert.Check(t, there[name[1]], name[1])
	}
}

// TestAcceptance says whether the tests exist that show each point, and that every id has some.
func TestAcceptance(t *testing.T) {
	there, ids := testsThere(t), 0
	for series, last := range idsUpTo {
		for i := range last {
			id := fmt.Sprintf("%s-%d", series, i+1)
			assert.Check(t, ofIDs[id] != "", "%s has no test", id)
			ids++
		}
	}
	assert.Equal(t, len(ofIDs), ids)
	for id, tests := range ofIDs {
		for name := range strings.FieldsSeq(tests) {
			assert.Check(t, there[name], "%s: there is no %s", id, name)
		}
	}
	for _, a := range acceptance {
		for name := range strings.FieldsSeq(a.tests) {
			assert.Check(t, there[name], "%s: there is no %s", a.point, name)
		}
	}
}
