package metrics_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"gotest.tools/v3/assert"
)

const (
	tableFile     = "../../docs/metrics.md"
	dashboardFile = "../../docs/grafana/narwhal.json"
)

// A catalogue is metrics by name.
type catalogue map[string]*entry

// An entry is one metric: its type, and the values of each label.
type entry struct {
	kind   string
	labels map[string][]string
}

// gathered is the catalogue of a scrape. The runtime has its metrics by wildcard.
func gathered(t *testing.T) catalogue {
	t.Helper()
	families, err := populated(t).Gather()
	assert.NilError(t, err)
	c := catalogue{}
	for _, f := range families {
		if prefix, _, _ := strings.Cut(f.GetName(), "_"); prefix == "go" || prefix == "process" {
			c[prefix+"_*"] = &entry{kind: "–", labels: map[string][]string{}}
			continue
		}
		e := &entry{kind: strings.ToLower(f.GetType().String()), labels: map[string][]string{}}
		for _, s := range f.Metric {
			e.add(s)
		}
		c[f.GetName()] = e
	}
	return c
}

func (e *entry) add(s *dto.Metric) {
	for _, l := range s.Label {
		values := append(e.labels[l.GetName()], l.GetValue())
		slices.Sort(values)
		e.labels[l.GetName()] = slices.Compact(values)
	}
}

// row is a metric of the document: its name, type and labels.
var row = regexp.MustCompile("(?m)^- `([^`]+)` (counter|gauge|histogram|–): (.*)$")

// documented is the catalogue of the document. The values of a label are nil where the document names none.
func documented(t *testing.T) catalogue {
	t.Helper()
	text, err := os.ReadFile(tableFile)
	assert.NilError(t, err)
	c := catalogue{}
	for _, cells := range row.FindAllStringSubmatch(string(text), -1) {
		assert.Assert(t, c[cells[1]] == nil, "%s is there twice", cells[1])
		c[cells[1]] = &entry{kind: cells[2], labels: labelsIn(cells[3])}
	}
	return c
}

func labelsIn(cell string) map[string][]string {
	labels := map[string][]string{}
	if cell == "–" {
		return labels
	}
	for label := range strings.SplitSeq(cell, ", ") {
		name, values, listed := strings.Cut(label, " = ")
		name = strings.Trim(name, "`")
		labels[name] = nil
		if listed {
			labels[name] = strings.Split(values, " / ")
			slices.Sort(labels[name])
		}
	}
	return labels
}

// TestDocumentIsComplete compares the document with a scrape, both ways.
func TestDocumentIsComplete(t *testing.T) {
	said, there := documented(t), gathered(t)
	assert.DeepEqual(t, sortedKeys(said), sortedKeys(there))
	for _, name := range sortedKeys(there) {
		got, want := there[name], said[name]
		assert.Equal(t, got.kind, want.kind, name)
		assert.DeepEqual(t, sortedKeys(got.labels), sortedKeys(want.labels))
		for label, values := range want.labels {
			if values != nil {
				assert.DeepEqual(t, got.labels[label], values)
			}
		}
	}
}

// formerly is every name of yunikorn-core.
const formerly = `
yunikorn_scheduler_container_allocation_attempt_total yunikorn_scheduler_application_submission_total
yunikorn_scheduler_application_total yunikorn_scheduler_node
yunikorn_scheduler_scheduling_latency_milliseconds yunikorn_scheduler_scheduling_cycle_milliseconds
yunikorn_scheduler_node_sorting_latency_milliseconds yunikorn_scheduler_trynode_latency_milliseconds
yunikorn_scheduler_trynode_evaluation_milliseconds yunikorn_scheduler_trypreemption_latency_milliseconds
yunikorn_scheduler_<type>_node_usage_total yunikorn_queue_app yunikorn_queue_app_total yunikorn_queue_resource
yunikorn_event_total_created yunikorn_event_total_channeled yunikorn_event_total_not_channeled yunikorn_event_total_processed
yunikorn_event_total_stored yunikorn_event_total_not_stored yunikorn_event_total_collected
yunikorn_runtime_go_mem_stats yunikorn_runtime_go_pause_ns yunikorn_runtime_go_pause_end yunikorn_runtime_go_generic
yunikorn_runtime_go_alloc_bysize_maxsize yunikorn_runtime_go_alloc_bysize_free yunikorn_runtime_go_alloc_bysize_malloc
`

// TestFormerNamesAreExplained is for readers with dashboards of their own: each old
// name is there still, or the document says what became of it.
func TestFormerNamesAreExplained(t *testing.T) {
	text, err := os.ReadFile(tableFile)
	assert.NilError(t, err)
	for name := range strings.FieldsSeq(formerly + " yunikorn_<queue") {
		assert.Assert(t, strings.Contains(string(text), "`"+name), name)
	}
}

// TestNamesFollowTheRules has our own names checked by the linter of Prometheus.
func TestNamesFollowTheRules(t *testing.T) {
	m := populated(t)
	var names []string
	for name := range gathered(t) {
		if strings.HasPrefix(name, "narwhal_") || strings.HasPrefix(name, "yunikorn_") {
			names = append(names, name)
		}
	}
	problems, err := testutil.GatherAndLint(m, names...)
	assert.NilError(t, err)
	assert.Equal(t, len(problems), 0, "%v", problems)
}

var (
	selector = regexp.MustCompile(`\b((?:narwhal|yunikorn|go|process)_\w+)(\{[^}]*\})?`)
	matcher  = regexp.MustCompile(`(\w+)(=~|!~|!=|=)"([^"]*)"`)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// askFor looks up every metric that a query names, with its labels and the values
// that it compares them with, and returns how many there are.
func askFor(t *testing.T, there catalogue, query string) (metrics int) {
	t.Helper()
	labels := map[string]bool{"le": true}
	for _, found := range selector.FindAllStringSubmatch(query, -1) {
		e := there.find(found[1])
		assert.Assert(t, e != nil, "%s is no metric, in %s", found[1], query)
		metrics++
		for label := range e.labels {
			labels[label] = true
		}
		for _, m := range matcher.FindAllStringSubmatch(found[2], -1) {
			values, known := e.labels[m[1]]
			assert.Assert(t, known, "%s has no label %s, in %s", found[1], m[1], query)
			for value := range strings.SplitSeq(m[3], "|") {
				assert.Assert(t, strings.HasPrefix(value, "$") || slices.Contains(values, value), "%s has no %s %q, in %s", found[1], m[1], value, query)
			}
		}
	}
	for _, found := range grouping.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(found[1], ", ") {
			assert.Assert(t, labels[label], "no metric has a label %s, in %s", label, query)
		}
	}
	return metrics
}

// find finds a metric by its name, or by that of one of the series of a
// histogram.
func (c catalogue) find(name string) *entry {
	for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
		base, found := strings.CutSuffix(name, suffix)
		if e := c[base]; found && e != nil && (suffix == "") == (e.kind != "histogram") {
			return e
		}
	}
	if prefix, _, _ := strings.Cut(name, "_"); prefix == "go" || prefix == "process" {
		return c[prefix+"_*"]
	}
	return nil
}
