package core_test

import (
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario/scenariotest"
)

// situations are what a user reads the page for: each is answered by a sentence of the page, and a
// scenario shows that it is so.
var situations = []struct{ situation, sentence, scenario string }{
	{
		"A daemonset needs a node that is full of pods of another scheduler, with a budget that allows nothing, and budgets are hard.",
		"Budgets protect pods of other schedulers, too, and count for every trigger.", "preempt_budget_foreign_hard",
	},
	{
		"The pods of the other scheduler are as important as the daemonset.",
		"only if they are less important and not static", "preempt_foreign_priority",
	},
	{
		"My queue is full of unimportant pods, and the nodes are full of unimportant pods of other queues.",
		"An ask whose queue is full needs two things: quota, from each queue that is full, and room, from wherever its trigger may take room.",
		"priority_full_queue_needs_room",
	},
	{
		"My queue and the one above it are both full.",
		"What several queues on the way to the root lack is freed in each of them.", "priority_quota_of_two_queues",
	},
	{
		"The queue of the daemonset is full of pods that are as important as it is.",
		"allocations of at most its priority", "preempt_quota_victims_on_the_node",
	},
	{
		"My queue is under its guarantee, and everything else is more important.",
		"By guarantee nothing more important is taken.", "guarantee_outranked",
	},
	{
		"My queue has none of its GPUs, and more cores than are guaranteed.",
		"With the queue property `preemption.guarantee: kind`, only the kinds count that the ask lacks", "guarantee_per_kind",
	},
	{
		"A pod has the label that asks not to be preempted, and the others are more important.",
		"By priority, an allocation that opted out goes before a more important one that did not.", "priority_opted_out_first",
	},
	{
		"Three pods that only work together run beside pods that work alone.",
		"Surplus members and what runs by itself go first, if they are no more important.", "priority_group_stays_whole",
	},
	{
		"The least important pod is too small for the ask.",
		"one victim in the middle can be enough, and less important ones stay that do not help", "priority_reprieve_middle",
	},
	{
		"A user is at the limit, and runs unimportant pods.",
		"Nothing is preempted for an ask that the limit of a user or group holds back.", "limits_preemption",
	},
}

// TestSituations holds that a reader of the page is right: the sentences stand there, and the
// scenarios come out as they are written.
func TestSituations(t *testing.T) {
	content, err := os.ReadFile(page)
	assert.NilError(t, err)
	text := strings.Join(strings.Fields(string(content)), " ")
	for _, s := range situations {
		assert.Assert(t, strings.Contains(text, s.sentence), "%s: the page does not say %q", s.situation, s.sentence)
		written, err := os.ReadFile(scenariotest.Files(t, ".", s.scenario+".txt")[0])
		assert.NilError(t, err)
		came, err := scenario.Play(string(written))
		assert.NilError(t, err, s.situation)
		assert.Equal(t, came, string(written), s.situation)
	}
}

// wordsMax is how long the page may be.
const wordsMax = 2500

// TestPageIsShort holds that the page can be read at once.
func TestPageIsShort(t *testing.T) {
	content, err := os.ReadFile(page)
	assert.NilError(t, err)
	words := len(strings.Fields(string(content)))
	assert.Assert(t, words <= wordsMax, "%d words, %d are the most", words, wordsMax)
}
