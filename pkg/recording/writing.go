package recording

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
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

// segmentSteps is how many steps a segment has at most, so that any moment in it is reached soon.
const segmentSteps = 1 << 16

// retryAfter is how long nothing is written after a file was refused.
const retryAfter = time.Minute

// A writing is a segment that is written.
type writing struct {
	file    *os.File
	size    int64
	start   int64 // the size with which it began
	steps   int
	began   time.Time
	now     time.Time // of the last step
	flushed time.Time
	kinds   int // that it names
	table   *resources.Kinds
	last    record      // that was appended; here, so that none costs memory of its own
	out     wire.Writer // not written yet
	packed  []byte
	digest  wire.Digester
	encoder *zstd.Encoder
	over    bool  // another segment was asked for
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
		if !w.over && w.due(r.config, t.size.Load()) {
			w.over = true // once: steps of this segment may still wait, and would each have one more begin
			t.afresh.Store(t.next-t.imaged.Load() >= behindMax)
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

// refused gives up a segment that cannot be written. The next one cannot go on after it.
func (r *Recorder) refused(t *tape, err error) {
	r.lost.Add(1)
	r.log.Warn("a recording cannot be written", zap.String("partition", t.name), zap.Error(err))
	if w := t.file; w != nil {
		_ = w.file.Close()
		delete(r.writes, w.file.Name())
		t.file = nil
	}
	t.afresh.Store(true)
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
	delete(r.writes, w.file.Name())
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
	file, err := createSegment(directory, t)
	if err != nil {
		return err
	}
	path := file.Name()
	w := &writing{file: file, began: b.now, flushed: b.now, kinds: b.kinds, table: t.kinds, encoder: r.encoder}
	h := Header{
		Version: r.config.Version, Layout: image.Layout(), Partition: t.name, Began: t.from, Number: t.next, From: b.now, After: b.after,
		Functions: t.functions, Image: b.image != nil, Kinds: namesOf(t.kinds, 0, b.kinds),
	}
	w.packed = append(w.packed, magic...)
	wire.Value(&w.out, &h)
	w.flush() // by itself, so that a reader of many segments reads no images
	w.out.Out = append(w.out.Out, b.image...)
	w.flush()
	t.file, w.start = w, w.size
	r.writes[path] = true
	r.removeOld()
	if h.Image {
		t.size.Store(w.size)
		t.imaged.Store(h.Number)
	} else if w.err == nil {
		r.want(wantedImage{t, path, h.Number})
	}
	return w.err
}

// createSegment makes the file of a segment. A recording that begins at the same moment as another has its own name.
func createSegment(directory string, t *tape) (*os.File, error) {
	for {
		file, err := os.OpenFile(filepath.Join(directory, fileName(t.from, t.next)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640)
		if t.next > 1 || !errors.Is(err, fs.ErrExist) {
			return file, err
		}
		t.from = t.from.Add(time.Nanosecond)
	}
}

// fileName is the name of a segment.
func fileName(began time.Time, number uint64) string {
	return fmt.Sprintf("%s-%06d%s", began.UTC().Format("20060102T150405.000000000"), number, suffix)
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
	if !s.digested {
		s.digest = w.digest.Effects(effects, s.more)
	}
	w.last = record{mark: markSchedule, now: s.now, kinds: namesOf(w.table, w.kinds, max(s.kinds, w.kinds)), command: s.command, digest: s.digest}
	if s.command != nil {
		w.last.mark = markCommand
	}
	w.kinds = max(s.kinds, w.kinds)
	w.append(s.answers, answers)
}

// record appends a step as a file has it.
func (w *writing) record(r record) {
	var answers wire.Writer
	for _, g := range r.answers {
		appendGiven(&answers, g)
	}
	w.last = r
	w.append(len(r.answers), answers.Out)
}

// append appends the last record, as takeRecord takes it, with so many answers.
func (w *writing) append(count int, answers []byte) {
	r := &w.last
	w.out.Out = append(w.out.Out, r.mark)
	wire.Value(&w.out, &r.now)
	wire.Value(&w.out, &r.kinds)
	if r.command != nil {
		w.out.Command(r.command)
	}
	w.out.Number(uint64(count))
	w.out.Out = append(w.out.Out, answers...)
	w.out.Number(r.digest)
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

// due reports whether another segment is to follow. Images of so many bytes do not take more room than steps.
func (w *writing) due(c Config, image int64) bool {
	size := w.size - w.start
	return size > c.SegmentMax || w.steps > segmentSteps || size >= image && w.now.Sub(w.began) > c.SegmentAge
}

// removeOld removes the oldest files while all have too many bytes together, but the last, and none that is written.
func (r *Recorder) removeOld() {
	type one struct {
		path    string
		size    int64
		written time.Time
	}
	var files []one
	var sum int64
	_ = filepath.WalkDir(r.config.Directory, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, suffix) && !strings.HasSuffix(path, imageSuffix) {
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
		if r.writes[f.path] {
			continue
		}
		if err := os.Remove(f.path); err != nil {
			r.log.Warn("an old recording cannot be removed", zap.String("file", f.path), zap.Error(err))
			continue
		}
		sum -= f.size
	}
}
