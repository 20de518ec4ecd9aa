package doctor_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/doctor"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/played"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// examined is what is found in a scenario of testdata after a time.
func examined(t *testing.T, name string, after time.Duration) (*doctor.Report, *played.Play) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if os.Getenv("SEEN") != "" {
		text, err = os.ReadFile(os.Getenv("SEEN"))
	}
	assert.NilError(t, err)
	p := played.New(t, string(text), nil).To(after)
	return doctor.Examine(context.Background(), p.Partition.View(), p.Kinds, p.Trial(), p.Book), p
}

// TestFindings: what is found in each cluster of testdata, in words.
func TestFindings(t *testing.T) {
	for _, c := range []struct {
		name  string
		after time.Duration
	}{
		{"gpu", 2 * time.Hour},
		{"sel", 2 * time.Hour},
		{"chg", 30 * time.Minute},
		{"night", time.Hour},
		{"broken", time.Hour},
		{"quota", time.Hour},
		{"calm", time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, p := examined(t, c.name, c.after)
			golden.Assert(t, wording.Readable(strings.Join(r.Lines(p.Now), "\n"))+"\n", c.name+".golden")
		})
	}
}

// TestRemediesHelp: what is said to help is done for real. As many asks run then as was said, or fewer where room is kept for one that
// is more important, which is not so on the copy.
func TestRemediesHelp(t *testing.T) {
	for _, c := range []struct {
		kind doctor.Kind
		does func(view *api.View) []api.Command
		said string
		ran  int
	}{
		{doctor.Hanging, ends, "12 asks would run once they have ended: ", 12},
		{doctor.ClosedNodes, opens, "3 asks would run at once if it took new pods again", 1},
	} {
		r, p := examined(t, "night", time.Hour)
		i := slices.IndexFunc(r.Findings, func(f doctor.Finding) bool { return f.Kind == c.kind })
		waits := map[api.AllocationKey]bool{}
		for _, app := range p.Partition.View().Applications {
			for _, ask := range app.Asks {
				waits[ask.Key] = true
			}
		}
		var fx api.Effects
		for _, command := range c.does(p.Partition.View()) {
			fx = append(fx, p.Partition.Apply(p.Now, command)...)
		}
		for more := true; more; {
			var next api.Effects
			next, more = p.Partition.Schedule(p.Now)
			fx = append(fx, next...)
		}
		ran := 0
		for _, event := range fx {
			if placed, is := event.(api.Placed); is && waits[placed.Key] {
				ran++
			}
		}
		assert.Assert(t, strings.HasPrefix(r.Findings[i].Remedy, c.said), r.Findings[i].Remedy)
		assert.Equal(t, ran, c.ran, c.kind)
	}
}

// ends are the ends of all that is overdue.
func ends(view *api.View) (commands []api.Command) {
	owners := map[api.AllocationKey]api.ApplicationID{}
	for _, app := range view.Applications {
		for _, a := range app.Allocations {
			owners[a.Key] = app.ID
		}
	}
	for _, n := range view.Nodes {
		for _, v := range n.Evictions {
			if v.Overdue {
				commands = append(commands, api.ReleaseAllocation{Application: owners[v.Key], Key: v.Key})
			}
		}
	}
	return commands
}

// opens has all nodes take new pods.
func opens(view *api.View) (commands []api.Command) {
	for _, n := range view.Nodes {
		if !n.Schedulable {
			commands = append(commands, api.UndrainNode{ID: n.ID})
		}
	}
	return commands
}
