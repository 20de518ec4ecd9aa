package outcome

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/scenarios"
)

// A Spread is the values of a figure over all runs of one core.
type Spread struct {
	Runs                int // that have the figure
	Median, Least, Most float64
	Faulty              int `json:",omitempty"` // runs in which the core was wrong, or did not finish
}

// A Row is a figure of a case, of both cores.
type Row struct {
	Case   string
	Figure string
	Unit   string
	Better scenarios.Better
	Ours   Spread
	Theirs Spread
	// Ratio is how many times better ours is: above 1 where it is. Zero stands for none.
	Ratio float64
}

// Rows is a row for each figure of each case, in the order in which they were measured.
func (r *Report) Rows() []Row {
	var rows []Row
	for _, c := range r.Cases {
		rows = append(rows, c.rows()...)
	}
	return rows
}

func (c *Case) rows() []Row {
	var rows []Row
	for _, core := range []string{Ours, Theirs} {
		for _, result := range c.Runs[core] {
			for _, f := range result.Figures {
				if !slices.ContainsFunc(rows, func(known Row) bool { return known.Figure == f.Name }) {
					rows = append(rows, Row{Case: c.Name(), Figure: f.Name, Unit: f.Unit, Better: f.Better})
				}
			}
		}
	}
	for i := range rows {
		rows[i].Ours = spread(c.Runs[Ours], rows[i].Figure)
		rows[i].Theirs = spread(c.Runs[Theirs], rows[i].Figure)
		rows[i].Ratio = ratio(rows[i])
	}
	return rows
}

func spread(results []scenarios.Result, figure string) Spread {
	var s Spread
	var values []float64
	for _, result := range results {
		if len(result.Faults) > 0 {
			s.Faulty++
		}
		for _, f := range result.Figures {
			if f.Name == figure {
				values = append(values, f.Value)
			}
		}
	}
	s.Runs = len(values)
	if s.Runs == 0 {
		return s
	}
	slices.Sort(values)
	s.Least, s.Most = values[0], values[len(values)-1]
	s.Median = (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	return s
}

// ratio compares medians. There is none where a core has no value, or one that is zero.
func ratio(row Row) float64 {
	ours, theirs := row.Ours.Median, row.Theirs.Median
	switch {
	case ours <= 0 || theirs <= 0 || row.Better == scenarios.Equal:
		return 0
	case row.Better == scenarios.Higher:
		return ours / theirs
	default:
		return theirs / ours
	}
}
