package descheduler

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// An Eviction is a pod that was evicted, or in a dry run would be.
type Eviction struct {
	Cycle   int       `json:"cycle"`
	At      time.Time `json:"at"`
	Pod     string    `json:"pod"` // namespace/name
	UID     types.UID `json:"uid"`
	Profile string    `json:"profile"`
	Plugin  string    `json:"plugin"`
	Reason  string    `json:"reason"`
	From    string    `json:"from"`
	// To is the node where the scheduler would run a replacement: empty where nothing takes
	// the place of the pod, or where there is no place for that.
	To string `json:"to,omitempty"`
	// Open says that the scheduler may take another node, where a replacement may come back too: it is
	// not of this project, and nothing reserves the place.
	Open bool `json:"open,omitempty"`
	// CheckedBy says what found that node: core is package landing, others are landings of a
	// program. Empty: it was not asked, as nothing takes the place of the pod.
	CheckedBy string `json:"checkedBy,omitempty"`
	// Nowhere says why there is no place, where pods are evicted nevertheless.
	Nowhere string `json:"nowhere,omitempty"`
	// BudgetBefore and BudgetLeft are how many evictions the disruption budgets of the
	// pod allowed before this one, and after it. Nil: it has no budget.
	BudgetBefore *int `json:"budgetBefore,omitempty"`
	BudgetLeft   *int `json:"budgetLeft,omitempty"`
	// Requested says that the evict plugin ends no pod itself: a job or the owner of the pod is to.
	Requested bool `json:"requested,omitempty"`
	// Controller says that an event caused it and not the interval.
	Controller bool `json:"controller,omitempty"`
}

// A Failure is a plugin that failed or panicked.
type Failure struct {
	Profile string `json:"profile"`
	Plugin  string `json:"plugin"`
	Point   string `json:"point"`
	Error   string `json:"error"`
}

// A Report is what one cycle did, or in a dry run would do. Evictions by controllers since
// the cycle before are in it too.
type Report struct {
	Cycle    int           `json:"cycle"`
	DryRun   bool          `json:"dryRun"`
	Started  time.Time     `json:"started"`
	Duration time.Duration `json:"durationNanoseconds"`
	// Skipped says why no plugin ran; empty: they ran.
	Skipped   string     `json:"skipped,omitempty"`
	Nodes     int        `json:"nodes"`
	Evictions []Eviction `json:"evictions"`
	// Unlisted is how many evictions more there were than are listed.
	Unlisted int `json:"evictionsNotListed,omitempty"`
	// Kept counts the decisions that kept a pod, by outcome.
	Kept map[Outcome]int `json:"kept"`
	// Reasons are the most frequent ones of these decisions, in the order of outcomes.
	Reasons  []Reason  `json:"reasons,omitempty"`
	Cut      int       `json:"cut,omitempty"` // decisions that were not remembered
	Failures []Failure `json:"failures,omitempty"`
	// Warnings are those of plugins since the report before.
	Warnings []Warning `json:"warnings,omitempty"`
}

// JSON writes the report for programs, with indents.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Table writes the report for people.
func (r *Report) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if r.Skipped != "" {
		fmt.Fprintf(t, "cycle %d was skipped: %s\n", r.Cycle, r.Skipped)
	} else {
		fmt.Fprintf(t, "cycle %d, %s: %s\n", r.Cycle, wording.Several(r.Nodes, "node"), r.headline())
	}
	if len(r.Evictions) > 0 {
		fmt.Fprintln(t, "POD\tPLUGIN\tREASON\tFROM\tTO\tBUDGET LEFT")
	}
	for _, e := range r.Evictions {
		fmt.Fprintf(t, "%s\t%s/%s\t%s\t%s\t%s\t%s\n", e.Pod, e.Profile, e.Plugin, e.Reason, dash(e.From), e.place(), number(e.BudgetLeft))
	}
	if r.Unlisted > 0 {
		fmt.Fprintf(t, "evictions that are not listed: %d\n", r.Unlisted)
	}
	if n := r.open(); n > 0 {
		fmt.Fprintf(t, "TO of %s is where another scheduler may run it\n", wording.Several(n, "pod"))
	}
	for _, by := range r.otherChecks() {
		fmt.Fprintf(t, "TO was checked by %s and not by the scheduler's core: it is a node where the replacement fits, and the scheduler may take another one\n", by)
	}
	for _, o := range keeping {
		if n := r.Kept[o]; n > 0 {
			fmt.Fprintf(t, "%s: %d\n", o, n)
		}
		for _, why := range r.Reasons {
			if why.Outcome == o {
				fmt.Fprintf(t, "  %d: %s\n", why.Pods, why.Reason)
			}
		}
	}
	if r.Cut > 0 {
		fmt.Fprintf(t, "decisions that were not kept: %d\n", r.Cut)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(t, "warning of %s: %s\n", strings.TrimPrefix(w.Profile+"/"+w.Plugin, "/"), w.Text)
	}
	for _, f := range r.Failures {
		fmt.Fprintf(t, "failure of %s/%s at %s: %s\n", f.Profile, f.Plugin, f.Point, f.Error)
	}
	return t.Flush()
}

// headline says how many pods were evicted.
func (r *Report) headline() string {
	evictions := len(r.Evictions) + r.Unlisted
	if r.DryRun {
		return wording.Several(evictions, "pod") + " would be evicted"
	}
	requested := 0
	for i := range r.Evictions {
		if r.Evictions[i].Requested {
			requested++
		}
	}
	line := wording.Several(evictions-requested, "pod") + " evicted"
	if requested > 0 {
		line += ", " + wording.Several(requested, "eviction") + " requested"
	}
	return line
}

// place is the node of a replacement, as people read it.
func (e *Eviction) place() string {
	if e.Nowhere != "" {
		return "nowhere"
	}
	return dash(e.To)
}

// open is of how many pods another scheduler places the replacement.
func (r *Report) open() (n int) {
	for i := range r.Evictions {
		if r.Evictions[i].Open {
			n++
		}
	}
	return n
}

// otherChecks are what said where replacements would run, other than the scheduler's core.
func (r *Report) otherChecks() (names []string) {
	for i := range r.Evictions {
		by := r.Evictions[i].CheckedBy
		if by != "" && by != checkedByCore && !slices.Contains(names, by) {
			names = append(names, by)
		}
	}
	return names
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func number(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

// evictionsOfReport is how many evictions a report lists at most. Without limits a cycle
// could evict every pod; the metric counts them all.
const evictionsOfReport = 10_000

// pending collects the evictions for the next report. It is safe for concurrent use.
type pending struct {
	mu   sync.Mutex
	list []Eviction
	cut  int
}

func (p *pending) add(e Eviction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.list) >= evictionsOfReport {
		p.cut++
		return
	}
	p.list = append(p.list, e)
}

// take empties it.
func (p *pending) take() (list []Eviction, cut int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list, cut = p.list, p.cut
	p.list, p.cut = nil, 0
	return list, cut
}
