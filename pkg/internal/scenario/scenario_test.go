package scenario

import (
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestPlayFillsIn plays a scenario that says something else, and gets what comes
// out in its place, with everything around it as it was.
func TestPlayFillsIn(t *testing.T) {
	text := `# A scenario.

# A comment may stand between commands too.
node
  n1 vcore=4

  # This one is small.
  n2 vcore=500m memory=1536Mi
application a user=sue
----
whatever

schedule
----
it is not
what it was

# The last word.
`
	came, err := Play(text)
	assert.NilError(t, err)
	assert.Equal(t, came, `# A scenario.

# A comment may stand between commands too.
node
  n1 vcore=4

  # This one is small.
  n2 vcore=500m memory=1536Mi
application a user=sue
----
accepted node n1
accepted node n2
accepted application a

schedule
----
nothing

# The last word.
`)
	again, err := Play(came)
	assert.NilError(t, err)
	assert.Equal(t, again, came)
}

// TestWhatIsWrittenIsRead is a line for each way in which a scenario can be
// misspelt. Each is an error with its line, and never passed over.
func TestWhatIsWrittenIsRead(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"verb", "nodes\n----\n", `line 1: no verb "nodes"`},
		{"argument", "\nnode n1 vcores=4\n----\n", "line 2: nothing reads vcores=4"},
		{"argument of one line", "node vcore=4\n  n1\n  n2 size=4\n----\n", "line 3: nothing reads size=4"},
		{"flag", "node n1 vcore=4 draining\n----\n", "line 1: nothing reads draining"},
		{"name beside lines", "node n1\n  n2 vcore=1\n----\n", "line 2: nothing reads n1"},
		{"argument of schedule", "schedule now\n----\n", "line 1: nothing reads now"},
		{"argument of config", "config fast\n----\n", "line 1: nothing reads fast"},
		{"quantity", "node n1 vcore=4cores\n----\n", `line 1: vcore: not a quantity: "4cores" has the unknown suffix "cores"`},
		{"number", "ask a priority=high\n----\n", "line 1: priority=high is not a whole number"},
		{"duration", "advance soon\n----\n", "line 1: advance soon: not a duration"},
		{"time backwards", "advance -1s\n----\n", "line 1: advance -1s: not a duration"},
		{"created", "ask a created=now\n----\n", "line 1: created=now is not a duration"},
		{"pair", "node n1 attributes=zone\n----\n", "line 1: attributes=zone: write name:value"},
		{"missing name", "drain\n----\n", "line 1: the name is missing"},
		{"missing text", "refuse a n1\n----\n", "line 1: the text is missing"},
		{"quote", "refuse a n1 \"no\n----\n", "line 1: a quote is not closed: refuse a n1 \"no"},
		{"termination", "release a type=GONE\n----\n", `line 1: no termination type "GONE"`},
		{"view", "show pods\n----\n", `line 1: cannot show "pods"`},
		{"node to show", "show nodes n7\n----\n", "line 1: no node n7 to show"},
		{"truth", "ask a allow-preempt-self=no\n----\n", "line 1: allow-preempt-self=no is not true or false"},
		{"tag", "node n1 tag.x/y=1\n----\n", "line 1: nothing reads tag.x/y=1"},
		{"plan", "show plan a\n----\n", "line 1: a was never accepted"},
		{"confirm", "confirm a\n----\n", "line 1: a was never accepted"},
		{"resize", "resize a vcore=1\n----\n", "line 1: a was never accepted"},
		{"allow", "allow a n1\n----\n", "line 1: a on n1 is not refused"},
		{"conflict", "conflict a\n----\n", "line 1: the other allocation is missing"},
		{"conflict of three", "conflict a b c\n----\n", "line 1: nothing reads c"},
		{"need", "need a\n----\n", "line 1: the other allocation is missing"},
		{"choose", "choose\n----\n", "line 1: the ask is missing"},
		{"budget", "budget b\n  a\n----\n", "line 1: budget b: allowed= is missing"},
		{"budget without name", "budget allowed=1\n  a\n----\n", "line 1: the name is missing"},
		{"grace", "ask a grace=60\n----\n", "line 1: grace=60 is not a duration"},
		{"attempts", "show attempts a\n----\n", "line 1: a was never accepted"},
		{"configuration", "config\n  partition: 1\n----\n", "line 1: the configuration: "},
		{"late configuration", "node n1\nconfig\n----\n", "line 2: the partition is there already"},
		{"dashes", "node n1\n", "line 1: a step without dashes"},
		{"command", "# Nothing.\n----\n", "line 2: dashes without a command"},
		{"stray line", "  n1 vcore=1\n", `line 1: "n1 vcore=1" belongs to no command`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Play(test.text)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

// TestNothingHappensBeforeAllIsRead shows that a command with a misspelt
// argument is not carried out.
func TestNothingHappensBeforeAllIsRead(t *testing.T) {
	w := newWorld(script{})
	err := w.carryOut(command{number: 1, words: strings.Fields("node n1 vcore=1 typo=1")})
	assert.ErrorContains(t, err, "nothing reads typo=1")
	assert.Equal(t, len(w.here().View().Nodes), 0)
}

func TestQuantitiesPrintAsWritten(t *testing.T) {
	for _, test := range []struct {
		name  string
		value int64
		want  string
	}{
		{"vcore", 2000, "2"},
		{"vcore", 1500, "1500m"},
		{"vcore", -500, "-500m"},
		{"vcore", 0, "0"},
		{"memory", 1536 << 20, "1536Mi"},
		{"memory", 3 << 30, "3Gi"},
		{"memory", 1000, "1000"},
		{"gpu", 1024, "1024"},
	} {
		assert.Equal(t, quantity(test.name, test.value), test.want)
	}
}

// TestDocumentation plays the scenario in the documentation.
func TestDocumentation(t *testing.T) {
	document, err := os.ReadFile("../../../docs/scenarios.md")
	assert.NilError(t, err)
	_, after, found := strings.Cut(string(document), "```scenario\n")
	assert.Assert(t, found)
	text, _, found := strings.Cut(after, "```\n")
	assert.Assert(t, found)
	came, err := Play(text)
	assert.NilError(t, err)
	assert.Equal(t, came, text)
}

// TestEveryVerbIsDocumented compares the table of verbs with the documents.
func TestEveryVerbIsDocumented(t *testing.T) {
	document, err := os.ReadFile("../../../docs/scenarios.md")
	assert.NilError(t, err)
	for name := range verbs {
		assert.Assert(t, strings.Contains(string(document), "`"+name), "docs/scenarios.md does not know %s", name)
	}
}
