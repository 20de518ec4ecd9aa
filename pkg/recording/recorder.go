package recording

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// What holds where nothing is configured.
const (
	DefaultSizeMax    = 1 << 30
	defaultSegmentMax = 16 << 20
	defaultSegmentAge = 10 * time.Minute
	defaultStepsMax   = 1 << 17
	flushEvery        = time.Second
)

// Config is what a recorder depends on. All but Directory may be zero.
type Config struct {
	Directory string
	// SizeMax is how many bytes the files may have together: beyond that the oldest are removed. Zero is DefaultSizeMax.
	SizeMax int64
	// SegmentMax and SegmentAge are after how many bytes of steps and how long a segment is followed by another; zero is 16 MiB
	// and ten minutes.
	SegmentMax int64
	SegmentAge time.Duration
	// StepsMax is how many steps of a partition may wait to be written. Beyond that its segment ends, and the next one
	// begins when the disk has caught up. Zero is 131,072.
	StepsMax int
	// Version is that of the program, to be named where a recording cannot be read.
	Version string
	Logger  *zap.Logger // nil logs nothing
}

// A Recorder records partitions into a directory.
type Recorder struct {
	config Config
	log    *zap.Logger
	lost   atomic.Uint64

	encoder *zstd.Encoder // the writer's own, as it keeps megabytes

	mu      sync.Mutex
	changed sync.Cond
	queue   []*chunk
	spare   []*chunk
	wants   sync.Cond
	wanted  []wantedImage
	writes  map[string]bool // files, the writer's own
	closed  bool
	closing chan struct{}
	ended   sync.WaitGroup
}

// New makes a recorder, which writes until Close.
func New(config Config) (*Recorder, error) {
	if config.Directory == "" {
		return nil, errors.New("recording config: Directory is missing")
	}
	if config.SizeMax < 0 || config.SegmentMax < 0 || config.SegmentAge < 0 || config.StepsMax < 0 {
		return nil, errors.New("recording config: SizeMax, SegmentMax, SegmentAge and StepsMax must not be negative")
	}
	config.SizeMax = cmp.Or(config.SizeMax, DefaultSizeMax)
	config.SegmentMax = cmp.Or(config.SegmentMax, min(defaultSegmentMax, config.SizeMax/4))
	config.SegmentAge = cmp.Or(config.SegmentAge, defaultSegmentAge)
	config.StepsMax = cmp.Or(config.StepsMax, defaultStepsMax)
	if err := os.MkdirAll(config.Directory, 0o750); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	encoder, err := newEncoder()
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	r := &Recorder{encoder: encoder, config: config, log: config.Logger, closing: make(chan struct{}), writes: map[string]bool{}}
	if r.log == nil {
		r.log = zap.NewNop()
	}
	r.changed.L, r.wants.L = &r.mu, &r.mu
	r.ended.Go(r.write)
	r.ended.Go(r.makeImages)
	return r, nil
}

func newEncoder() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
}

// OpenIf is New, or nil, which records nothing, where no directory is named.
func OpenIf(config Config) (*Recorder, error) {
	if config.Directory == "" {
		return nil, nil
	}
	return New(config)
}

// IfAny is the recorder as a scheduler takes it; nil for none.
func (r *Recorder) IfAny() scheduler.Recorder {
	if r == nil {
		return nil
	}
	return r
}

// Begin makes a partition that is recorded.
func (r *Recorder) Begin(now time.Time, options api.Options, config api.Config) (*core.Partition, scheduler.Steps) {
	t := &tape{recorder: r, name: options.Partition, kinds: options.Kinds, functions: functionsOf(&options), from: now}
	t.chunk = &chunk{tape: t}
	t.listen(&options)
	t.partition = core.NewPartition(options, config)
	t.startSegment(now, nil, partitionBegan)
	t.handOver()
	return t.partition, t
}

// Lost is how often steps were lost because the disk was slow or refused a file.
func (r *Recorder) Lost() uint64 { return r.lost.Load() }

// Close writes what waits, and ends the files. It may be called once.
func (r *Recorder) Close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.closed = true
	close(r.closing)
	r.changed.Signal()
	r.wants.Signal()
	r.mu.Unlock()
	r.ended.Wait()
}

// functionsOf says which functions of options there are, a bit for each question.
func functionsOf(o *api.Options) (bits uint16) {
	for q, is := range [questions]bool{
		feasible: o.Feasible != nil, feasibleOn: o.FeasibleOn != nil, constraints: o.Constraints != nil, tied: o.Tied != nil, best: o.Best != nil,
		pace: o.Pace != nil, simulate: o.Simulate != nil, selectVictims: o.SelectVictims != nil, budgets: o.Budgets != nil,
	} {
		if is {
			bits |= 1 << q
		}
	}
	return bits
}

// take puts a chunk into the queue of the writer, and returns an empty one.
func (r *Recorder) take(c *chunk) *chunk {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		c.tape.waiting.Add(-int64(len(c.steps)))
		c.clear()
		return c
	}
	r.queue = append(r.queue, c)
	r.changed.Signal()
	if last := len(r.spare) - 1; last >= 0 {
		c, r.spare = r.spare[last], r.spare[:last]
		return c
	}
	return &chunk{}
}

// write is the goroutine that writes. It wakes once in a second while steps wait to be flushed.
func (r *Recorder) write() {
	open := map[*tape]bool{}
	var timer *time.Timer
	for {
		chunks, closed := r.await()
		for _, c := range chunks {
			r.writeChunk(c)
			open[c.tape] = c.tape.file != nil
			if c.tape.file == nil {
				delete(open, c.tape)
			}
			c.tape.waiting.Add(-int64(len(c.steps)))
			r.giveBack(c)
		}
		unflushed := false
		for t := range open {
			if closed {
				r.finish(t)
			} else if t.file != nil {
				unflushed = t.file.flushIfDue(time.Now()) || unflushed
			}
		}
		if closed {
			return
		}
		if unflushed && timer == nil {
			timer = time.AfterFunc(flushEvery, r.changed.Signal)
		} else if unflushed {
			timer.Reset(flushEvery)
		}
	}
}

// await waits for chunks, or until something is to be flushed.
func (r *Recorder) await() ([]*chunk, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 && !r.closed {
		r.changed.Wait()
	}
	chunks := r.queue
	r.queue = nil
	return chunks, r.closed
}

// giveBack keeps an empty chunk to be used again.
func (r *Recorder) giveBack(c *chunk) {
	c.clear()
	c.tape = nil
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.spare) < 8 && cap(c.effects) <= 1<<14 && cap(c.answers.Out) <= 1<<20 {
		r.spare = append(r.spare, c)
	}
}
