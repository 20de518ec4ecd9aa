package recording

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/image"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/wire"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// ErrOtherProgram is wrapped where a recording was written by a program whose partitions are built in another way.
var ErrOtherProgram = errors.New("the recording is of another version")

// A Difference is the first step that does not do what was recorded.
type Difference struct {
	File string
	Step int
	At   time.Time
	What string
}

func (d *Difference) Error() string {
	return fmt.Sprintf("%s: step %d at %s: %s", d.File, d.Step, d.At.Format("2006-01-02 15:04:05.000"), d.What)
}

// A Player plays a segment, step by step. Partition is as it was after the steps that were played, and belongs to the
// caller; it must not be changed.
type Player struct {
	Header
	File      string
	Partition *core.Partition
	Kinds     *resources.Kinds
	Now       time.Time // of the last step
	Steps     int       // that were played
	Whole     bool      // the segment was played to its end, and the next one goes on where it ended

	file     *os.File
	frames   *frameReader
	rest     *wire.Reader
	next     *record // that was read already
	answers  answerer
	digest   wire.Digester
	tolerant bool // differences are no errors
	keeps    bool // its configuration, whatever was recorded
	wrap     func(*api.Options)
}

// A Step is what was played: a command, or a call of Schedule where it is nil, and what came of it.
type Step struct {
	Number  int
	Now     time.Time
	Command api.Command
	Effects api.Effects
	More    bool // Schedule was to be called again at once
}

// ReadHeader reads what a segment begins with.
func ReadHeader(path string) (Header, error) {
	file, err := os.Open(path)
	if err != nil {
		return Header{}, err
	}
	defer func() { _ = file.Close() }()
	_, h, err := begin(path, file)
	return h, err
}

// begin reads the header of a segment.
func begin(path string, file *os.File) (*frameReader, Header, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, Header{}, err
	}
	frames, err := newFrameReader(file, info.Size())
	if err != nil {
		return nil, Header{}, fmt.Errorf("%s: %w", path, err)
	}
	content, err := frames.next()
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("offset %d: %w: the first frame is missing", frames.at, ErrTorn)
	}
	if err != nil {
		frames.decoder.Close()
		return nil, Header{}, fmt.Errorf("%s: %w", path, err)
	}
	r := wire.NewReader(content)
	h := wire.Take[Header](r)
	if r.Err != nil {
		frames.decoder.Close()
		return nil, h, fmt.Errorf("%s: header: %w", path, r.Err)
	}
	return frames, h, nil
}

// Open restores the partition with which a segment begins, from its image, or from those before it where there is none. Close is to be
// called in the end.
func Open(path string) (*Player, error) {
	return open(path, func() bool { return false }, nil)
}

// OpenListening is Open that wraps the functions which give the recorded answers again.
func OpenListening(path string, wrap func(*api.Options)) (*Player, error) {
	return open(path, func() bool { return false }, wrap)
}

// newPlayer reads how a segment begins.
func newPlayer(path string) (*Player, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	p := &Player{File: path, file: file, Kinds: new(resources.Kinds), answers: answerer{last: map[asked][]byte{}}, rest: wire.NewReader(nil)}
	if p.frames, p.Header, err = begin(p.File, p.file); err == nil && p.Layout != image.Layout() {
		err = fmt.Errorf("%s: %w: it was written by version %q, play it with that", p.File, ErrOtherProgram, p.Version)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// restore makes the partition of its image.
func (p *Player) restore(content []byte) (err error) {
	if err := p.learn(p.Header.Kinds); err != nil {
		return fmt.Errorf("%s: %w", p.File, err)
	}
	options := p.answers.options(p.Functions)
	options.Partition, options.Kinds = p.Header.Partition, p.Kinds
	if p.wrap != nil {
		p.wrap(&options)
	}
	defer p.contain(&err)
	if p.Partition, err = image.Restore(content, options); err != nil {
		return fmt.Errorf("%s: %w", p.File, err)
	}
	p.Now = p.From
	return nil
}

// contain makes an error of a panic of the core, which a file that is not what was written can lead to.
func (p *Player) contain(err *error) {
	if panicked := recover(); panicked != nil {
		*err = fmt.Errorf("%s: step %d: the core panicked: %v", p.File, p.Steps+1, panicked)
	}
}

func (p *Player) learn(kinds []string) error {
	for _, name := range kinds {
		if _, err := p.Kinds.Intern(name); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the file.
func (p *Player) Close() {
	if p.frames != nil {
		p.frames.decoder.Close()
	}
	_ = p.file.Close()
}

// Next plays the next step. It returns io.EOF after the last, an error that wraps ErrTorn where the file is torn, and a
// *Difference where something else comes out than was recorded.
func (p *Player) Next() (s Step, err error) {
	var r record
	for {
		if r, err = p.record(); err != nil {
			return Step{}, err
		}
		if r.mark != markEnd {
			break
		}
		if v := p.Partition.View(); !p.tolerant && p.digest.View(v) != r.digest {
			return Step{}, p.difference("the view at the end is not what it was")
		}
		p.Whole = true
	}
	if err := p.learn(r.kinds); err != nil {
		return Step{}, fmt.Errorf("%s: step %d: %w", p.File, p.Steps+1, err)
	}
	return p.play(r)
}

// PlayToEnd plays the steps that are left. An error is that of Next, which is not io.EOF.
func (p *Player) PlayToEnd() error {
	for {
		switch _, err := p.Next(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// made is a step that is made with the answers that it had.
func (p *Player) made(r record) (s Step, err error) {
	p.answers.step(r.answers)
	s = Step{Number: p.Steps + 1, Now: r.now, Command: r.command}
	defer p.contain(&err)
	switch _, reconfigures := r.command.(api.Reconfigure); {
	case r.command == nil:
		s.Effects, s.More = p.Partition.Schedule(r.now)
	case !reconfigures || !p.keeps:
		s.Effects = p.Partition.Apply(r.now, lasting(r.command))
	}
	p.Steps, p.Now = s.Number, r.now
	return s, nil
}

// play makes a step, and says whether the same comes of it.
func (p *Player) play(r record) (Step, error) {
	s, err := p.made(r)
	if err != nil {
		return s, err
	}
	if p.answers.reading != nil {
		return s, fmt.Errorf("%s: step %d: an answer cannot be read: %w", p.File, s.Number, p.answers.reading)
	}
	if p.answers.apart {
		return s, nil
	}
	what := p.answers.over()
	if what == "" && p.digest.Effects(s.Effects, s.More) != r.digest {
		what = "something else comes of it: " + describe(&s, p.Kinds)
	}
	if what == "" {
		return s, nil
	}
	p.answers.apart = true
	return s, p.difference(what)
}

func (p *Player) difference(what string) error { return &Difference{p.File, p.Steps, p.Now, what} }

// record reads the next step.
func (p *Player) record() (record, error) {
	if r := p.next; r != nil {
		p.next = nil
		return *r, nil
	}
	for len(p.rest.Rest) == 0 {
		content, err := p.frames.next()
		if errors.Is(err, io.EOF) {
			return record{}, io.EOF
		}
		if err != nil {
			return record{}, fmt.Errorf("%s: after step %d: %w", p.File, p.Steps, err)
		}
		p.rest = wire.NewReader(content)
	}
	r := takeRecord(p.rest)
	if p.rest.Err != nil {
		return record{}, fmt.Errorf("%s: after step %d: the frame before offset %d: %w: %w", p.File, p.Steps, p.frames.at, ErrTorn, p.rest.Err)
	}
	return r, nil
}
