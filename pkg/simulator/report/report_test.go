package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator/report"
)

func page(t *testing.T, change func(*simulator.Result)) string {
	t.Helper()
	text, err := simulator.ExampleText("small")
	assert.NilError(t, err)
	s, err := simulator.Parse(text)
	assert.NilError(t, err)
	r, err := simulator.Run(s, simulator.Options{})
	assert.NilError(t, err)
	change(r)
	var b bytes.Buffer
	assert.NilError(t, report.Write(&b, r, report.Origin{}))
	return b.String()
}

// drawings are the svg elements of a page.
func drawings(t *testing.T, page string) []string {
	t.Helper()
	return regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(page, -1)
}

// assertWellFormed reads a drawing as XML, which is stricter than a browser,
// and returns its text.
func assertWellFormed(t *testing.T, drawing string) string {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(drawing))
	var text strings.Builder
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return text.String()
		}
		assert.NilError(t, err)
		if data, ok := token.(xml.CharData); ok {
			text.Write(data)
			text.WriteByte('\n')
		}
	}
}

func TestPlots(t *testing.T) {
	svgs := drawings(t, page(t, func(*simulator.Result) {}))
	// Utilisation, pending pods, the guarantees of two kinds and three kinds, each in two sizes.
	assert.Equal(t, len(svgs), 2*7)
	for _, svg := range svgs {
		text := assertWellFormed(t, svg)
		for _, want := range []string{"virtual time\n", "1 failed\n", "1m\n"} {
			if strings.Contains(svg, `class="wide"`) {
				assert.Assert(t, strings.Contains(text, want), "%q in %s", want, text)
			}
		}
		assert.Assert(t, strings.Contains(text, "% of capacity\n") || strings.Contains(text, "% of the guarantee\n") ||
			strings.Contains(text, "pods\n") || strings.Contains(text, "cores\n") || strings.Contains(text, "GiB\n") || strings.Contains(text, "devices\n"))
		assert.Assert(t, !strings.Contains(svg, "NaN") && !strings.Contains(svg, "Inf"))
	}
}

func TestPageIsSelfContained(t *testing.T) {
	p := page(t, func(*simulator.Result) {})
	bare := strings.ReplaceAll(p, `xmlns="http://www.w3.org/2000/svg"`, "")
	for _, outside := range []string{"http:", "https:", "//", "<script", "<link", "<img", "<iframe", "@import", "url("} {
		assert.Assert(t, !strings.Contains(bare, outside), outside)
	}
	assert.Assert(t, strings.Contains(p, "prefers-color-scheme: dark"))
	assert.Assert(t, strings.Contains(p, `name="viewport"`))
}

func TestSameResultSameBytes(t *testing.T) {
	first := page(t, func(*simulator.Result) {})
	second := page(t, func(*simulator.Result) {})
	assert.Assert(t, first == second)
}

func TestNamesAreEscaped(t *testing.T) {
	evil := `<script>alert("1")</script>&`
	p := page(t, func(r *simulator.Result) {
		r.Scenario, r.Description = evil, evil
		r.Series.Resources[0].Kind = evil
		r.Series.Queues[0].Path = evil
		r.Incidents[0].Nodes = []string{evil}
	})
	assert.Assert(t, !strings.Contains(p, "<script"))
	for _, svg := range drawings(t, p) {
		assertWellFormed(t, svg)
	}
}

// TestNothingHappened: a result without any series is still a page.
func TestNothingHappened(t *testing.T) {
	var b bytes.Buffer
	assert.NilError(t, report.Write(&b, &simulator.Result{Scenario: "nothing"}, report.Origin{}))
	for _, svg := range drawings(t, b.String()) {
		assertWellFormed(t, svg)
	}
}

func TestManyQueuesShareAColour(t *testing.T) {
	p := page(t, func(r *simulator.Result) {
		for range 20 {
			more := r.Series.Queues[1]
			more.Path += "x"
			r.Series.Queues = append(r.Series.Queues, more)
		}
	})
	assert.Assert(t, strings.Contains(p, "other queues"))
}

// TestTriggersAreDrawn: victims by why, the room being made, and when limits changed.
func TestTriggersAreDrawn(t *testing.T) {
	text, err := simulator.ExampleText("fairness")
	assert.NilError(t, err)
	s, err := simulator.Parse(text)
	assert.NilError(t, err)
	r, err := simulator.Run(s, simulator.Options{})
	assert.NilError(t, err)
	var b bytes.Buffer
	assert.NilError(t, report.Write(&b, r, report.Origin{}))
	for _, want := range []string{
		"<h2>Victims</h2>", "by priority</li>", "by guarantee</li>", "by quota</li>", "<h2>Room being made</h2>", "nominated to a node</li>",
	} {
		assert.Equal(t, strings.Count(b.String(), want), 1, want)
	}
	assert.Assert(t, !strings.Contains(b.String(), "pods of daemonsets that wait</li>"))
	for _, svg := range drawings(t, b.String()) {
		assert.Assert(t, strings.Contains(assertWellFormed(t, svg), "limits of red\n"))
	}
}

// TestPlansCanBeOpened: every plan of a roll-out is there with its explanation, up
// to as many as a page takes, and names in it are escaped.
func TestPlansCanBeOpened(t *testing.T) {
	text, err := simulator.ExampleText("daemonsets")
	assert.NilError(t, err)
	s, err := simulator.Parse(text)
	assert.NilError(t, err)
	r, err := simulator.Run(s, simulator.Options{})
	assert.NilError(t, err)
	write := func() string {
		var b bytes.Buffer
		assert.NilError(t, report.Write(&b, r, report.Origin{}))
		return b.String()
	}
	p := write()
	assert.Equal(t, strings.Count(p, "<details>"), len(r.Preemption.Records))
	assert.Assert(t, strings.Contains(p, "victims found: frees memory=4Gi vcore=2 for memory=4070Mi vcore=2"))
	assert.Assert(t, strings.Contains(p, "<h2>Victims by class and strategy</h2>"))
	assert.Assert(t, strings.Contains(p, "Pods evicted up to then, by required node."))
	// Utilisation, pending pods, two of preemption and two kinds, each in two sizes.
	svgs := drawings(t, p)
	assert.Equal(t, len(svgs), 2*6)
	for _, svg := range svgs {
		assertWellFormed(t, svg)
	}
	// A thousand more are folded, a hundred together, and none is left out.
	for range 1000 {
		r.Preemption.Records = append(r.Preemption.Records, simulator.PlanRecord{Ask: "<b>"})
	}
	r.Preemption.Plans["chosen"] += 1300
	p = write()
	assert.Equal(t, strings.Count(p, "&lt;b&gt;"), 1000)
	assert.Equal(t, strings.Count(p, "<details>"), 1029)
	assert.Equal(t, strings.Count(p, `<details class="part">`), 11)
	assert.Assert(t, strings.Contains(p, "<summary>Plans 101 to 200 of 1,029, from 0s on</summary>"))
	assert.Assert(t, strings.Contains(p, "These are all that are kept; 300 more came later."))
}

// TestScaledToWhatHappened: the axis of a cluster that is hardly used ends near the most that
// was used, says so, and that of one that is used goes up to 100 percent.
func TestScaledToWhatHappened(t *testing.T) {
	use := func(perMille int64) string {
		return page(t, func(r *simulator.Result) {
			for i := range r.Series.Resources {
				s := &r.Series.Resources[i]
				for n := range s.Used {
					s.Used[n] = s.Capacity[n] * perMille / 1000
				}
			}
		})
	}
	quiet, busy := use(8), use(800)
	first := func(p string) string { return assertWellFormed(t, drawings(t, p)[0]) }
	assert.Assert(t, strings.Contains(first(quiet), "0.8%\n"), first(quiet))
	assert.Assert(t, !strings.Contains(first(quiet), "10%\n"))
	assert.Assert(t, strings.Contains(quiet, "The axis is scaled to what happened"))
	assert.Assert(t, strings.Contains(first(busy), "100%\n"))
}

// TestNothingPended: a chart without anything on it is a sentence.
func TestNothingPended(t *testing.T) {
	p := page(t, func(r *simulator.Result) {
		clear(r.Series.Pending)
		for i := range r.Series.Queues {
			clear(r.Series.Queues[i].Pending)
		}
	})
	assert.Assert(t, strings.Contains(p, "<p>Pending pods: none at any time.</p>"))
	assert.Assert(t, !strings.Contains(p, `id="chart-pending-pods"`))
}

// TestGuaranteesAreDrawn: a queue whose guarantee is above its leaves counts what they use.
func TestGuaranteesAreDrawn(t *testing.T) {
	p := page(t, func(r *simulator.Result) {
		r.Queues[0].Guaranteed = map[string]int64{"gpu": 500}
	})
	_, chart, ok := strings.Cut(p, `<section id="chart-guarantees-of-gpu">`)
	assert.Assert(t, ok, "there is no chart")
	chart, _, _ = strings.Cut(chart, "</section>")
	assert.Assert(t, strings.Contains(chart, "% of the guarantee"))
	assert.Assert(t, strings.Contains(chart, `class="level"`), "the line of the guarantee is missing")
	assert.Assert(t, strings.Contains(chart, "200%"), "1.2 devices of 0.5: %s", chart)
}

// TestContents: each entry of the table of contents leads to a part of the page.
func TestContents(t *testing.T) {
	p := page(t, func(*simulator.Result) {})
	links := regexp.MustCompile(`<a href="#([^"]+)">`).FindAllStringSubmatch(p, -1)
	assert.Equal(t, len(links), strings.Count(p, "<section id="))
	for _, link := range links {
		assert.Equal(t, strings.Count(p, `id="`+link[1]+`"`), 1, link[1])
	}
}

// TestTablesAreWhole: rows beyond the first ones are folded, and none is left out.
func TestTablesAreWhole(t *testing.T) {
	p := page(t, func(r *simulator.Result) {
		for range 600 {
			r.Incidents = append(r.Incidents, simulator.IncidentRecord{What: "drain", Nodes: []string{"a", "b", "c", "d", "e", "f", "g", "last"}})
		}
	})
	assert.Equal(t, strings.Count(p, "a, b, c, d, e, f, g, last"), 600)
	assert.Assert(t, strings.Contains(p, "<summary>544 more rows</summary>"))
	assert.Assert(t, !strings.Contains(p, "more</td>"))
}

// TestOrigin: the head of the page says how to make it again.
func TestOrigin(t *testing.T) {
	text, err := simulator.ExampleText("small")
	assert.NilError(t, err)
	s, err := simulator.Parse(text)
	assert.NilError(t, err)
	r, err := simulator.Run(s, simulator.Options{})
	assert.NilError(t, err)
	var b bytes.Buffer
	from := report.Origin{Command: "narwhal simulate --seed 7", Version: "v1.2.3", Sources: []report.Source{{Name: "The scenario: a.yaml", Text: "name: <b>"}}}
	assert.NilError(t, report.Write(&b, r, from))
	head, _, _ := strings.Cut(b.String(), "</header>")
	for _, want := range []string{"<pre>narwhal simulate --seed 7</pre>", "v1.2.3", "<summary>The scenario: a.yaml</summary>", "name: &lt;b&gt;"} {
		assert.Assert(t, strings.Contains(head, want), want)
	}
}
