package simulator_test

import (
	"bytes"
	"fmt"
	"html/template"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/plot"
)

// filledPage is a page with a row and a chart for each list: what is used of the GPUs against what arrived.
func filledPage(t *testing.T, all []filledRun) []byte {
	t.Helper()
	type row struct {
		Name, Published string
		Used            []string
	}
	var rows []row
	var charts []plot.Chart
	for i := 0; i < len(all); i += len(filledOrders) {
		list := all[i].list
		r := row{Name: list.name, Published: fmt.Sprintf("%.1f", list.published)}
		chart := plot.Chart{
			Title: list.name,
			Note:  fmt.Sprintf("The last fifth of what pods ask for. The dashed line is the best that was published when all have arrived, %.1f %%.", list.published),
			X:     percents("asked for by pods that arrived, % of all GPUs", 80),
			Y:     percents("used, % of all GPUs", 70),
			Level: list.published,
		}
		for j, is := range all[i : i+len(filledOrders)] {
			r.Used = append(r.Used, fmt.Sprintf("%.2f, %.2f", is.used[0], is.used[1]))
			line := plot.Line{Name: is.order, Class: fmt.Sprint("c", j)}
			for _, p := range is.points {
				if p[0] >= 80 && p[1] >= 70 {
					line.Points = append(line.Points, plot.Point{X: p[0], Y: p[1]})
				}
			}
			chart.Lines = append(chart.Lines, line)
		}
		rows, charts = append(rows, r), append(charts, chart)
	}
	var out bytes.Buffer
	assert.NilError(t, filledTemplate.Execute(&out, map[string]any{"Style": plot.Style, "Orders": filledOrders, "Rows": rows, "Charts": charts}))
	return out.Bytes()
}

// percents is an axis up to all, with a tick at every fifth percent.
func percents(unit string, least float64) plot.Axis {
	return plot.Axis{Unit: unit, Least: least, Most: 100, Ticks: func(int) (ticks []plot.Tick) {
		for at := least; at <= 100; at += 5 {
			ticks = append(ticks, plot.Tick{At: at, Text: fmt.Sprint(at)})
		}
		return ticks
	}}
}

var filledTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Placement on the openb trace</title><style>{{.Style}}</style></head><body><main>
<h1>Placement on the openb trace</h1>
<p>Pods arrive one by one until they ask for all 6,212 GPUs of 1,523 nodes, and never leave. In percent of the GPUs, for two orders of pods; the lists are those of which
the pods name models (gpuspec) and others. Those with a percentage are made of gpuspec33. Published: Weng and others, Beware of Fragmentation, USENIX ATC 2023.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Used"><table>
<tr><th class="word">list</th><th>published</th>{{range .Orders}}<th>{{.Name}}</th>{{end}}</tr>
{{range .Rows}}<tr><td class="word">{{.Name}}</td><td>{{.Published}}</td>{{range .Used}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table></div>
{{range .Charts}}<section><h2>{{.Title}}</h2><p class="soft">{{.Note}}</p>
<ul class="legend">{{range .Legend}}<li><i class="{{.Class}}"></i>{{.Name}}</li>{{end}}</ul>
{{.SVG}}</section>
{{end}}</main></body></html>
`))
