package doctor_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

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
