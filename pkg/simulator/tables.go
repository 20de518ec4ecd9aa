package simulator

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Table is a part of the summary, for a terminal or a page.
type Table struct {
	Title string
	Head  []string
	Words int // so many columns from the left are words, the rest numbers
	Rows  [][]string
}

// Headline says in one sentence how the run ended.
func (r *Result) Headline() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s pods were placed", Thousands(int64(r.Pods.Placed)), Thousands(int64(r.Pods.Arrived)))
	var rest []string
	for _, part := range []struct {
		pods int
		what string
	}{
		{r.Pods.Pending, "still wait"},
		{r.Pods.GaveUp, "left without having been placed"},
		{r.Pods.Rejected, "were rejected"},
		{r.Pods.Cancelled, "were taken back"},
	} {
		if part.pods > 0 {
			rest = append(rest, Thousands(int64(part.pods))+" "+part.what)
		}
	}
	if len(rest) > 0 {
		b.WriteString("; " + strings.Join(rest, ", "))
	}
	b.WriteString(".")
	if s := r.Stopped; s != nil {
		clock := func(at Seconds) string { return Clock(at.Duration()) }
		fmt.Fprintf(&b, " The run stopped at %s: no event was planned, and the next timer of the scheduler, due at %s, is more than %s after the last event. With until it goes on.",
			clock(s.At), clock(s.Due), clock(s.Quiet))
	}
	return b.String()
}

// Tables is what came out in tables; those without content are left out. Where whole is
// false long ones end with how many rows more there are.
func (r *Result) Tables(whole bool) []Table {
	shown := rowsShown{incidents: incidentsShown, nodes: nodesShown, failed: failedShown}
	if whole {
		shown = rowsShown{incidents: math.MaxInt, nodes: math.MaxInt, failed: math.MaxInt}
	}
	var filled []Table
	for _, t := range []Table{
		r.podTable(), r.preemptionTable(), r.triggerTable(), r.victimTable(), r.helpedTable(), r.byQueueTable(), r.budgetTable(), r.failedTable(shown),
		r.resourceTable(), r.queueTable(), r.queuePodTable(),
		reasonTable("Pending at the end", r.Pending), reasonTable("Left without having been placed", r.GaveUp),
		r.rejectionTable(), r.incidentTable(shown),
	} {
		if len(t.Rows) > 0 {
			filled = append(filled, t)
		}
	}
	return filled
}

// podTable is everything that is counted, without what did not occur.
func (r *Result) podTable() Table {
	t := Table{Title: "What happened", Head: []string{"", "what", "count"}, Words: 2}
	group := t.group
	p, n, f, g, x := r.Pods, r.Nodes, r.Foreign, r.Gangs, r.Faults
	group("pods", "arrived", p.Arrived, "placed", p.Placed, "ran to their end", p.Ended, "running at the end", p.Running,
		"pending at the end", p.Pending, "left without having been placed", p.GaveUp, "rejected", p.Rejected,
		"taken back", p.Cancelled, "evicted by drains", p.Evicted-p.Preempted, "preempted", p.Preempted, "lost with their node", p.Lost, "asked for again", p.Restarted)
	group("nodes", "joined", n.Joined, "failed", n.Failed, "returned", n.Returned, "drained", n.Drained,
		"undrained", n.Undrained, "there at the end", n.AtEnd)
	group("foreign pods", "reported", f.Reported, "of these static", f.Static, "resized", f.Resized, "ended", f.Ended,
		"lost with their node", f.Lost, "there at the end", f.AtEnd)
	group("placeholders", "asked for", g.Asked, "placed", g.Placed, "replaced by their pods", g.Replaced, "timed out", g.TimedOut, "asked for again", g.Again)
	group("faults", "could not be bound", x.BindFailures, "releases late", x.ReleasesLate, "releases twice", x.ReleasesTwice,
		"releases never", x.ReleasesNever, "reports twice", x.ReportsTwice, "foreign before their node", x.ForeignEarly, "crossed messages", x.Crossed)
	return t
}

// group adds a row for each pair of a text and a count that is not zero; the name
// stands before the first.
func (t *Table) group(name string, counts ...any) {
	for i := 0; i < len(counts); i += 2 {
		if n := counts[i+1].(int); n > 0 {
			t.Rows = append(t.Rows, []string{name, counts[i].(string), Thousands(int64(n))})
			name = ""
		}
	}
}

func (r *Result) units() []Unit {
	units := make([]Unit, len(r.Resources))
	for i, u := range r.Resources {
		units[i] = UnitOf(u.Kind, max(u.Capacity, u.Peak))
	}
	return units
}

func (r *Result) resourceTable() Table {
	t := Table{
		Title: "Utilisation",
		Head:  []string{"resource", "unit", "capacity", "used mean", "%", "used peak", "%", "foreign mean", "%"},
		Words: 2,
	}
	units := r.units()
	for _, i := range r.Important() {
		u, unit := r.Resources[i], units[i]
		if u.Capacity == 0 && u.Peak == 0 && u.ForeignPeak == 0 {
			continue // of hugepages, many nodes have none
		}
		t.Rows = append(t.Rows, []string{
			u.Kind, unit.Name, unit.Format(u.Capacity), unit.Format(u.Mean), Percent(u.MeanPerMille),
			unit.Format(u.Peak), Percent(u.PeakPerMille), unit.Format(u.ForeignMean), Percent(u.OtherPerMille),
		})
	}
	return t
}

// queueTable has a row for each queue and kind that it uses or that is
// configured for it.
func (r *Result) queueTable() Table {
	t := Table{
		Title: "Queues",
		Head:  []string{"queue", "resource", "unit", "guaranteed", "max", "used mean", "used peak", "% of cluster"},
		Words: 3,
	}
	units, order := r.units(), r.Important()
	for _, q := range r.Queues {
		name := q.indented()
		for n, i := range order {
			unit := units[i]
			guaranteed, isGuaranteed := q.Guaranteed[unit.Kind]
			limit, limited := q.Max[unit.Kind]
			if q.Peak[unit.Kind] == 0 && !isGuaranteed && !limited && (n > 0 || q.Peak != nil && anyUse(q.Peak)) {
				continue
			}
			t.Rows = append(t.Rows, []string{
				name, unit.Kind, unit.Name, orDash(isGuaranteed, unit.Format(guaranteed)), orDash(limited, unit.Format(limit)),
				unit.Format(q.Mean[unit.Kind]), unit.Format(q.Peak[unit.Kind]),
				Percent(perMille(q.Mean[unit.Kind], r.Resources[i].Capacity)),
			})
			name = ""
		}
	}
	return t
}

// Important are the numbers of the resources, those first that a queue is guaranteed, then
// those that one is limited in, then cores, memory, devices and the rest.
func (r *Result) Important() []int {
	weight := map[string]int{}
	for _, q := range r.Queues {
		for kind := range q.Guaranteed {
			weight[kind] = 2
		}
		for kind := range q.Max {
			weight[kind] = max(weight[kind], 1)
		}
	}
	order := make([]int, len(r.Resources))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := r.Resources[i].Kind, r.Resources[j].Kind
		return cmp.Or(cmp.Compare(weight[b], weight[a]), resources.CompareKinds(a, b))
	})
	return order
}

func anyUse(use map[string]int64) bool {
	for _, v := range use {
		if v != 0 {
			return true
		}
	}
	return false
}

func orDash(stated bool, text string) string {
	if !stated {
		return "-"
	}
	return text
}

// indented is the last element of the path, moved in by its depth.
func (q QueueUse) indented() string {
	return strings.Repeat("  ", q.Depth) + q.Path[strings.LastIndexByte(q.Path, '.')+1:]
}

func (r *Result) queuePodTable() Table {
	t := Table{
		Title: "Pods and how long they waited",
		Head:  []string{"queue", "arrived", "placed", "pending", "gave up", "drained", "preempted", "lost", "mean", "p50", "p90", "p99", "max"},
		Words: 1,
	}
	for _, q := range r.Queues {
		row := []string{q.indented()}
		for _, n := range []int{q.Arrived, q.Placed, q.Pending, q.GaveUp, q.Evicted - q.Preempted, q.Preempted, q.Lost} {
			row = append(row, Thousands(int64(n)))
		}
		t.Rows = append(t.Rows, append(row, q.Waiting.columns()...))
	}
	return t
}

// columns are the mean, the percentiles and the most; dashes of nothing.
func (w *Waiting) columns() []string {
	if w == nil {
		return []string{"-", "-", "-", "-", "-"}
	}
	var texts []string
	for _, s := range []Seconds{w.Mean, w.P50, w.P90, w.P99, w.Max} {
		texts = append(texts, Clock(s.Duration()))
	}
	return texts
}

func reasonTable(title string, reasons []PendingReason) Table {
	t := Table{Title: title, Head: []string{"queue", "reason", "for example", "pods"}, Words: 3}
	for _, p := range reasons {
		reason := p.Reason
		if p.Detail != "" {
			reason += ": " + p.Detail
		}
		t.Rows = append(t.Rows, []string{p.Queue, Readable(reason), p.Example, Thousands(int64(p.Pods))})
	}
	return t
}

func (r *Result) rejectionTable() Table {
	t := Table{Title: "Rejected", Head: []string{"reason", "count"}, Words: 1}
	for _, p := range r.Rejections {
		t.Rows = append(t.Rows, []string{p.Reason, Thousands(int64(p.Count))})
	}
	return t
}

// rowsShown is how many rows the tables of different things have, and how many nodes of
// an incident are named.
type rowsShown struct{ incidents, nodes, failed int }

// incidentsShown is how many incidents the tables list, and how many nodes of one.
const incidentsShown, nodesShown = 40, 6

func (r *Result) incidentTable(shown rowsShown) Table {
	t := Table{Title: "Incidents", Head: []string{"at", "what", "nodes"}, Words: 3}
	if slices.ContainsFunc(r.Incidents, func(h IncidentRecord) bool { return h.Queue != "" }) {
		t.Head[2] = "nodes or queue"
	}
	for i, h := range r.Incidents {
		if i == shown.incidents {
			t.Rows = append(t.Rows, []string{"", "", fmt.Sprintf("and %d more", len(r.Incidents)-i)})
			break
		}
		if h.Queue != "" {
			t.Rows = append(t.Rows, []string{Clock(h.At.Duration()), h.What, h.Queue + ": " + h.Detail})
			continue
		}
		nodes := h.Nodes
		more := ""
		if len(nodes) > shown.nodes {
			nodes, more = nodes[:shown.nodes], fmt.Sprintf(" and %d more", len(h.Nodes)-shown.nodes)
		}
		t.Rows = append(t.Rows, []string{Clock(h.At.Duration()), h.What, strings.Join(nodes, ", ") + more + h.Detail})
	}
	return t
}
