package core_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario"
)

// A cell is a cell of the table of harms, as a cluster in which nothing but the allocation "v" can
// be harmed. It holds all that the ask lacks.
type cell struct {
	trigger  preemptor.Trigger
	relation preemptor.Relation
	short    preemptor.Shortage
	equal    bool // preemption_priority: equal
	beside   bool // "w" is as v, and nothing speaks for it
}

// TestHarms plays each cell of the table: what may be harmed is evicted, and nothing else is. What
// is harmed last stays where another one can go.
func TestHarms(t *testing.T) {
	for trigger := range preemptor.Trigger(preemptor.Triggers) {
		for relation := range preemptor.Relation(preemptor.Relations) {
			for short := range preemptor.Shortage(preemptor.Shortages) {
				t.Run(fmt.Sprintf("%s/%s/%s", trigger, relation, short), func(t *testing.T) {
					cell{trigger: trigger, relation: relation, short: short}.check(t)
				})
			}
		}
	}
}

func (c cell) check(t *testing.T) {
	harm := preemptor.HarmOf(c.trigger, c.relation, c.short)
	if c.trigger == preemptor.Quota && (c.short != preemptor.OfQuota || c.relation == preemptor.OtherQueue || c.relation == preemptor.OutsideFence) {
		assert.Equal(t, harm, preemptor.Never) // there is no ask, and nothing of another queue is looked at
		return
	}
	assert.Equal(t, c.harms(t, "v"), harm == preemptor.Last || harm == preemptor.May, c.text())
	switch {
	case harm == preemptor.IfEqual:
		c.equal = true
		assert.Assert(t, c.harms(t, "v"), c.text())
	case harm == preemptor.Last && c.short != preemptor.Conflict:
		c.beside = true
		assert.Assert(t, c.harms(t, "w") && !c.harms(t, "v"), c.text())
	}
}

// harms reports whether an allocation is evicted.
func (c cell) harms(t *testing.T, key string) bool {
	t.Helper()
	came, err := scenario.Play(c.text())
	assert.NilError(t, err, c.text())
	return strings.Contains(came, "released "+key+" PREEMPTED_BY_SCHEDULER")
}

// text is the cluster of a cell as a scenario. Root.full is full where quota is short; the ask is
// in root.full.fence.mine and the allocation mostly in root.full.other.
func (c cell) text() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("config\n%s", c.config(c.used()*1000))
	p("node n1 vcore=%d", c.capacity())
	p("application mine queue=root.full.fence.mine user=u")
	p("application theirs queue=%s user=u", c.queue())
	p("application beside queue=root.full.other user=u")
	if c.foreign() {
		p("foreign v node=n1 vcore=1%s", c.attributes())
	} else {
		p("ask v application=theirs node=n1 vcore=1 created=-1m%s", c.attributes())
	}
	if c.keeps() {
		p("ask keeps application=beside node=n1 vcore=1 required=n1 priority=9")
	}
	if c.beside {
		p("ask w application=beside node=n1 vcore=1 created=-1h")
	}
	if c.relation == preemptor.GroupNeeds {
		p("node mate vcore=1\nask v-2 application=theirs node=mate vcore=1 priority=9 created=-1h tags=quorum.name:g,quorum.least:2")
	}
	if c.relation == preemptor.WithinBudget || c.relation == preemptor.WithinHardBudget {
		p("budget b allowed=0\n  v")
	}
	p("schedule")
	if c.trigger == preemptor.Quota {
		p("reconfigure\n%s\nadvance 10s\n----", c.config(c.used()*1000-500))
		return b.String()
	}
	if c.short == preemptor.Conflict {
		p("conflict a v")
	}
	required := ""
	if c.trigger == preemptor.RequiredNode {
		required = " required=n1"
	}
	p("ask a application=mine vcore=1 priority=1%s\nschedule\nadvance 10s\n----", required)
	return b.String()
}

// ofQuota reports whether a quota is short.
func (c cell) ofQuota() bool { return c.short == preemptor.OfQuota }

// keeps reports whether something holds quota that cannot be harmed: what is foreign holds none, and a max
// is not below what is guaranteed.
func (c cell) keeps() bool {
	return c.ofQuota() && (c.foreign() || c.relation == preemptor.AtGuarantee)
}

// used is how much of the quota is used.
func (c cell) used() int {
	used := 0
	for _, is := range []bool{!c.foreign(), c.keeps(), c.beside, c.relation == preemptor.GroupNeeds} {
		if is {
			used++
		}
	}
	return used
}

func (c cell) capacity() int {
	capacity := 1
	for _, is := range []bool{c.keeps(), c.beside, c.short != preemptor.Room} {
		if is {
			capacity++
		}
	}
	return capacity
}

func (c cell) foreign() bool {
	return c.relation == preemptor.ForeignLess || c.relation == preemptor.ForeignEqual || c.relation == preemptor.PartOfNode
}

// queue is that of v.
func (c cell) queue() string {
	switch c.relation {
	case preemptor.OwnQueue:
		return "root.full.fence.mine"
	case preemptor.AtGuarantee, preemptor.ProtectedQueue:
		return "root.full.kept"
	default:
		return "root.full.other"
	}
}

// attributes are those of v.
func (c cell) attributes() string {
	return map[preemptor.Relation]string{
		preemptor.EquallyImportant: " priority=1",
		preemptor.MoreImportant:    " priority=2",
		preemptor.ForeignEqual:     " priority=1",
		preemptor.PartOfNode:       " static",
		preemptor.BoundToNode:      " required=n1",
		preemptor.DrivesOthers:     " originator",
		preemptor.AsksToStay:       " allow-preempt-self=false",
		preemptor.GroupNeeds:       " tags=quorum.name:g,quorum.least:2",
	}[c.relation]
}

// config is the configuration, with the max of the full queue in thousandths of a core.
func (c cell) config(most int) string {
	priority, budgets, fence, guaranteed, policy, limits := "strict", "prefer", "default", "", "default", ""
	switch {
	case c.equal:
		priority = "equal"
	case c.trigger == preemptor.Guarantee:
		priority = "off"
	}
	if c.relation == preemptor.WithinHardBudget {
		budgets = "hard"
	}
	if c.relation == preemptor.OutsideFence {
		fence = "fence"
	}
	if c.relation == preemptor.ProtectedQueue {
		policy = "disabled"
	}
	if c.relation == preemptor.AtGuarantee {
		guaranteed = ", resources: {guaranteed: {vcore: 1}}"
	}
	full := 1000_000
	if c.ofQuota() {
		full = most
	}
	if c.short == preemptor.OfLimit {
		limits = fmt.Sprintf("\n              limits: [{limit: u, users: [u], maxresources: {vcore: %dm}}]", max(most, 1))
	}
	mine := ""
	if c.trigger == preemptor.Guarantee {
		mine = ", resources: {guaranteed: {vcore: 1}}"
	}
	return fmt.Sprintf(`  partitions:
    - name: default
      preemption:
        {preemption_start_delay: 0s, quotapreemptionenabled: true, preemption_priority: %s, preemption_disruption_budgets: %s}
      queues:
        - name: root
          queues:
            - name: full
              resources: {max: {vcore: %dm}}
              properties: {quota.preemption.delay: 1s, preemption.delay: 1s}
              queues:
                - name: fence
                  properties: {preemption.policy: %s}
                  queues: [{name: mine%s}]
                - {name: other}
                - {name: kept, properties: {preemption.policy: %s}%s}%s`,
		priority, budgets, full, fence, mine, policy, guaranteed, limits)
}

// Marks in the page around what is made from the table.
const (
	harmsBegin = "<!-- made from the table of harms -->\n"
	harmsEnd   = "<!-- end -->\n"
)

const page = "../../docs/preemption.md"

// harmsInPage is the table as the page shows it.
func harmsInPage() string {
	var b strings.Builder
	b.WriteString("| The allocation is, or would be |")
	for trigger := range preemptor.Trigger(preemptor.Triggers) {
		fmt.Fprintf(&b, " %s |", trigger)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", preemptor.Triggers) + "\n")
	for relation := range preemptor.Relation(preemptor.Relations) {
		fmt.Fprintf(&b, "| %s |", relation)
		for trigger := range preemptor.Trigger(preemptor.Triggers) {
			most := preemptor.Never
			for short := range preemptor.Shortage(preemptor.Shortages) {
				most = max(most, preemptor.HarmOf(trigger, relation, short))
			}
			fmt.Fprintf(&b, " %s |", most)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n| What is short |")
	for trigger := range preemptor.Trigger(preemptor.Triggers) {
		fmt.Fprintf(&b, " %s |", trigger)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", preemptor.Triggers) + "\n")
	for short := range preemptor.Shortage(preemptor.Shortages) {
		fmt.Fprintf(&b, "| %s |", short)
		for trigger := range preemptor.Trigger(preemptor.Triggers) {
			fmt.Fprintf(&b, " %s |", preemptor.HarmOf(trigger, preemptor.LessImportant, short))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestHarmsInPage compares the table of the page with the code; -update writes it.
func TestHarmsInPage(t *testing.T) {
	content, err := os.ReadFile(page)
	assert.NilError(t, err)
	before, rest, found := strings.Cut(string(content), harmsBegin)
	assert.Assert(t, found)
	written, after, found := strings.Cut(rest, harmsEnd)
	assert.Assert(t, found)
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(page, []byte(before+harmsBegin+harmsInPage()+harmsEnd+after), 0o644))
		return
	}
	assert.Equal(t, written, harmsInPage())
}
