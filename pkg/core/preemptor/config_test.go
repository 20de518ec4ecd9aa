package preemptor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

func TestDefaultConfig(t *testing.T) {
	c := DefaultConfig()
	assert.NilError(t, c.Validate())
	assert.DeepEqual(t, c.Strategies, []Strategy{Single, Multiple, Minimal})
	assert.Equal(t, c.StartDelay, 30*time.Second)
}

// TestParseStrategies reads every order of every choice of strategies, and
// reads back what it prints.
func TestParseStrategies(t *testing.T) {
	names := []string{"single", "multiple", "minimal"}
	count := 0
	var try func(chosen []string)
	try = func(chosen []string) {
		for _, name := range names {
			list := append(slices.Clip(chosen), name)
			got, err := ParseStrategies(strings.Join(list, ", "))
			if strings.Contains(strings.Join(chosen, ","), name) {
				assert.Error(t, err, "strategy "+name+" is given twice")
				continue
			}
			assert.NilError(t, err)
			var back []string
			for _, s := range got {
				back = append(back, s.String())
			}
			assert.DeepEqual(t, back, list)
			count++
			try(list)
		}
	}
	try(nil)
	assert.Equal(t, count, 15)
}

func TestValidateReportsEverything(t *testing.T) {
	c := Config{StartDelay: -1, Strategies: []Strategy{Single, 9, Single}, DeviationMax: -2, VictimsMax: 300, Budgets: 3}
	assert.Error(t, c.Validate(), strings.Join([]string{
		"start delay -1ns is negative", "strategy 9 is unknown", "strategy single is given twice",
		"deviation -2 percent is negative", "victims 300 are not between 1 and 256", "budget policy 3 is unknown", "steps 0 of a search are less than 1",
	}, "\n"))
	assert.Error(t, Config{VictimsMax: 1, StepsMax: 1}.Validate(), "no strategy to select victims")
}

// TestTablesAreComplete reads every name, also of what there is none of.
func TestTablesAreComplete(t *testing.T) {
	names := map[string]bool{}
	for class := range Class(Classes) {
		names[class.String()] = true
	}
	for filter := range Filter(Filters) {
		names[filter.String()] = true
	}
	for reason := range Reason(len(reasons)) {
		names[reason.String()] = true
	}
	for name, ok := range names {
		assert.Assert(t, name != "" && ok, "%q", name)
	}
	assert.Equal(t, len(names), Classes+Filters+len(reasons), "two of the same name")
	assert.Equal(t, Class(Classes).String(), "class 4")
	assert.Equal(t, Filter(Filters).String(), "filter 15")
	assert.Equal(t, Reason(len(reasons)).String(), "reason 11")
	assert.Equal(t, Decision{}.String(), "not planned")
	assert.Equal(t, Decision{}.Summary(&resources.Kinds{}), "not planned")
}

// TestAgain says when a young reservation comes of age, and that the plan is
// another one then.
func TestAgain(t *testing.T) {
	kinds := &resources.Kinds{}
	one, err := kinds.Amounts(map[string]int64{resources.VCore: 1})
	assert.NilError(t, err)
	ask := Ask{Key: "ask", Amounts: one, Reserved: epoch}
	node := Node{Kinds: kinds, On: []Candidate{{Key: "web", Amounts: one}}}
	d := Plan(epoch, DefaultConfig(), ask, node)
	assert.Equal(t, d.Reason, TooYoung)
	assert.Equal(t, d.Again, epoch.Add(30*time.Second))
	assert.Equal(t, Plan(d.Again.Add(-1), DefaultConfig(), ask, node).Reason, TooYoung)
	assert.Equal(t, Plan(d.Again, DefaultConfig(), ask, node).String(), "chosen by single: web")
}
