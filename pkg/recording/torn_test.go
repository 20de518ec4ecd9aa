package recording_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

const twoPartitions = `
partitions:
  - name: default
    queues: [{name: root, queues: [{name: default}]}]
  - name: other
    queues: [{name: root, queues: [{name: default}]}]
`

const onePartition = `
partitions:
  - name: default
    queues: [{name: root, queues: [{name: default}]}]
`

// few is a scheduler that does a few things, a second apart.
func few(t *testing.T, m *schedulertest.MockScheduler) {
	m.AddNode("node-1", "vcore=8 memory=8Gi")
	m.AddApplication("app-1", "root.default")
	for _, key := range []string{"a", "b", "c"} {
		m.Ask("app-1", key, "vcore=1 memory=1Gi")
		m.Advance(2 * time.Second)
	}
}

// steps plays a segment up to its end or the first error.
func steps(t *testing.T, path string) (int, error) {
	t.Helper()
	p, err := recording.Open(path)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	for {
		if _, err := p.Next(); errors.Is(err, io.EOF) {
			return p.Steps, nil
		} else if err != nil {
			return p.Steps, err
		}
	}
}

// only is the only segment of a partition.
func only(t *testing.T, directory string) string {
	t.Helper()
	d, err := recording.Read(directory)
	assert.NilError(t, err)
	assert.Equal(t, len(d.Segments[partition]), 1)
	return d.Segments[partition][0].Path
}

// A file that was cut, or is damaged, says where, and what stands before is played.
func TestATornSegment(t *testing.T) {
	path := only(t, record(t, recording.Config{}, schedulertest.Options{}, few))
	whole, err := steps(t, path)
	assert.NilError(t, err)
	content, err := os.ReadFile(path)
	assert.NilError(t, err)
	before := 0
	for cut := 0; cut < len(content); cut += 7 {
		assert.NilError(t, os.WriteFile(path, content[:cut], 0o600))
		n, err := steps(t, path)
		if err != nil {
			assert.Assert(t, errors.Is(err, recording.ErrTorn), "%v", err)
			assert.Assert(t, strings.Contains(err.Error(), path) && strings.Contains(err.Error(), "offset "), "%v", err)
		}
		assert.Assert(t, n >= before && n <= whole, "cut at %d: %d after %d", cut, n, before)
		before = n
	}
	assert.Assert(t, before > 3, "the last frame holds all but %d steps", before)
	for i := 0; i < len(content); i += 13 {
		damaged := bytes.Clone(content)
		damaged[i] ^= 0x10
		assert.NilError(t, os.WriteFile(path, damaged, 0o600))
		_, err := steps(t, path)
		assert.Assert(t, errors.Is(err, recording.ErrTorn), "byte %d: %v", i, err)
	}
}

// A crash loses what came in the last second: the rest is on the disk before the recorder is closed.
func TestACrash(t *testing.T) {
	directory := t.TempDir()
	record(t, recording.Config{Directory: directory}, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		few(t, m)
		n, err := steps(t, only(t, directory))
		assert.NilError(t, err)
		assert.Assert(t, n > 7, "%d steps", n)
	})
}

// While the disk is too slow, steps are left out between segments and never within one, and it is counted.
func TestASlowDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	directory := record(t, recording.Config{StepsMax: 1}, schedulertest.Options{}, storm)
	sum := play(t, directory)
	assert.Assert(t, sum.segments > 3 && sum.whole < sum.segments/2, "%+v", sum)
}

// A segment that is large enough is followed by one other, however many of its steps wait for a slow disk. The disk is slow here whenever it
// refuses the file of another partition.
func TestASlowDiskAndALargeSegment(t *testing.T) {
	directory, refused, goOn, began := t.TempDir(), make(chan bool), make(chan bool), time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	log := zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(zapcore.EncoderConfig{}), zapcore.AddSync(io.Discard), zap.WarnLevel), zap.Hooks(func(zapcore.Entry) error {
		refused <- true
		<-goOn
		return nil
	}))
	r, err := recording.New(recording.Config{Directory: directory, SegmentMax: 1, Logger: log})
	assert.NilError(t, err)
	_, steps := r.Begin(began, api.Options{Partition: "large", Kinds: new(resources.Kinds)}, api.Config{})
	node := 0
	step := func() {
		node++
		steps.Apply(began, api.AddNode{ID: api.NodeID(fmt.Sprint(node, strings.Repeat("n", 300<<10)))})
		steps.Schedule(began)
	}
	slow := func(name string) {
		assert.NilError(t, os.WriteFile(filepath.Join(directory, name), nil, 0o600))
		r.Begin(began, api.Options{Partition: name, Kinds: new(resources.Kinds)}, api.Config{})
	}
	slow("a")
	<-refused
	step() // it is large now, when that is written
	slow("b")
	step() // still of the first segment
	slow("c")
	for range 2 {
		goOn <- true
		<-refused
		step() // of the second one
	}
	goOn <- true
	r.Close()
	d, err := recording.Read(directory)
	assert.NilError(t, err)
	var numbers []uint64
	for _, s := range d.Segments["large"] {
		numbers = append(numbers, s.Number)
	}
	assert.DeepEqual(t, numbers, []uint64{1, 2})
}

// A recording ends where the resource manager registers again, and where its partition is removed, and another one begins.
func TestRegistrationsBeginRecordings(t *testing.T) {
	directory := record(t, recording.Config{}, schedulertest.Options{Config: twoPartitions}, func(t *testing.T, m *schedulertest.MockScheduler) {
		few(t, m)
		assert.NilError(t, m.Configure(onePartition))
		assert.NilError(t, m.Configure(twoPartitions))
		m.Advance(time.Second)
		m.Register()
		few(t, m)
	})
	d, err := recording.Read(directory)
	assert.NilError(t, err)
	assert.DeepEqual(t, d.Partitions, []string{"[rm]default", "[rm]other"})
	for name, want := range map[string]int{"[rm]default": 2, "[rm]other": 3} {
		list := d.Segments[name]
		assert.Equal(t, len(list), want, name)
		for i, s := range list {
			assert.Equal(t, s.Number, uint64(1))
			assert.Assert(t, i == 0 || s.Began.After(list[i-1].Began))
		}
	}
	assert.Assert(t, play(t, directory).steps > 15)
}

// Registrations of one moment begin a recording each.
func TestRegistrationsOfOneMoment(t *testing.T) {
	directory := record(t, recording.Config{}, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Register()
		m.Register()
		few(t, m)
	})
	assert.Equal(t, play(t, directory).segments, 3)
}

// After a disk that refuses files, what follows can be played by itself.
func TestADiskThatRefuses(t *testing.T) {
	directory := t.TempDir()
	obstacle := filepath.Join(directory, url.PathEscape(partition))
	assert.NilError(t, os.WriteFile(obstacle, nil, 0o600))
	record(t, recording.Config{Directory: directory}, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		few(t, m)
		m.Settle()
		assert.NilError(t, os.Remove(obstacle))
		m.Advance(2 * time.Minute)
		m.Ask("app-1", "late", "vcore=1")
		m.Advance(time.Second)
		m.Ask("app-1", "later", "vcore=1")
	})
	d, err := recording.Read(directory)
	assert.NilError(t, err)
	assert.Equal(t, len(d.Unreadable), 0, "%v", d.Unreadable)
	sum := play(t, directory)
	assert.Assert(t, sum.segments == 1 && sum.steps > 1, "%+v", sum)
}

// A changed configuration is a step.
func TestAnotherConfiguration(t *testing.T) {
	directory := record(t, recording.Config{}, schedulertest.Options{Config: onePartition}, func(t *testing.T, m *schedulertest.MockScheduler) {
		few(t, m)
		assert.NilError(t, m.Configure(strings.Replace(onePartition, "{name: default}", "{name: default}, {name: new, resources: {max: {vcore: 2}}}", 1)))
		m.AddApplication("app-2", "root.new")
		m.Ask("app-2", "d", "vcore=1 gpu=1") // a kind that no node has yet
		m.AddNode("node-2", "vcore=1 gpu=1")
		assert.Equal(t, m.WaitPlaced("d"), "node-2")
	})
	assert.Assert(t, play(t, directory).steps > 10)
}

// The oldest files are removed when all have too many bytes together.
func TestOldSegmentsAreRemoved(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	directory := record(t, recording.Config{SizeMax: 200 << 10, SegmentMax: 10 << 10}, schedulertest.Options{}, storm)
	d, err := recording.Read(directory)
	assert.NilError(t, err)
	list := d.Segments[partition]
	assert.Assert(t, list[0].Number > 2, "the first is %d", list[0].Number)
	var sum int64
	for _, s := range list {
		info, err := os.Stat(s.Path)
		assert.NilError(t, err)
		sum += info.Size()
	}
	assert.Assert(t, sum < 300<<10, "%d bytes", sum)
	assert.Equal(t, play(t, directory).segments, len(list))
}

// What is no recording is told with its name.
func TestNoRecording(t *testing.T) {
	directory := t.TempDir()
	_, err := recording.Read(directory)
	assert.ErrorContains(t, err, directory+" has no recording")
	assert.NilError(t, os.MkdirAll(filepath.Join(directory, "default"), 0o700))
	file := filepath.Join(directory, "default", "1.recording")
	assert.NilError(t, os.WriteFile(file, []byte("something else"), 0o600))
	_, err = recording.Read(directory)
	assert.ErrorContains(t, err, file)
	assert.ErrorContains(t, err, `would with "narwhal recording 1\n"`)
}
