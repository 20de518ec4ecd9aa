package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/plot"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// A tile is a number and what it counts.
type tile struct{ Value, Text string }

// A cell is one field of a table.
type cell struct {
	Text   string
	Indent int  // steps to the right
	Word   bool // not a number
	Long   bool // may be broken into lines
}

type table struct {
	Title string
	Head  []cell
	Rows  [][]cell
}

// page is what the template is filled with.
type page struct {
	Title, Description, Headline, Facts string
	Tiles                               []tile
	Charts                              []plot.Chart
	Tables                              []table
	Plans                               []plan
	PlansNote                           string
	Style                               template.CSS
}

// A plan is one that can be opened to read its explanation.
type plan struct{ Title, Summary, Text string }

// plansMax is how many plans a page explains.
const plansMax = 200

// explain fills in the plans, if there are any.
func (p *page) explain(preemption *simulator.Preemption) {
	if preemption == nil {
		return
	}
	for i, one := range preemption.Records {
		if i == plansMax {
			break
		}
		p.Plans = append(p.Plans, plan{
			Title: one.Title(), Summary: simulator.Readable(one.Summary),
			Text: simulator.Readable(strings.Join(one.Explanation, "\n")),
		})
	}
	p.PlansNote = "Open a plan to see the candidates, the filtered ones and why, the strategies that were tried, and the victims."
	if more := preemption.Count() - len(p.Plans); more > 0 {
		p.PlansNote += fmt.Sprintf(" These are the first; %s more are not shown.", simulator.Thousands(int64(more)))
	}
}

// Write writes the page of a result. The same result gives the same bytes.
func Write(w io.Writer, r *simulator.Result) error {
	p := page{
		Title:       r.Scenario,
		Description: r.Description,
		Headline:    r.Headline(),
		Facts:       fmt.Sprintf("%s of virtual time, seed %d", simulator.Clock(r.Time.Duration()), r.Seed),
		Tiles:       tiles(r),
		Charts:      plots(r),
		Style:       plot.Style,
	}
	for _, t := range r.Tables() {
		p.Tables = append(p.Tables, cells(t))
	}
	p.explain(r.Preemption)
	// Into memory first, so that a page is whole or not there.
	var whole bytes.Buffer
	if err := pageTemplate.Execute(&whole, p); err != nil {
		return fmt.Errorf("report of %s: %w", r.Scenario, err)
	}
	_, err := w.Write(whole.Bytes())
	return err
}

// longText is how many bytes of a cell may be on one line.
const longText = 60

func cells(t simulator.Table) table {
	out := table{Title: t.Title}
	row := func(texts []string) []cell {
		cells := make([]cell, len(texts))
		for i, text := range texts {
			bare := strings.TrimLeft(text, " ")
			cells[i] = cell{Text: bare, Indent: (len(text) - len(bare)) / 2, Word: i < t.Words, Long: len(text) > longText}
		}
		return cells
	}
	out.Head = row(t.Head)
	for _, texts := range t.Rows {
		out.Rows = append(out.Rows, row(texts))
	}
	return out
}
