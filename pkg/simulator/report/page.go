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

// A table is one of the result. Rows beyond the first ones are folded.
type table struct {
	Title  string
	Head   []cell
	Rows   [][]cell
	Folded [][]cell
}

// ID is the anchor of the table.
func (t table) ID() string { return anchor("table", t.Title) }

// anchor is the name of a place in the page.
func anchor(kind, title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else {
			b.WriteByte('-')
		}
	}
	return kind + "-" + b.String()
}

// page is what the template is filled with.
type page struct {
	Title, Description, Headline, Facts string
	Origin                              Origin
	StandsOut                           []string // in sentences
	Tiles                               []tile
	Charts                              []chart
	Nothing                             []chart // of which nothing happened
	Tables                              []table
	Plans                               []plans
	PlansNote                           string
	Style                               template.CSS
}

// An Origin is what makes the same result again.
type Origin struct {
	Command string // for a shell; empty if it is not known
	Version string
	Sources []Source // what the command reads
}

// A Source is a file, or what came with the command.
type Source struct{ Name, Text string }

// A plan is one that can be opened to read its explanation.
type plan struct{ Title, Summary, Text string }

// A plans is some that follow each other, which are folded together if there are many.
type plans struct {
	Title string
	Plans []plan
}

// plansFolded is how many plans are folded together.
const plansFolded = 100

// explain fills in the plans, if there are any.
func (p *page) explain(preemption *simulator.Preemption) {
	if preemption == nil {
		return
	}
	records := preemption.Records
	for i := 0; i < len(records); i += plansFolded {
		some := records[i:min(i+plansFolded, len(records))]
		part := plans{Title: fmt.Sprintf("Plans %s to %s of %s, from %s on", simulator.Thousands(int64(i+1)),
			simulator.Thousands(int64(i+len(some))), simulator.Thousands(int64(len(records))), simulator.Clock(some[0].At.Duration()))}
		for _, one := range some {
			part.Plans = append(part.Plans, plan{
				Title: one.Title(), Summary: simulator.Readable(one.Summary),
				Text: simulator.Readable(strings.Join(one.Explanation, "\n")),
			})
		}
		p.Plans = append(p.Plans, part)
	}
	p.PlansNote = "Open a plan to see the candidates, the filtered ones and why, what was tried, and the victims."
	if more := preemption.Count() - len(records); more > 0 {
		p.PlansNote += fmt.Sprintf(" These are all that are kept; %s more came later.", simulator.Thousands(int64(more)))
	}
}

// Write writes the page of a result. The same result and origin give the same bytes.
func Write(w io.Writer, r *simulator.Result, from Origin) error {
	p := page{
		Title:       r.Scenario,
		Description: r.Description,
		Headline:    r.Headline(),
		StandsOut:   r.StandsOut(),
		Facts:       fmt.Sprintf("%s of virtual time, seed %d", simulator.Clock(r.Time.Duration()), r.Seed),
		Origin:      from,
		Tiles:       tiles(r),
		Style:       plot.Style,
	}
	for _, c := range plots(r) {
		if c.Empty() {
			p.Nothing = append(p.Nothing, c)
		} else {
			p.Charts = append(p.Charts, c)
		}
	}
	for _, t := range r.Tables(true) {
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

// rowsOpen is how many rows of a table are open. A few more are not worth folding.
const rowsOpen = 60

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
	for i, texts := range t.Rows {
		if i < rowsOpen || len(t.Rows) <= rowsOpen+rowsOpen/4 {
			out.Rows = append(out.Rows, row(texts))
		} else {
			out.Folded = append(out.Folded, row(texts))
		}
	}
	return out
}
