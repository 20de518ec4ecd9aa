package recording

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"reflect"

	"github.com/klauspost/compress/zstd"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/image"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/wire"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Redacted says what was written.
type Redacted struct {
	Segments, Steps, Words int
	Name                   func(string) string // what stands for a name
	Torn                   error               // why the last segment was not read to its end; nil if it was
}

// Redact writes partitions of a recording into a directory, which must not have any, with other names: those of queues, applications, pods, users,
// groups, nodes and attributes, and messages. Amounts, times, resource kinds and well-known words stay. It plays both, and what is decided must
// be the same; the error says where it is not, as where a rule depends on how a name is written.
func (d *Directory) Redact(to string, partitions ...string) (Redacted, error) {
	r := &renaming{names: newNames(), learns: true, opaque: map[string]string{}}
	w := &redacting{renaming: r, to: to}
	if below, err := os.ReadDir(to); err == nil && len(below) > 0 {
		return w.done, fmt.Errorf("%s is not empty: a recording with other names would be mixed with what is there", to)
	}
	for _, partition := range partitions {
		for _, s := range d.Segments[partition] {
			if err := r.learnSegment(s); err != nil {
				return w.done, err
			}
		}
	}
	if err := r.give(); err != nil {
		return w.done, err
	}
	r.learns, w.done.Words, w.done.Name = false, len(r.is), r.of
	for _, partition := range partitions {
		list := d.Segments[partition]
		for i, s := range list {
			if err := w.segment(s, i+1 == len(list)); err != nil {
				return w.done, errors.Join(err, os.RemoveAll(to)) // it was empty
			}
		}
		w.after = nil
	}
	return w.done, nil
}

// contained makes an error of a panic, which a file that is not what was written can lead to.
func contained(path string, err *error) {
	if panicked := recover(); panicked != nil {
		*err = fmt.Errorf("%s: it cannot be read: %v", path, panicked)
	}
}

// learnSegment learns all words of a segment, and of its image if it has one.
func (r *renaming) learnSegment(s Segment) (err error) {
	defer contained(s.Path, &err)
	p, err := newPlayer(s.Path)
	if err != nil {
		return err
	}
	defer p.Close()
	r.plain(p.Header.Partition)
	if s.hasImage() {
		if err := r.learnImage(p); err != nil {
			return err
		}
	}
	r.keepKinds(p.Header.Kinds)
	for {
		next, err := p.record()
		if errors.Is(err, io.EOF) || errors.Is(err, ErrTorn) {
			return nil // what is torn is told when it is played
		}
		if err != nil {
			return err
		}
		p.Steps++
		r.keepKinds(next.kinds)
		if next.command != nil {
			var w wire.Writer
			w.Command(next.command)
			r.command(w.Out)
		}
		for _, g := range next.answers {
			if _, err := r.answer(g.question, g.answer); err != nil {
				return fmt.Errorf("%s: step %d: an answer cannot be read: %w", p.File, p.Steps, err)
			}
		}
	}
}

// learnImage learns the words of an image.
func (r *renaming) learnImage(p *Player) error {
	content, err := p.image()
	if err != nil {
		return err
	}
	if err := p.learn(p.Header.Kinds); err != nil {
		return fmt.Errorf("%s: %w", p.File, err)
	}
	of, err := image.RestoreAs(content, api.Options{Partition: p.Header.Partition, Kinds: p.Kinds}, r.as)
	if err != nil {
		return fmt.Errorf("%s: %w", p.File, err)
	}
	of.Applications.Ascend(func(app *ledger.Application) bool {
		r.users[app.User] = true
		for _, group := range app.Groups {
			r.groups[group] = true
		}
		return true
	})
	return nil
}

func (n *names) keepKinds(kinds []string) {
	for _, name := range kinds {
		n.keep(name)
	}
}

// A redacting writes segments with other names.
type redacting struct {
	*renaming
	to    string
	done  Redacted
	after *Player // the one with other names, at the end of the segment before; nil if it cannot be gone on with
}

// segment plays a segment twice, with its names and with others, and writes the latter.
func (w *redacting) segment(s Segment, last bool) (err error) {
	defer contained(s.Path, &err)
	was, err := Open(s.Path)
	if err != nil {
		return err
	}
	defer was.Close()
	is, err := w.begin(was, s)
	if err != nil {
		return err
	}
	out, err := w.create(is, s)
	if err != nil {
		return err
	}
	err = w.play(was, is, out)
	out.flush()
	w.after = nil
	switch {
	case errors.Is(err, io.EOF):
		err = nil
		if was.Whole {
			w.after = is
		}
	case errors.Is(err, ErrTorn) && last:
		w.done.Torn, err = err, nil
	}
	w.done.Segments++
	w.done.Steps += was.Steps
	return errors.Join(err, out.err, out.file.Close())
}

// begin is what plays with other names: the one before goes on, or it begins with an image.
func (w *redacting) begin(was *Player, s Segment) (*Player, error) {
	h := was.Header
	h.Partition = w.of(h.Partition)
	if p := w.after; p != nil && p.Began.Equal(h.Began) && p.Number+1 == h.Number {
		p.Header, p.File = h, s.Path
		p.Steps = 0
		return p, p.learn(h.Kinds)
	}
	from, err := newPlayer(s.Path)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	content, err := from.image()
	if err != nil {
		return nil, err
	}
	p := &Player{Header: h, File: s.Path, Kinds: new(resources.Kinds), answers: answerer{last: map[asked][]byte{}, renamed: true}}
	if err := p.learn(h.Kinds); err != nil {
		return nil, err
	}
	options := p.answers.options(h.Functions)
	options.Partition, options.Kinds = h.Partition, p.Kinds
	if p.Partition, err = image.RestoreAs(content, options, w.as); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	p.Partition.Config.Rules = w.rules(was.Partition.Config.Rules)
	if err := p.Partition.Verify(); err != nil {
		return nil, fmt.Errorf("%s: with other names its books are wrong: %w", s.Path, err)
	}
	return p, nil
}

// create begins the file of a segment, and that of its image.
func (w *redacting) create(p *Player, s Segment) (*writing, error) {
	directory := filepath.Join(w.to, url.PathEscape(p.Header.Partition))
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return nil, err
	}
	path := filepath.Join(directory, fileName(p.Began, p.Number))
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	var imaged []byte
	if s.hasImage() {
		if imaged, err = image.Of(p.Partition); err != nil {
			return nil, err
		}
		if !p.Header.Image {
			if _, err := writeImage(path, imaged, encoder); err != nil {
				return nil, err
			}
			imaged = nil
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, err
	}
	out := &writing{file: file, encoder: encoder, packed: []byte(magic)}
	wire.Value(&out.out, &p.Header)
	out.flush()
	out.out.Out = append(out.out.Out, imaged...)
	out.flush()
	return out, out.err
}

// play plays the steps of a segment, and writes them.
func (w *redacting) play(was, is *Player, out *writing) error {
	for {
		r, err := was.record()
		if err != nil {
			return err
		}
		if r.mark == markEnd {
			was.Whole = true
			out.out.Out = append(out.out.Out, markEnd)
			out.out.Number(is.digest.View(is.Partition.View()))
			continue
		}
		renamed, err := w.record(was, r)
		if err != nil {
			return err
		}
		was.next = &r
		before, err := was.Next()
		if err != nil {
			return err
		}
		if err := is.learn(r.kinds); err != nil {
			return err
		}
		after, err := is.renamed(renamed)
		if err == nil {
			err = w.compare(before.Effects, after.Effects)
		}
		if err != nil {
			return fmt.Errorf("%s: step %d: with other names it goes differently: %w", was.File, was.Steps, err)
		}
		renamed.digest = is.digest.Effects(after.Effects, after.More)
		out.record(renamed)
	}
}

// record is a step with other names.
func (w *redacting) record(p *Player, r record) (record, error) {
	answers := make([]given, len(r.answers))
	for i, g := range r.answers {
		answer, err := w.answer(g.question, g.answer)
		if err != nil {
			return r, fmt.Errorf("%s: step %d: an answer cannot be read: %w", p.File, p.Steps+1, err)
		}
		answers[i] = given{g.asked, answer}
	}
	r.answers = answers
	if r.command != nil {
		var out wire.Writer
		out.Command(r.command)
		r.command = w.command(out.Out)
	}
	return r, nil
}

// renamed makes a step with the answers that it had, whatever their identifiers, which become those of what is asked.
func (p *Player) renamed(r record) (Step, error) {
	s, err := p.made(r)
	if err != nil {
		return s, err
	}
	if what := p.answers.over(); what != "" {
		return s, errors.New(what)
	}
	return s, p.answers.reading
}

// compare says what is decided differently with other names: what begins and ends, and where.
func (w *redacting) compare(was, is api.Effects) error {
	decided := func(effects api.Effects) (list []api.Event) {
		for _, event := range effects {
			if allocationOf(event) != nil {
				list = append(list, event)
			}
		}
		return list
	}
	before, after := decided(was), decided(is)
	if len(before) != len(after) {
		return fmt.Errorf("%d events come of it, and were %d", len(after), len(before))
	}
	for i := range before {
		a, b := allocationOf(before[i]), allocationOf(after[i])
		if reflect.TypeOf(before[i]) != reflect.TypeOf(after[i]) || w.of(string(a.Key)) != string(b.Key) || w.of(string(a.Node)) != string(b.Node) {
			return fmt.Errorf("it is %T %s on %q, and was %T %s on %q", after[i], b.Key, b.Node, before[i], a.Key, a.Node)
		}
	}
	return nil
}
