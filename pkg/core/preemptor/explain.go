package preemptor

import (
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// String is the decision on one line, without quantities.
func (d Decision) String() string {
	if d.Reason != Chosen {
		return d.Reason.String()
	}
	keys := make([]string, len(d.Victims))
	for i, v := range d.Victims {
		keys[i] = v.Key
	}
	return fmt.Sprintf("chosen by %s: %s", d.Strategy, strings.Join(keys, ", "))
}

// String is the victim with what makes it one.
func (v Victim) String() string {
	return fmt.Sprintf("%s (%s, priority %d)", v.Key, v.Class, v.Priority)
}

// String says why the strategy selected nobody.
func (f Failure) String() string {
	switch f.Why {
	case NotOne:
		return fmt.Sprintf("%s: no one victim is enough", f.Strategy)
	case TooLarge:
		return fmt.Sprintf("%s: %s would be enough, but holds %d.%d%% more than the ask, %d%% is the most",
			f.Strategy, f.Key, f.PerMille/10, f.PerMille%10, f.Most)
	case TooMany:
		return fmt.Sprintf("%s: takes %d victims or more, %d are the most", f.Strategy, f.Victims, f.Most)
	default:
		return fmt.Sprintf("%s: broken off after %d steps", f.Strategy, f.Most)
	}
}

// Verdict is the decision in one sentence with the numbers that matter; kinds
// must be those of the node.
func (d Decision) Verdict(kinds *resources.Kinds) string {
	switch d.Reason {
	case TooYoung:
		return fmt.Sprintf("%s: needs %s", d.Reason, kinds.Format(d.Needed))
	case WaitsForLeaving:
		return fmt.Sprintf("%s: %s", d.Reason, kinds.Format(d.Leaving))
	case Disabled, NobodyEligible:
		return fmt.Sprintf("%s: needs %s", d.Reason, kinds.Format(d.Needed))
	case Impossible:
		return fmt.Sprintf("%s: needs %s, at most %s can be freed",
			d.Reason, kinds.Format(d.Needed), kinds.Format(d.of(d.Freeable)))
	case NothingHelps:
		return fmt.Sprintf("%s: needs %s of %s", d.Reason, kinds.Format(d.Needed), kinds.Format(d.of(d.Freeable)))
	case Chosen:
		return fmt.Sprintf("%s by %s: frees %s for %s", d.Reason, d.Strategy, kinds.Format(d.Freed), kinds.Format(d.Needed))
	default:
		return d.Reason.String()
	}
}

// of is the amounts of the kinds that are needed.
func (d Decision) of(a resources.Amounts) resources.Amounts {
	var some resources.Amounts
	for kind, needed := range d.Needed {
		if needed > 0 {
			some.Set(resources.Kind(kind), a.Of(resources.Kind(kind)))
		}
	}
	return some
}

// Explain is the whole decision for people to read, a few lines without a last
// line end; kinds must be those of the node.
func (d Decision) Explain(kinds *resources.Kinds) string {
	lines := []string{d.Verdict(kinds)}
	line := func(name, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("  %-11s", name)+fmt.Sprintf(format, args...))
	}
	line("ask", "%s %s", d.Ask, kinds.Format(d.Asked))
	line("free", "%s", kinds.Format(d.Free))
	if !d.Leaving.IsZero() {
		line("leaving", "%s", kinds.Format(d.Leaving))
	}
	line("candidates", "%s", d.classCounts())
	for f, count := range d.ByFilter {
		if count > 0 {
			line("filtered", "%s: %s", Filter(f), d.filteredBy(Filter(f)))
		}
	}
	for _, f := range d.Failures {
		line("tried", "%s", f)
	}
	for _, v := range d.Victims {
		line("release", "%s %s", v, kinds.Format(v.Amounts))
	}
	if d.Reason == Chosen && d.Strategy == Minimal {
		line("proof", "%s", d.Proof.of(d))
	}
	return strings.Join(lines, "\n")
}

func (d Decision) classCounts() string {
	var counts []string
	for class, count := range d.ByClass {
		if count > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", count, Class(class)))
		}
	}
	if len(counts) == 0 {
		return "none"
	}
	return strings.Join(counts, ", ")
}

func (d Decision) filteredBy(why Filter) string {
	var keys []string
	for _, f := range d.Filtered {
		if f.Why == why {
			keys = append(keys, f.Key)
		}
	}
	return strings.Join(keys, ", ")
}

func (p Proof) of(d Decision) string {
	if p.Proved {
		return "nobody finds gentler, fewer or lighter victims"
	}
	return fmt.Sprintf("broken off after %d steps: %d victims of at least %d, weight %d of at least %d",
		p.Steps, len(d.Victims), p.VictimsMin, d.Weight, p.WeightMin)
}
