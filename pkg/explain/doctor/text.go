package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// Lines are the report for people to read.
func (r *Report) Lines(now time.Time) (lines []string) {
	for i := range r.Findings {
		lines = append(lines, r.Findings[i].lines(now)...)
	}
	for kind, word := range kindWords {
		if more := r.More[Kind(kind)]; more > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d more", word, more))
		}
	}
	if r.Partial {
		lines = append(lines, "The time was over before all remedies were tried.")
	}
	looked := r.Looked.String() + " were looked at."
	if len(r.Findings) == 0 {
		looked = "Nothing is wrong. " + looked
	}
	return append(lines, looked)
}

func (l Looked) String() string {
	parts := []string{
		wording.Several(l.Queues, "queue"), wording.Several(l.Nodes, "node"), wording.Several(l.Applications, "application"),
		waitingThat(l.Asks), wording.Several(l.Evictions, "eviction"),
	}
	return strings.Join(parts, ", ") + " and " + wording.Several(l.Limits, "limit") + " of users and groups"
}

func waitingThat(asks int) string {
	if asks == 1 {
		return "1 ask that waits"
	}
	return fmt.Sprintf("%d asks that wait", asks)
}

func (f *Finding) lines(now time.Time) []string {
	lines := []string{fmt.Sprintf("%-7s %s, %s: %s", f.Severity, f.Kind, f.Subject, f.Cause)}
	add := func(name, text string) {
		if text != "" {
			lines = append(lines, fmt.Sprintf("  %-8s %s", name, text))
		}
	}
	if !f.Since.IsZero() {
		add("since", fmt.Sprintf("%s, which is %s ago: %s", f.Since.UTC().Format(time.RFC3339), wording.Age(now.Sub(f.Since)), f.SinceOf))
	}
	add("harms", f.Harm())
	remedy := "remedy"
	if f.Tried {
		remedy = "tried"
	}
	add(remedy, f.Remedy)
	add("also", f.Detail)
	return lines
}

// Harm is for which asks a finding is bad, in words; empty if it is for none.
func (f *Finding) Harm() string {
	if f.Asks == 0 {
		return ""
	}
	text := wording.Several(f.Asks, "ask")
	if f.Kind == Flood {
		return text + " of others"
	}
	if f.Key != "" {
		text += ", such as " + string(f.Key)
	}
	if f.Queue != "" {
		text += " in queue " + string(f.Queue)
	}
	if f.User != "" {
		text += " of user " + f.User
	}
	return text
}
