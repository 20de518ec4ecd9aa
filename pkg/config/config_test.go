package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestLoad reads every configuration in testdata. What must come out stands
// beside it: the problems as the command prints them, then, if there are no
// errors, the partitions as the core gets them.
func TestLoad(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	assert.NilError(t, err)
	assert.Assert(t, len(files) > 20)
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(strings.TrimSuffix(name, ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			assert.NilError(t, err)
			golden.Assert(t, outcome(t, name, string(text)), strings.TrimSuffix(name, ".yaml")+".golden")
		})
	}
}

// outcome prints what loading a text gives.
func outcome(t *testing.T, file, text string) string {
	kinds := new(resources.Kinds)
	document, err := Load(text, kinds)
	var b strings.Builder
	if err != nil {
		var problems Problems
		assert.Assert(t, errors.As(err, &problems))
		assert.Assert(t, problems.Errors() > 0)
		assert.Assert(t, document == nil)
		assert.Equal(t, kinds.Len(), 0, "a refused text added kinds")
		list(&b, file, problems)
		return b.String()
	}
	assert.Equal(t, document.Warnings.Errors(), 0)
	list(&b, file, document.Warnings)
	for _, partition := range document.Partitions {
		fmt.Fprintf(&b, "partition %s nodes=%+v\n  preemption %s\n", partition.Name, partition.Nodes, preemptionText(partition.Preemption))
		if len(partition.Levels) > 0 {
			fmt.Fprintf(&b, "  levels %s\n", levelsText(partition.Levels))
		}
		printQueue(&b, partition.Root, "  ", kinds)
		made := core.NewPartition(api.Options{Kinds: kinds}, partition)
		assert.NilError(t, made.Verify())
		made.Apply(time.Unix(0, 0), api.Reconfigure{Config: partition})
		assert.NilError(t, made.Verify())
	}
	return b.String()
}

// preemptionText prints what differs from what holds where nothing is configured.
func preemptionText(p api.PreemptionConfig) string {
	d, plan := Defaults{}.preemption(), p.RequiredNode
	words := []string{}
	word := func(differs bool, format string, value any) {
		if differs {
			words = append(words, fmt.Sprintf(format, value))
		}
	}
	word(p.Disabled, "disabled=%t", p.Disabled)
	word(p.Quota, "quota=%t", p.Quota)
	word(plan.StartDelay != d.RequiredNode.StartDelay, "start=%s", plan.StartDelay)
	word(!slices.Equal(plan.Strategies, d.RequiredNode.Strategies), "strategies=%s", strategyNames(plan.Strategies))
	word(plan.DeviationMax != d.RequiredNode.DeviationMax, "deviation=%d%%", plan.DeviationMax)
	word(plan.VictimsMax != d.RequiredNode.VictimsMax, "victims=%d", plan.VictimsMax)
	word(p.VictimTimeout != d.VictimTimeout, "timeout=%s", p.VictimTimeout)
	word(plan.SpareForeign, "foreign=%s", "spared")
	word(p.Priority != d.Priority, "priority=%s", priorityWord(p))
	word(p.Budgets != d.Budgets, "budgets=%s", budgetsWord(p))
	word(p.ByQoS != d.ByQoS, "order=%s", orderWord(p))
	word(p.LoopMax != d.LoopMax, "loop=%d", p.LoopMax)
	word(p.LoopWindow != d.LoopWindow, "window=%s", p.LoopWindow)
	if len(words) == 0 {
		return "default"
	}
	return strings.Join(words, " ")
}

// shownMax keeps the golden files of texts with thousands of problems short.
const shownMax = 60

func list(b *strings.Builder, file string, problems Problems) {
	for _, p := range problems[:min(len(problems), shownMax)] {
		fmt.Fprintln(b, p.Format(file))
	}
	if more := len(problems) - shownMax; more > 0 {
		fmt.Fprintf(b, "and %d more\n", more)
	}
}

func printQueue(b *strings.Builder, q api.QueueConfig, indent string, kinds *resources.Kinds) {
	p := q.Properties
	fmt.Fprintf(b, "%s%s parent=%t guaranteed(%s) max(%s)\n", indent, q.Name, q.Parent,
		kinds.Format(q.Guaranteed), kinds.FormatLimits(q.Max))
	texts := p.Texts
	p.Texts = nil
	fmt.Fprintf(b, "%s  %+v\n", indent, p)
	if len(texts) > 0 {
		fmt.Fprintf(b, "%s  %v\n", indent, texts)
	}
	if !q.Submit.IsNobody() || !q.Admin.IsNobody() {
		fmt.Fprintf(b, "%s  submit(%s) admin(%s)\n", indent, q.Submit, q.Admin)
	}
	if t := q.Below; t != nil && (len(t.Guaranteed)+len(t.Max) > 0 || len(t.Leaf.Texts) != len(t.Parent.Texts)) {
		fmt.Fprintf(b, "%s  below: guaranteed(%s) max(%s) %v\n", indent, kinds.Format(t.Guaranteed), kinds.FormatLimits(t.Max), t.Leaf.Texts)
	}
	if q.ApplicationsMax > 0 || q.Below != nil && q.Below.ApplicationsMax > 0 {
		below := 0
		if q.Below != nil {
			below = q.Below.ApplicationsMax
		}
		fmt.Fprintf(b, "%s  applications(%d) in queues made below(%d)\n", indent, q.ApplicationsMax, below)
	}
	for _, l := range q.Limits {
		fmt.Fprintf(b, "%s  limit users=%v groups=%v max(%s) applications=%d\n", indent, l.Users, l.Groups, kinds.FormatLimits(l.Max), l.ApplicationsMax)
	}
	for _, child := range q.Queues {
		printQueue(b, child, indent+"  ", kinds)
	}
}

func TestEmptyTextIsTheDefault(t *testing.T) {
	document, err := Load("", nil)
	assert.NilError(t, err)
	assert.Equal(t, document.Text, Default)
	assert.Equal(t, document.Checksum, Checksum(Default))
	assert.Equal(t, len(document.Warnings), 0)
	assert.Equal(t, len(document.Partitions), 1)
	partition := document.Partitions[0]
	assert.Equal(t, partition.Name, "default")
	assert.Equal(t, partition.Root.Name, "root")
	assert.Assert(t, partition.Root.Parent)
	assert.Equal(t, len(partition.Root.Queues), 1)
	assert.Equal(t, partition.Root.Queues[0].Name, "default")
	assert.Assert(t, !partition.Root.Queues[0].Parent)
	assert.Equal(t, partition.Root.Properties.PreemptionDelay, 30*time.Second)
}

func TestChecksum(t *testing.T) {
	hash := strings.Repeat("a1", 32)
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"partitions: []\n", "partitions: []\n", true},
		{"partitions: []\n", "partitions: [ ]\n", false},
		{"x\nchecksum: " + hash + "\ny", "x\n\ny", true},
		{"checksum: " + hash, "checksum: " + strings.Repeat("B2", 32), true},
		{"checksum: abc\nx", "\nx", false},
		{"a: {checksum: " + hash + "}", "a: {}", false},
	} {
		assert.Equal(t, Checksum(c.a) == Checksum(c.b), c.same, "%q and %q", c.a, c.b)
	}
	// The hash of nothing is well known.
	assert.Equal(t, Checksum(""), "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855")
}

// TestDefinitionsKeepEveryKey reads keys of all kinds, and those that ask for nothing.
func TestDefinitionsKeepEveryKey(t *testing.T) {
	text, err := os.ReadFile("testdata/every-kind.yaml")
	assert.NilError(t, err)
	document, err := Load(string(text), nil)
	assert.NilError(t, err)
	p := document.Definitions[0]
	assert.Equal(t, p.Resolver, "ldap")
	assert.Equal(t, p.Rules[0].Name, "tag")
	assert.Equal(t, p.Rules[0].Parent.Value, "root")
	assert.Equal(t, p.Root.SubmitACL.String(), "*")
	assert.Equal(t, p.Root.ApplicationsMax, uint64(100))
	assert.DeepEqual(t, p.Root.Limits[0].Users, []string{"ann"})
	assert.DeepEqual(t, p.Root.Template.Max.values(), map[string]int64{"vcore": 2000})
	assert.Equal(t, p.Root.Queues[0].AdminACL.String(), "ann,bob dev,ops")
}

func TestTooLargeTexts(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	nest := func(depth int) string {
		var b strings.Builder
		b.WriteString("partitions: [{queues: [{name: root")
		for range depth - 1 {
			b.WriteString(", queues: [{name: a")
		}
		return b.String() + strings.Repeat("}]", depth+1)
	}
	queues := func(n int) string {
		var b strings.Builder
		b.WriteString("partitions:\n- queues:\n")
		for i := range n {
			fmt.Fprintf(&b, "  - {name: q%d}\n", i)
		}
		return b.String()
	}
	properties := func(n int) string {
		var b strings.Builder
		b.WriteString("partitions: [{queues: [{name: a, properties: {")
		for i := range n {
			fmt.Fprintf(&b, "p%d: x, ", i)
		}
		return b.String() + "}}]}]"
	}
	var limits, users strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&limits, "{users: [u%d], maxapplications: 1}, ", i)
		fmt.Fprintf(&users, ", {name: b%d, limits: *l}", i)
	}
	repeated := "partitions: [{queues: [{name: a, limits: &l [" + limits.String() + "]}" + users.String() + "]}]"
	for _, c := range []struct{ name, text, want string }{
		{"text", strings.Repeat("#", TextMax+1), "the text has 4194305 bytes, 4194304 are the most"},
		{"depth", nest(DepthMax), ""},
		{"deeper", nest(DepthMax + 1), "queues nest deeper than 32 levels"},
		{"queues", queues(QueuesMax), ""},
		{"too many queues", queues(QueuesMax + 1), "more than 50000 queues"},
		{"properties", properties(PropertiesMax), ""},
		{"too many properties", properties(PropertiesMax + 1), "more than 64 properties"},
		{"aliases", repeated, "the text stands for more than 1000000 values; do its aliases (*name) repeat each other?"},
		{"flow", strings.Repeat("[", 20_000), "exceeded max depth"},
		{"long name", "partitions: [{queues: [{name: " + strings.Repeat("ä", 1<<20) + "}]}]", "is no name of a queue"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(c.text, nil)
			if c.want == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
			for line := range strings.Lines(err.Error()) {
				assert.Assert(t, len(line) < 1000, "a long line")
			}
		})
	}
}

func TestFullTableOfKinds(t *testing.T) {
	kinds := new(resources.Kinds)
	for i := range resources.KindsMax {
		_, err := kinds.Intern(fmt.Sprint("kind-", i))
		assert.NilError(t, err)
	}
	_, err := Load("partitions: [{queues: [{name: a, resources: {max: {disk: 1}}}]}]", kinds)
	assert.ErrorContains(t, err, `root.a: resources.max: resource kind "disk": too many resource kinds`)
}

func TestErrorListsEverything(t *testing.T) {
	_, err := Load("partitions:\n- queues:\n  - {name: a.b, submitacl: x}\n  - {name: c d}\n", nil)
	assert.Error(t, err, strings.TrimPrefix(`
the configuration has 2 errors
  line 3:12: root.a.b: name: "a.b" is no name of a queue: 1 to 64 letters, digits and _ : # / @ -, without dots
  line 4:5: warning: root.c d: submitacl: no user may submit to this queue: there are access lists in the partition, and none here or above names a user or group
  line 4:12: root.c d: name: "c d" is no name of a queue: 1 to 64 letters, digits and _ : # / @ -, without dots`, "\n"))
}

// What show prints, reading gives back.
func TestShow(t *testing.T) {
	for _, c := range []struct {
		kind string
		v    int64
		want string
	}{
		{"vcore", 0, "0"},
		{"vcore", 500, "500m"},
		{"vcore", 12_000, "12"},
		{"memory", 0, "0"},
		{"memory", 1023, "1023"},
		{"memory", 3 << 29, "1536Mi"},
		{"memory", 7 << 60, "7Ei"},
		{"pods", 2048, "2048"},
	} {
		assert.Equal(t, show(c.kind, c.v), c.want)
		back, err := resources.ParseQuantity(c.kind, c.want)
		assert.NilError(t, err)
		assert.Equal(t, back, c.v)
	}
}

// Kinds get the same numbers and problems the same order every time.
func TestLoadIsDeterministic(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	assert.NilError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "bomb.yaml") {
			continue
		}
		text, err := os.ReadFile(file)
		assert.NilError(t, err)
		first := outcome(t, "", string(text))
		for range 3 {
			assert.Equal(t, outcome(t, "", string(text)), first, file)
		}
	}
}

func TestInherit(t *testing.T) {
	for _, c := range []struct {
		name              string
		parent, own, want map[string]string
	}{
		{"nothing", nil, nil, nil},
		{"own", nil, map[string]string{"x": "1"}, map[string]string{"x": "1"}},
		{"inherited", map[string]string{"x": "1", "application.sort.policy": "fair"}, nil, map[string]string{"x": "1", "application.sort.policy": "fair"}},
		{"overlaid", map[string]string{"x": "1", "y": "2"}, map[string]string{"x": "3"}, map[string]string{"x": "3", "y": "2"}},
		{"priorities start anew", map[string]string{"priority.policy": "fence", "priority.offset": "5"}, nil, map[string]string{"priority.policy": "default", "priority.offset": "0"}},
		{"a fence starts anew", map[string]string{"preemption.policy": "fence"}, nil, map[string]string{"preemption.policy": "default"}},
		{"protection stays", map[string]string{"preemption.policy": "Disabled"}, nil, map[string]string{"preemption.policy": "Disabled"}},
		{"unless it is changed", map[string]string{"preemption.policy": "disabled"}, map[string]string{"preemption.policy": "default"}, map[string]string{"preemption.policy": "default"}},
		{"delays stay", map[string]string{"preemption.delay": "1m", "quota.preemption.delay": "2m"}, nil, map[string]string{"preemption.delay": "1m", "quota.preemption.delay": "2m"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.DeepEqual(t, inherit(c.parent, c.own), c.want)
		})
	}
}

func TestProblemsAreSorted(t *testing.T) {
	text, err := os.ReadFile("testdata/properties.yaml")
	assert.NilError(t, err)
	_, err = Load(string(text), nil)
	var problems Problems
	assert.Assert(t, errors.As(err, &problems))
	assert.Assert(t, slices.IsSortedFunc(problems, func(a, b Problem) int { return a.Line - b.Line }))
}
