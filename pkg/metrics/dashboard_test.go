package metrics_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// A dashboard is what the tests look at of one.
type dashboard struct {
	Schema     int `json:"schemaVersion"`
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []panel
}

type panel struct {
	ID          int
	Type        string
	Title       string
	Description string
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct{ RefID, Expr, LegendFormat string }
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	assert.NilError(t, err)
	var d dashboard
	assert.NilError(t, json.Unmarshal(text, &d))
	return d
}

var (
	variable    = regexp.MustCompile(`\$([a-z]\w*)`)
	legendLabel = regexp.MustCompile(`\{\{(\w+)\}\}`)
	labelValues = regexp.MustCompile(`^label_values\(.*, (\w+)\)$`)
)

// TestDashboardAsksForWhatThereIs looks up every query in a scrape, and that none
// of our metrics is left out.
func TestDashboardAsksForWhatThereIs(t *testing.T) {
	d, there := readDashboard(t), gathered(t)
	var all strings.Builder
	queries := 0
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			assert.Assert(t, askFor(t, there, target.Expr) > 0, "%s asks for nothing", p.Title)
			for _, label := range legendLabel.FindAllStringSubmatch(target.LegendFormat, -1) {
				assert.Assert(t, known(there, target.Expr, label[1]), "%s: no label %s for the legend of %s", p.Title, label[1], target.Expr)
			}
			all.WriteString(target.Expr)
			queries++
		}
	}
	assert.Assert(t, queries > 40)
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		assert.Equal(t, askFor(t, there, v.Definition), 1)
		found := labelValues.FindStringSubmatch(v.Definition)
		assert.Assert(t, found != nil && known(there, v.Definition, found[1]), v.Definition)
		all.WriteString(v.Definition)
	}
	for _, name := range sortedKeys(there) {
		name = strings.TrimSuffix(name, "*")
		assert.Assert(t, strings.Contains(all.String(), name), "%s is on no panel", name)
	}
}

// known reports whether a metric of a query has a label.
func known(there catalogue, query, label string) bool {
	for _, found := range selector.FindAllStringSubmatch(query, -1) {
		if _, ok := there.find(found[1]).labels[label]; ok || label == "le" {
			return true
		}
	}
	return false
}

// TestDashboardIsWhole looks at what Grafana takes silently and shows wrong.
func TestDashboardIsWhole(t *testing.T) {
	d := readDashboard(t)
	assert.Assert(t, d.Schema >= 39, "that of Grafana 11")
	variables := map[string]bool{"__rate_interval": true}
	for _, v := range d.Templating.List {
		variables[v.Name] = true
	}
	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		assert.Assert(t, !ids[p.ID], "two panels have the number %d", p.ID)
		ids[p.ID] = true
		assert.Assert(t, p.Title != "")
		assert.Assert(t, p.Type == "row" || p.Description != "" && len(p.Targets) > 0, "%s explains and asks", p.Title)
		refs := map[string]bool{}
		for _, target := range p.Targets {
			assert.Assert(t, !refs[target.RefID], "%s has two queries %s", p.Title, target.RefID)
			refs[target.RefID] = true
			for _, v := range variable.FindAllStringSubmatch(target.Expr, -1) {
				assert.Assert(t, variables[v[1]], "%s uses $%s, which is not there", p.Title, v[1])
			}
		}
		at := p.GridPos
		assert.Assert(t, at.W > 0 && at.H > 0 && at.X+at.W <= 24, "%s is outside the page", p.Title)
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				assert.Equal(t, taken[[2]int{x, y}], "", "%s covers another panel", p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}
