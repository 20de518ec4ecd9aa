package recording

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/image"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/wire"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

const suffix = ".recording"

// A segment has so many steps at most, so that any moment in it is reached soon, unless images would take more than one part in so many
// of the time of the partition.
const (
	segmentSteps = 1 << 16
	imagesPart   = 25
)

// retryAfter is how long nothing is written after a file was refused.
const retryAfter = time.Minute

// A writing is a segment that is written.
type writing struct {
	file    *os.File
	size    int64
	image   int64 // the size with which it began
	steps   int
	began   time.Time
	now     time.Time // of the last step
	late    time.Time // before which it is not followed by another, as images would take too much time
	flushed time.Time
	kinds   int // that it names
	table   *resources.Kinds
	out     wire.Writer // not written yet
	packed  []byte
	digest  wire.Digester
	encoder *zstd.Encoder
	err     error // after which nothing more is written
}

// writeChunk appends a chunk to the segment of its partition.
func (r *Recorder) writeChunk(c *chunk) {
	t := c.tape
	if b := c.begins; b != nil {
		r.end(t, b.view)
		r.start(t, b)
	}
	if t.file == nil && !t.retry.IsZero() && time.Now().After(t.retry) {
		t.retry = time.Time{}
		t.renew.Store(true)
	}
	if w := t.file; w != nil {
		from, at := 0, 0
		for i := range c.steps {
			s := &c.steps[i]
			w.step(s, c.answers.Out[from:s.written], c.effects[at:at+s.effects])
			from, at = s.written, at+s.effects
		}
		if w.due(r.config) {
			t.renew.Store(true)
		}
		if w.err != nil {
			r.refused(t, w.err)
		}
	}
	if c.broken {
		r.lost.Add(1)
		r.log.Warn("the disk is too slow for the recording: steps are left out until it has caught up", zap.String("partition", t.name))
	}
	if c.ends || c.broken {
		r.finish(t)
	}
}

// refused gives up a segment that cannot be written.
func (r *Recorder) refused(t *tape, err error) {
	r.lost.Add(1)
	r.log.Warn("a recording cannot be written", zap.String("partition", t.name), zap.Error(err))
	if w := t.file; w != nil {
		_ = w.file.Close()
		t.file = nil
	}
	t.retry = time.Now().Add(retryAfter)
}

// finish ends a segment as it is.
func (r *Recorder) finish(t *tape) { r.end(t, nil) }

// end ends the segment of a partition, with its last view if it is known.
func (r *Recorder) end(t *tape, last *api.View) {
	w := t.file
	if w == nil {
		return
	}
	if last != nil {
		w.out.Out = append(w.out.Out, markEnd)
		w.out.Number(w.digest.View(last))
	}
	w.flush()
	if w.err == nil {
		w.err = w.file.Close()
	}
	if w.err != nil {
		r.refused(t, w.err)
	}
	t.file = nil
	r.removeOld()
}

// start begins a segment.
func (r *Recorder) start(t *tape, b *beginning) {
	err := b.err
	if err == nil {
		err = r.create(t, b)
	}
	if err != nil {
		r.refused(t, err)
	}
}

func (r *Recorder) create(t *tape, b *beginning) error {
	directory := filepath.Join(r.config.Directory, url.PathEscape(t.name))
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return err
	}
	t.next++
	name := fmt.Sprintf("%s-%06d%s", t.from.UTC().Format("20060102T150405.000000000"), t.next, suffix)
	file, err := os.OpenFile(filepath.Join(directory, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	w := &writing{file: file, began: b.now, late: b.now.Add(imagesPart * b.took), flushed: b.now, kinds: b.kinds, table: t.kinds, encoder: encoder}
	h := Header{
		Version: r.config.Version, Layout: image.Layout(), Partition: t.name, Began: t.from, Number: t.next, From: b.now, After: b.after,
		Functions: t.functions, Kinds: namesOf(t.kinds, 0, b.kinds),
	}
	w.packed = append(w.packed, magic...)
	wire.Value(&w.out, &h)
	w.flush() // by itself, so that a reader of many segments reads no images
	w.out.Out = append(w.out.Out, b.image...)
	w.flush()
	t.file, w.image = w, w.size
	return w.err
}

func namesOf(kinds *resources.Kinds, from, to int) []string {
	names := make([]string, 0, to-from)
	for k := from; k < to; k++ {
		names = append(names, kinds.Name(resources.Kind(k)))
	}
	return names
}

// step appends a step.
func (w *writing) step(s *step, answers []byte, effects api.Effects) {
	w.steps++
	w.now = s.now
	if s.command != nil {
		w.out.Out = append(w.out.Out, markCommand)
	} else {
		w.out.Out = append(w.out.Out, markSchedule)
	}
	wire.Value(&w.out, &s.now)
	names := namesOf(w.table, w.kinds, max(s.kinds, w.kinds))
	w.kinds = max(s.kinds, w.kinds)
	wire.Value(&w.out, &names)
	if s.command != nil {
		w.out.Command(s.command)
	}
	w.out.Number(uint64(s.answers))
	w.out.Out = append(w.out.Out, answers...)
	if !s.digested {
		s.digest = w.digest.Effects(effects, s.more)
	}
	w.out.Number(s.digest)
	if len(w.out.Out) >= flushSize {
		w.flush()
	}
}

// flush writes a frame. After an error nothing more is written.
func (w *writing) flush() {
	if len(w.out.Out) > 0 {
		w.packed = appendFrame(w.packed, w.out.Out, w.encoder)
	}
	if w.out.Out = w.out.Out[:0]; cap(w.out.Out) > 4*flushSize {
		w.out.Out = nil
	}
	if len(w.packed) > 0 && w.err == nil {
		_, w.err = w.file.Write(w.packed)
		w.size += int64(len(w.packed))
	}
	if w.packed = w.packed[:0]; cap(w.packed) > 4*flushSize {
		w.packed = nil
	}
}

// flushIfDue writes what waits for a second or longer, so that a crash of the machine loses no more. It reports whether anything
// waits after that.
func (w *writing) flushIfDue(now time.Time) bool {
	if len(w.out.Out) == 0 || now.Sub(w.flushed) < flushEvery {
		return len(w.out.Out) > 0
	}
	w.flush()
	w.flushed = now
	if w.err == nil {
		w.err = w.file.Sync()
	}
	return false
}

// due reports whether another segment is to follow.
func (w *writing) due(c Config) bool {
	if w.now.Before(w.late) {
		return false
	}
	return w.size-w.image > c.SegmentMax || w.steps > segmentSteps || w.now.Sub(w.began) > c.SegmentAge
}

// removeOld removes the oldest files while all have too many bytes together.
func (r *Recorder) removeOld() {
	type one struct {
		path    string
		size    int64
		written time.Time
	}
	var files []one
	var sum int64
	_ = filepath.WalkDir(r.config.Directory, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, suffix) {
			return nil
		}
		if info, err := d.Info(); err == nil {
			files = append(files, one{path, info.Size(), info.ModTime()})
			sum += info.Size()
		}
		return nil
	})
	slices.SortFunc(files, func(a, b one) int {
		return cmp.Or(a.written.Compare(b.written), strings.Compare(a.path, b.path))
	})
	for _, f := range files[:max(len(files)-1, 0)] {
		if sum <= r.config.SizeMax {
			return
		}
		if err := os.Remove(f.path); err != nil {
			r.log.Warn("an old recording cannot be removed", zap.String("file", f.path), zap.Error(err))
			continue
		}
		sum -= f.size
	}
}
