package recording

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/image"
)

// imageSuffix ends the name of a file with the image with which a segment begins, beside that of the segment.
const imageSuffix = ".image"

// An image of a large partition takes seconds, for which no partition waits: a goroutine of its own plays what was written, which also
// proves that it can be played. It rests imageRest times as long as it worked. A segment after behindMax others without an image
// begins with one of the partition itself, as otherwise it would take too long to come to a moment in it.
const (
	imageRest = 3
	behindMax = 8
)

// errStopped is why an image is not made to the end.
var errStopped = errors.New("the recorder was closed")

// A wantedImage is that of a segment which begins without one.
type wantedImage struct {
	tape   *tape
	path   string
	number uint64
}

// want asks for an image. Of a partition the last one that is asked for counts.
func (r *Recorder) want(w wantedImage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.IndexFunc(r.wanted, func(other wantedImage) bool { return other.tape == w.tape }); i >= 0 {
		r.wanted[i] = w
		return
	}
	r.wanted = append(r.wanted, w)
	r.wants.Signal()
}

// makeImages is the goroutine that makes them.
func (r *Recorder) makeImages() {
	for {
		r.mu.Lock()
		for len(r.wanted) == 0 && !r.closed {
			r.wants.Wait()
		}
		if r.closed {
			r.mu.Unlock()
			return
		}
		w := r.wanted[0]
		r.wanted = r.wanted[1:]
		r.mu.Unlock()
		began := time.Now()
		size, err := makeImage(w.path, r.isClosed)
		r.imageMade(w, size, err)
		select {
		case <-r.closing:
			return
		case <-time.After(imageRest * time.Since(began)):
		}
	}
}

// imageMade notes an image, or why there is none. One that cannot be made by playing is made of the partition.
func (r *Recorder) imageMade(w wantedImage, size int, err error) {
	switch {
	case err == nil:
		w.tape.size.Store(int64(size))
		w.tape.imaged.Store(w.number)
	case errors.Is(err, errStopped):
	default:
		w.tape.afresh.Store(true)
		w.tape.renew.Store(true)
		r.log.Warn("what was recorded cannot be played, so the partition waits for an image of its own", zap.String("partition", w.tape.name), zap.Error(err))
	}
}

func (r *Recorder) isClosed() bool {
	select {
	case <-r.closing:
		return true
	default:
		return false
	}
}

// makeImage plays what leads to the beginning of a segment, and writes the image. It returns how many bytes that has.
func makeImage(path string, isOver func() bool) (int, error) {
	p, err := open(path, isOver, nil)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	content, err := image.Of(p.Partition)
	if err != nil {
		return 0, err
	}
	encoder, err := newEncoder()
	if err != nil {
		return 0, err
	}
	return writeImage(path, content, encoder)
}

// writeImage writes the image of a segment, all of it or nothing. It returns how many bytes that has.
func writeImage(path string, content []byte, encoder *zstd.Encoder) (int, error) {
	packed := appendFrame([]byte(magic), content, encoder)
	unfinished := path + ".part"
	if err := os.WriteFile(unfinished, packed, 0o640); err != nil {
		return 0, errors.Join(err, os.Remove(unfinished))
	}
	return len(packed), os.Rename(unfinished, imageOf(path))
}

// imageOf is the file with the image of a segment.
func imageOf(path string) string { return strings.TrimSuffix(path, suffix) + imageSuffix }

// hasImage reports whether a segment can be played without those before it.
func (s *Segment) hasImage() bool {
	if s.Image {
		return true
	}
	_, err := os.Stat(imageOf(s.Path))
	return err == nil
}

// image is that with which the segment begins. The error wraps fs.ErrNotExist if there is none.
func (p *Player) image() ([]byte, error) {
	frames, path := p.frames, p.File
	if !p.Header.Image {
		path = imageOf(p.File)
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		if frames, err = newFrameReader(file, info.Size()); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		defer frames.decoder.Close()
	}
	content, err := frames.next()
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("offset %d: %w: the image is missing", frames.at, ErrTorn)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return content, err
}

// open is Open, which ends with errStopped when it is over.
func open(path string, isOver func() bool, wrap func(*api.Options)) (*Player, error) {
	p, err := newPlayer(path)
	if err != nil {
		return nil, err
	}
	p.wrap = wrap
	content, err := p.image()
	if errors.Is(err, fs.ErrNotExist) {
		before := filepath.Join(filepath.Dir(path), fileName(p.Began, p.Number-1))
		p.Close()
		if p, err = open(before, isOver, wrap); err != nil {
			return nil, fmt.Errorf("%s has no image: %w", path, err)
		}
		if err = p.goOn(path, isOver); err != nil {
			p.Close()
			return nil, err
		}
		return p, nil
	}
	if err == nil {
		err = p.restore(content)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// goOn plays a segment to its end, and goes on with the next one.
func (p *Player) goOn(next string, isOver func() bool) error {
	for {
		_, err := p.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && isOver() {
			err = errStopped
		}
		if err != nil {
			return err
		}
	}
	if !p.Whole {
		return fmt.Errorf("%s has no image, and %w: the segment before ends too early", next, ErrTorn)
	}
	if err := p.follow(next); err != nil {
		return err
	}
	p.Steps, p.Whole, p.Now = 0, false, p.From
	return nil
}
