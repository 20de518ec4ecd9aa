package scenario

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// none stands for an empty field.
const none = "-"

// An output is what comes out of a step, as text. What is recorded waits until it
// is shown.
type output struct {
	strings.Builder
	kinds   *resources.Kinds
	indent  string   // before each event
	records []string // not shown yet
}

// event adds a line if the resource manager hears of an event, and keeps its record.
func (o *output) event(event api.Event) {
	if line := heard(event); line != "" {
		o.printf("%s%s\n", o.indent, line)
	}
	if record := o.record(event); record != "" {
		o.records = append(o.records, record)
	}
}

// at puts what comes out of a call below its moment, if anything does.
func (o *output) at(moment time.Time, call func()) {
	before := o.String()
	o.Reset()
	o.indent = "  "
	call()
	o.indent = ""
	after := o.String()
	o.Reset()
	o.WriteString(before)
	if after != "" {
		o.printf("at %s\n%s", offset(moment), after)
	}
}

// table aligns the cells of rows and leaves no space at the end of a line.
func (o *output) table(fill func(row func(cells ...string))) {
	var b strings.Builder
	aligned := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fill(func(cells ...string) {
		fmt.Fprintln(aligned, strings.Join(cells, "\t"))
	})
	aligned.Flush() //nolint:errcheck // a Builder takes everything
	for line := range strings.Lines(b.String()) {
		o.printf("%s\n", strings.TrimRight(line, " \n"))
	}
}

// amounts prints quantities as one would write them.
func (o *output) amounts(a resources.Amounts) string {
	return quantities(o.kinds.Map(a))
}

func (o *output) limits(l resources.Limits) string {
	return quantities(o.kinds.LimitMap(l))
}

// printf adds to what comes out.
func (o *output) printf(format string, args ...any) { fmt.Fprintf(o, format, args...) }

// offset is a time as it is printed.
func offset(t time.Time) string { return t.Sub(start).String() }
