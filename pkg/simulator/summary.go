package simulator

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// What a summary shows at most, so that it stays on one screen.
const (
	summaryKinds   = 4
	summaryQueues  = 8
	summaryReasons = 3
)

// WriteSummary writes one screen: how the run ended, how full the cluster was, the queues
// with the largest shares, and why pods wait.
func (r *Result) WriteSummary(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of virtual time, seed %d\n\n%s\n", r.Scenario, Clock(r.Time.Duration()), r.Seed, r.Headline())
	if w := r.Waiting; w != nil {
		fmt.Fprintf(&b, "Half of the placed pods waited %s at most, 99%% %s, the longest %s.\n", Clock(w.P50.Duration()), Clock(w.P99.Duration()), Clock(w.Max.Duration()))
	}
	if p := r.Preemption; p != nil && p.Victims > 0 {
		fmt.Fprintf(&b, "%s pods were evicted to make room.\n", Thousands(int64(p.Victims)))
	}
	if n := r.Pods.Evicted - r.Pods.Preempted + r.Pods.Lost; n > 0 {
		fmt.Fprintf(&b, "%s pods were drained or lost with their node.\n", Thousands(int64(n)))
	}
	b.WriteString(r.guaranteeLine())
	used := r.resourceTable()
	used.Rows = used.Rows[:min(len(used.Rows), summaryKinds)]
	for _, t := range []Table{used, r.shareTable(), r.waitingTable()} {
		if len(t.Rows) > 0 {
			b.WriteString("\n" + t.text())
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// guaranteeLine says how many queues, of any level, used more than their guarantee on average, and
// which of them the greatest part of it; it is empty if none did.
func (r *Result) guaranteeLine() string {
	all, over := 0, 0
	var most struct {
		queue, kind string
		perMille    int64
	}
	for _, q := range r.Queues {
		greatest, of := int64(0), ""
		for _, u := range r.Resources {
			if part := perMille(q.Mean[u.Kind], q.Guaranteed[u.Kind]); part > greatest {
				greatest, of = part, u.Kind
			}
		}
		if len(q.Guaranteed) > 0 {
			all++
		}
		if greatest > 1000 {
			over++
		}
		if greatest > most.perMille {
			most.queue, most.kind, most.perMille = q.Path, of, greatest
		}
	}
	if over == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s queues with a guarantee used more than that on average, the most %s: %s of its %s.\n",
		Thousands(int64(over)), Thousands(int64(all)), most.queue, Percent(most.perMille), most.kind)
}

// shareTable is the leaf queues that had the largest shares of the cluster.
func (r *Result) shareTable() Table {
	t := Table{Title: "Queues", Head: []string{"queue", "most of", "% of cluster", "placed", "pending", "preempted", "p50", "p99"}, Words: 2}
	queues := slices.DeleteFunc(slices.Clone(r.Queues), func(q QueueUse) bool { return !q.Leaf })
	slices.SortStableFunc(queues, func(a, b QueueUse) int { return cmp.Compare(b.Share, a.Share) })
	for i, q := range queues {
		if i == summaryQueues && len(queues) > i+1 { // one more is no longer than its notice
			t.Rows = append(t.Rows, []string{fmt.Sprintf("and %d more", len(queues)-i), "", "", "", "", "", "", ""})
			break
		}
		waited := q.Waiting.columns()
		t.Rows = append(t.Rows, []string{
			q.Path, orDash(q.ShareKind != "", q.ShareKind), Percent(q.Share), Thousands(int64(q.Placed)), Thousands(int64(q.Pending)),
			Thousands(int64(q.Preempted)), waited[1], waited[3],
		})
	}
	return t
}

// waitingTable is the reasons for which most pods wait at the end.
func (r *Result) waitingTable() Table {
	pods := map[string]int{}
	var reasons []string
	for _, p := range r.Pending {
		if pods[p.Reason] == 0 {
			reasons = append(reasons, p.Reason)
		}
		pods[p.Reason] += p.Pods
	}
	slices.SortStableFunc(reasons, func(a, b string) int { return cmp.Compare(pods[b], pods[a]) })
	t := Table{Title: "Pending at the end", Head: []string{"reason", "pods"}, Words: 1}
	for i, reason := range reasons {
		if i == summaryReasons {
			break
		}
		t.Rows = append(t.Rows, []string{Readable(reason), Thousands(int64(pods[reason]))})
	}
	return t
}
