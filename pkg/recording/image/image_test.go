package image_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/image"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/wire"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

var began = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// A twin is a partition that plays a scenario, and another that was restored from its image some steps ago and is given the same.
type twin struct {
	t          *testing.T
	remote     *simulator.Remote
	options    api.Options
	one, other *core.Partition
	digests    [2]wire.Digester
	steps      int
}

func newTwin(t *testing.T, path string, seed uint64) *twin {
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	s, err := simulator.Parse(string(text))
	assert.NilError(t, err)
	w := &twin{t: t, remote: simulator.NewRemote(s, seed)}
	w.options = api.Options{
		Partition: "[rm]default", Kinds: s.Kinds, Constraints: w.remote.PredicateClass, Simulate: w.remote.Simulate, Budgets: w.remote.Budgets,
		Feasible: func(key api.AllocationKey, node api.NodeID, _ bool) error { return w.remote.Feasible(key, node) },
	}
	w.one = core.NewPartition(w.options, s.Config)
	w.again()
	return w
}

// again begins with a new image.
func (w *twin) again() {
	w.t.Helper()
	bytes, err := image.Of(w.one)
	assert.NilError(w.t, err)
	w.other, err = image.Restore(bytes, w.options)
	assert.NilError(w.t, err)
	assert.NilError(w.t, w.other.Verify())
}

// step plays the same on both, which do the same.
func (w *twin) step(play func(p *core.Partition) (api.Effects, bool)) (api.Effects, bool) {
	w.t.Helper()
	fx, more := play(w.one)
	others, otherMore := play(w.other)
	assert.Equal(w.t, w.digests[0].Effects(fx, more), w.digests[1].Effects(others, otherMore), "step %d", w.steps)
	if w.steps++; w.steps%197 == 0 {
		assert.Equal(w.t, w.digests[0].View(w.one.View()), w.digests[1].View(w.other.View()), "step %d", w.steps)
		w.again()
	}
	return fx, more
}

// play plays a scenario for a while.
func (w *twin) play(until time.Duration) {
	for now, next := time.Duration(0), time.Duration(0); now < until; now = next {
		commands, due := w.remote.Advance(now)
		at := began.Add(now)
		for _, c := range commands {
			fx, _ := w.step(func(p *core.Partition) (api.Effects, bool) { return p.Apply(at, c), false })
			w.observe(now, fx)
		}
		for more := true; more; {
			var fx api.Effects
			fx, more = w.step(func(p *core.Partition) (api.Effects, bool) { return p.Schedule(at) })
			w.observe(now, fx)
		}
		next = max(due, now+time.Millisecond)
		if own, ok := w.one.Due(); ok && own.After(at) {
			next = min(next, own.Sub(began))
		}
	}
}

func (w *twin) observe(now time.Duration, fx api.Effects) {
	for _, event := range fx {
		w.remote.Observe(now, event)
	}
}

// Whenever a partition is restored from its image, it does from then on what the other does, and looks the same.
func TestARestoredPartitionGoesOn(t *testing.T) {
	paths, err := filepath.Glob("../../simulator/examples/*.yaml")
	assert.NilError(t, err)
	assert.Assert(t, len(paths) > 3)
	for _, path := range paths {
		w := newTwin(t, path, 1)
		w.play(8 * time.Minute)
		assert.Assert(t, w.steps > 150, "%s: %d steps", path, w.steps)
	}
}

// An image that is cut, or of which a byte is another one, is refused, or restored to something else, and nothing panics.
func TestWhatIsNoImage(t *testing.T) {
	w := newTwin(t, "../../simulator/examples/small.yaml", 1)
	w.play(time.Minute)
	bytes, err := image.Of(w.one)
	assert.NilError(t, err)
	for i := 0; i < len(bytes); i += 1 + len(bytes)/500 {
		_, err := image.Restore(bytes[:i], w.options)
		assert.Assert(t, errors.Is(err, image.ErrCorrupt), "%v", err)
		changed := append([]byte{}, bytes...)
		changed[i] ^= 0x55
		if _, err := image.Restore(changed, w.options); err != nil {
			assert.Assert(t, errors.Is(err, image.ErrCorrupt), "%v", err)
		}
	}
}
