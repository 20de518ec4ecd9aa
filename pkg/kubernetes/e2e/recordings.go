package e2e

import (
	"errors"
	"path/filepath"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/cluster"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
)

// recordings is the folder in which narwhal-scheduler records what it does, if it is there.
func recordings(c *cluster.Cluster) string { return filepath.Join(c.Folder(), "recordings") }

// checkRecordings ends the program that schedules, and checks that all that was recorded comes out the same when it is played again. A recording
// may be torn at its end only, as those are of programs that crashed.
func (w *World) checkRecordings() {
	w.t.Helper()
	if w.t.Failed() || w.scheduler.Name() != narwhalName {
		return
	}
	if r, is := w.instance.(running); is {
		w.check(r.Terminate())
	}
	d, err := recording.Read(recordings(w.cluster))
	w.check(err)
	assert.Equal(w.t, len(d.Unreadable), 0, "%v", d.Unreadable)
	steps := 0
	for _, segments := range d.Segments {
		for i, s := range segments {
			n, err := playAgain(s)
			steps += n
			isLast := i+1 == len(segments) || segments[i+1].Number == 1
			assert.Assert(w.t, err == nil || isLast && errors.Is(err, recording.ErrTorn), "%s: %v", s.Path, err)
		}
	}
	w.Step("%d recorded steps came out the same", steps)
	assert.Assert(w.t, steps > 0)
}

// playAgain plays a segment, and returns how many steps it has.
func playAgain(s recording.Segment) (int, error) {
	p, err := recording.Open(s.Path)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	err = p.PlayToEnd()
	return p.Steps, err
}
