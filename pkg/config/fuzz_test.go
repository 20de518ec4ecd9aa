package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// FuzzLoad feeds Load with anything. It either says what is wrong, with a
// place in the text, or gives a configuration that keeps the rules and that,
// written down again, loads as the same.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	assert.NilError(f, err)
	for _, file := range files {
		if strings.HasSuffix(file, "bomb.yaml") {
			continue // it takes too long to be mutated
		}
		text, err := os.ReadFile(file)
		assert.NilError(f, err)
		f.Add(string(text))
	}
	f.Add("")
	f.Add("partitions: [{queues: [{name: a, resources: {guaranteed: {vcore: 1m}, max: {memory: 0}}}]}]")
	f.Add("partitions: [{nodesortpolicy: {type: devices, devices: {gpu: 1, vcore: 500m}}, queues: [{name: a}]}]")
	f.Fuzz(func(t *testing.T, text string) {
		kinds := new(resources.Kinds)
		document, err := Load(text, kinds)
		if err != nil {
			checkRefusal(t, text, err)
			return
		}
		assert.Assert(t, len(document.Partitions) > 0)
		for _, p := range document.Partitions {
			assert.NilError(t, p.Preemption.RequiredNode.Validate())
			assert.Assert(t, p.Preemption.VictimTimeout > 0)
			assert.Assert(t, p.Preemption.LoopMax >= 1 && p.Preemption.LoopMax <= 1000)
			assert.Assert(t, p.Preemption.LoopWindow > 0)
			checkTree(t, p.Root, "", nil)
		}
		again, err := Load(write(document, kinds), kinds)
		assert.NilError(t, err)
		assert.DeepEqual(t, again.Partitions, document.Partitions)
	})
}

// checkRefusal looks at problems: at least one error, sorted, each of them in
// the text.
func checkRefusal(t *testing.T, text string, err error) {
	var problems Problems
	assert.Assert(t, errors.As(err, &problems), "%v", err)
	assert.Assert(t, problems.Errors() > 0)
	lines := strings.Count(text, "\n") + strings.Count(text, "\r") + strings.Count(text, "\u0085") +
		strings.Count(text, "\u2028") + strings.Count(text, "\u2029") + 1
	last := 0
	for _, p := range problems {
		assert.Assert(t, p.Message != "" && p.Line >= last && p.Line <= lines, "%d lines, %s", lines, p)
		last = p.Line
	}
}

// checkTree is a naive twin of the comparisons along the tree: each queue with
// each of those above it.
func checkTree(t *testing.T, q api.QueueConfig, above string, ancestors []api.QueueConfig) {
	path := above + "/" + q.Name
	assert.Equal(t, q.Name, strings.ToLower(q.Name))
	assert.Assert(t, q.Parent || len(q.Queues) == 0, path)
	assert.Assert(t, q.Properties.PreemptionDelay > 0, path)
	assert.Assert(t, q.Guaranteed.Within(q.Max), path)
	if len(ancestors) == 0 {
		assert.Equal(t, q.Name, "root")
		assert.Assert(t, q.Guaranteed.IsZero() && q.Max.Equal(nil))
	}
	for _, up := range ancestors {
		for i := range max(len(q.Max), len(up.Max)) {
			kind := resources.Kind(i)
			if q.Max.Of(kind) != resources.Unlimited {
				assert.Assert(t, q.Max.Of(kind) <= up.Max.Of(kind), path)
			}
		}
	}
	var sum resources.Amounts
	seen := map[string]bool{}
	for _, child := range q.Queues {
		assert.Assert(t, !seen[child.Name], path)
		seen[child.Name] = true
		sum.Add(child.Guaranteed)
		checkTree(t, child, path, append(slices.Clip(ancestors), q))
	}
	for _, up := range append(slices.Clip(ancestors), q) {
		assert.Assert(t, sum.Within(up.Max), path)
	}
	for i, v := range q.Guaranteed {
		assert.Assert(t, v == 0 || sum.Of(resources.Kind(i)) <= v, path)
	}
}

// write is a configuration as YAML, in a style of its own: everything in
// quotes and nothing left out.
func write(document *Document, kinds *resources.Kinds) string {
	var b strings.Builder
	b.WriteString("{partitions: [")
	for i, p := range document.Partitions {
		order := "fair"
		if p.Nodes.Packing {
			order = "binpacking"
		}
		if len(p.Nodes.Devices) > 0 {
			order = "devices, devices: {"
			for kind, size := range p.Nodes.Devices {
				order += yamlQuote(kind) + ": " + show(kind, size) + ", "
			}
			order += "}"
		}
		if p.Nodes.Scarcity {
			order = "scarcity" + strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(order, "fair"), "binpacking"), "devices")
		}
		fmt.Fprintf(&b, "{name: %s, nodesortpolicy: {type: %s, resourceweights: {", strconv.Quote(p.Name), order)
		whole := true // only weights that were not scaled can all be whole in millionths
		for _, weight := range p.Nodes.Weights {
			whole = whole && weight%weightScale == 0
		}
		for kind, weight := range p.Nodes.Weights {
			if whole {
				fmt.Fprintf(&b, "%s: %d, ", yamlQuote(kind), weight)
			} else {
				fmt.Fprintf(&b, "%s: %d.%06d, ", yamlQuote(kind), weight/weightScale, weight%weightScale)
			}
		}
		b.WriteString("}}, ")
		writePreemption(&b, p.Preemption)
		b.WriteString(", placementrules: [")
		for _, rule := range document.Definitions[i].Rules {
			writeRule(&b, &rule)
			b.WriteString(", ")
		}
		b.WriteString("], topology: {levels: [")
		for _, keys := range p.Levels {
			b.WriteString("[")
			for _, key := range keys {
				b.WriteString(yamlQuote(key) + ", ")
			}
			b.WriteString("], ")
		}
		fmt.Fprintf(&b, "]}, usergroupresolver: {type: %s}, queues: [", strconv.Quote(p.Resolver))
		writeQueue(&b, p.Root, kinds, p.Closed)
		b.WriteString("]},\n")
	}
	b.WriteString("]}")
	return b.String()
}

func writePreemption(b *strings.Builder, p api.PreemptionConfig) {
	plan := p.RequiredNode
	fmt.Fprintf(b, "preemption: {enabled: %t, quotapreemptionenabled: %t, preemption_start_delay: %s, "+
		"preemption_victim_pods_selection_strategy: %s, preemption_victim_deviation: %d, preemption_victims_max: %d, "+
		"preemption_victim_timeout: %s, preemption_foreign_pods: %t, preemption_priority: %s, preemption_disruption_budgets: %s, "+
		"preemption_victim_order: %s, preemption_loop_max: %d, preemption_loop_window: %s}",
		!p.Disabled, p.Quota, yamlQuote(plan.StartDelay.String()), yamlQuote(strategyNames(plan.Strategies)),
		plan.DeviationMax, plan.VictimsMax, yamlQuote(p.VictimTimeout.String()), !plan.SpareForeign,
		priorityWord(p), budgetsWord(p), orderWord(p), p.LoopMax, yamlQuote(p.LoopWindow.String()))
}

// The words by which the partition knows what was read.

func priorityWord(p api.PreemptionConfig) string {
	return map[api.PriorityPreemption]string{api.StrictlyLower: "strict", api.EqualToo: "equal", api.PriorityOff: "off"}[p.Priority]
}

func budgetsWord(p api.PreemptionConfig) string {
	return map[preemptor.BudgetPolicy]string{
		preemptor.PreferBudgets: "prefer", preemptor.StrictPriority: "strict", preemptor.HardBudgets: "hard",
	}[p.Budgets]
}

func orderWord(p api.PreemptionConfig) string {
	return map[bool]string{false: "age", true: "qos"}[p.ByQoS]
}

func strategyNames(list []preemptor.Strategy) string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.String()
	}
	return strings.Join(names, ",")
}

func writeQueue(b *strings.Builder, q api.QueueConfig, kinds *resources.Kinds, closed bool) {
	fmt.Fprintf(b, "{name: %s, parent: %t, ", strconv.Quote(q.Name), q.Parent)
	if closed {
		fmt.Fprintf(b, "submitacl: %s, adminacl: %s, ", yamlQuote(q.Submit.String()), yamlQuote(q.Admin.String()))
	}
	if t := q.Below; t != nil {
		b.WriteString("childtemplate: {")
		fmt.Fprintf(b, "maxapplications: %d, ", t.ApplicationsMax)
		writeQuotas(b, t.Guaranteed, t.Max, kinds)
		writeProperties(b, t.Leaf.Texts)
		b.WriteString("}, ")
	}
	writeQuotas(b, q.Guaranteed, q.Max, kinds)
	writeLimits(b, q, kinds)
	writeProperties(b, q.Properties.Texts)
	b.WriteString("queues: [")
	for _, child := range q.Queues {
		writeQueue(b, child, kinds, closed)
		b.WriteString(", ")
	}
	b.WriteString("]}")
}

func writeQuotas(b *strings.Builder, guaranteed resources.Amounts, most resources.Limits, kinds *resources.Kinds) {
	b.WriteString("resources: {guaranteed: {")
	for kind, v := range kinds.Map(guaranteed) {
		fmt.Fprintf(b, "%s: %s, ", yamlQuote(kind), show(kind, v))
	}
	b.WriteString("}, max: {")
	for kind, v := range kinds.LimitMap(most) {
		fmt.Fprintf(b, "%s: %s, ", yamlQuote(kind), show(kind, v))
	}
	b.WriteString("}}, ")
}

func writeLimits(b *strings.Builder, q api.QueueConfig, kinds *resources.Kinds) {
	fmt.Fprintf(b, "maxapplications: %d, limits: [", q.ApplicationsMax)
	for _, l := range q.Limits {
		b.WriteString("{users: [")
		for _, name := range l.Users {
			fmt.Fprintf(b, "%s, ", yamlQuote(name))
		}
		b.WriteString("], groups: [")
		for _, name := range l.Groups {
			fmt.Fprintf(b, "%s, ", yamlQuote(name))
		}
		fmt.Fprintf(b, "], maxapplications: %d, maxresources: {", l.ApplicationsMax)
		for kind, v := range kinds.LimitMap(l.Max) {
			fmt.Fprintf(b, "%s: %s, ", yamlQuote(kind), show(kind, v))
		}
		b.WriteString("}}, ")
	}
	b.WriteString("], ")
}

func writeProperties(b *strings.Builder, texts map[string]string) {
	b.WriteString("properties: {")
	for name, text := range texts {
		fmt.Fprintf(b, "%s: %s, ", yamlQuote(name), yamlQuote(text))
	}
	b.WriteString("}, ")
}

func writeRule(b *strings.Builder, rule *Rule) {
	fmt.Fprintf(b, "{name: %s, create: %t, filter: {type: %s, users: [", rule.Name, rule.Create, map[bool]string{false: "allow", true: "deny"}[rule.Filter.Deny])
	for _, name := range rule.Filter.Users {
		fmt.Fprintf(b, "%s, ", yamlQuote(name))
	}
	b.WriteString("], groups: [")
	for _, name := range rule.Filter.Groups {
		fmt.Fprintf(b, "%s, ", yamlQuote(name))
	}
	b.WriteString("]}")
	if rule.Value != "" {
		fmt.Fprintf(b, ", value: %s", yamlQuote(rule.Value))
	}
	if rule.Parent != nil {
		b.WriteString(", parent: ")
		writeRule(b, rule.Parent)
	}
	b.WriteString("}")
}

// yamlQuote is a text in double quotes, in which every sign is written by its
// number.
func yamlQuote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		fmt.Fprintf(&b, "\\U%08X", r)
	}
	b.WriteByte('"')
	return b.String()
}
