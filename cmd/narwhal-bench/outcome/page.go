package outcome

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"

	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/scenarios"
	"github.com/narwhal-scheduler/narwhal/pkg/plot"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// A page is what the template is filled with.
type page struct {
	*Report
	Style    template.CSS
	Versions string
	Ratios   plot.Bars
	Charts   []plot.Chart
	Head     []string
	Rows     [][]string
	Loads    []load
	Wrong    []string
}

// A load is a scenario and why it is measured.
type load struct{ Name, About string }

// WritePage writes the report as a page that needs no script and no network.
func (r *Report) WritePage(to io.Writer) error {
	lines := r.lines()
	p := page{
		Report: r, Style: plot.Style, Ratios: r.ratios(), Charts: r.growth(), Head: lines[0], Rows: lines[1:],
		Versions: fmt.Sprintf("Narwhal %s, yunikorn-core %s", r.Versions[Ours], r.Versions[Theirs]),
	}
	for _, c := range r.Cases {
		if n := len(p.Loads); n == 0 || p.Loads[n-1].Name != c.Scenario {
			p.Loads = append(p.Loads, load{c.Scenario, scenarios.About(c.Scenario)})
		}
	}
	for _, core := range []string{Ours, Theirs} {
		for _, fault := range r.Faults(core) {
			p.Wrong = append(p.Wrong, core+": "+fault)
		}
	}
	// Into memory first, so that a page is whole or not there.
	var whole bytes.Buffer
	if err := pageTemplate.Execute(&whole, p); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err := whole.WriteTo(to)
	return err
}

// ratios is a bar for each ratio, without those of series.
func (r *Report) ratios() plot.Bars {
	b := plot.Bars{Title: "How many times better", Note: "Medians, on a logarithmic axis. A bar to the left of 1 is a figure in which YuniKorn is better."}
	values := []float64{1}
	for _, c := range r.Cases {
		if c.Of != "" {
			continue
		}
		for _, row := range c.rows() {
			if row.Ratio == 0 {
				continue
			}
			class := "c0"
			if row.Ratio < 1 {
				class = "c7"
			}
			values = append(values, row.Ratio)
			b.Rows = append(b.Rows, plot.Bar{Name: row.Case + ": " + row.Figure, Text: times(row.Ratio), Class: class, Value: row.Ratio})
		}
	}
	b.Axis = plot.Powers("", values, short)
	return b
}

// growth is a chart for each thing that grows: placements a second of both cores.
func (r *Report) growth() []plot.Chart {
	var charts []plot.Chart
	var of []string
	for _, c := range r.Cases {
		if c.Of != "" && (len(of) == 0 || of[len(of)-1] != c.Of) {
			of = append(of, c.Of)
		}
	}
	for _, what := range of {
		charts = append(charts, r.growthOf(what))
	}
	return charts
}

func (r *Report) growthOf(what string) plot.Chart {
	lines := []plot.Line{{Name: "Narwhal", Class: "c0", Dots: true}, {Name: "YuniKorn", Class: "c1", Dots: true}}
	var across, up []float64
	for _, c := range r.Cases {
		if c.Of != what {
			continue
		}
		for i, core := range []string{Ours, Theirs} {
			rows := c.rows()
			if s := spread(c.Runs[core], rows[0].Figure); s.Median > 0 {
				lines[i].Points = append(lines[i].Points, plot.Point{X: float64(c.At), Y: s.Median})
				across, up = append(across, float64(c.At)), append(up, s.Median)
			}
		}
	}
	return plot.Chart{
		Title: "Filling, as " + what + " grow", Note: "Placements in a second. Both axes are logarithmic.",
		X: plot.Powers(what, across, short), Y: plot.Powers("placements/s", up, short), Lines: lines,
	}
}

// short writes a power of ten in the little room beside an axis.
func short(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e6, "M"}, {1e3, "k"}} {
		if v >= unit.size {
			return strconv.FormatFloat(v/unit.size, 'f', -1, 64) + unit.name
		}
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
