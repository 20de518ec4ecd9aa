package recording

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// ErrNoMoment is wrapped where a recording has no such moment.
var ErrNoMoment = errors.New("the recording has no such moment")

// PlayTo plays up to a moment: all steps that were made before it, or at it. It gives each to see, which may be nil. It ends earlier where the
// segment does, without an error.
func (p *Player) PlayTo(at time.Time, see func(Step)) error {
	for {
		r, err := p.record()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.mark == markEnd {
			p.Whole = true
			continue
		}
		if r.now.After(at) {
			p.next = &r
			return nil
		}
		p.next = &r
		s, err := p.Next()
		if err != nil {
			return err
		}
		if see != nil {
			see(s)
		}
	}
}

// Span is from when to when the recording of a partition goes, without playing it.
func (d *Directory) Span(partition string) (from, to time.Time, err error) {
	segments := d.Segments[partition]
	if len(segments) == 0 {
		return from, to, fmt.Errorf("partition %s: %w", partition, ErrNoMoment)
	}
	last := segments[len(segments)-1]
	from, to = segments[0].From, last.From
	p, err := newPlayer(last.Path)
	if err != nil {
		return from, to, err
	}
	defer p.Close()
	if p.Header.Image {
		if _, err := p.image(); err != nil {
			return from, to, err
		}
	}
	for {
		r, err := p.record()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, ErrTorn):
			return from, to, nil
		case err != nil:
			return from, to, err
		case r.mark != markEnd:
			to = r.now
		}
	}
}

// A Wanted is a step that is looked for: the first that places a pod, or has it evicted.
type Wanted struct {
	Pod     string // its key, or its name with or without the namespace
	Evicted bool   // placed otherwise
}

// First plays a partition from its first segment on up to the first step that is wanted. See is called before each segment, and returns
// what is given its steps; it may be nil.
func (d *Directory) First(partition string, w Wanted, see func(p *Player) func(Step)) (*Player, error) {
	for _, s := range d.Segments[partition] {
		p, err := Open(s.Path)
		if err != nil {
			return nil, err
		}
		seen := func(Step) {}
		if see != nil {
			seen = see(p)
		}
		for {
			step, err := p.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				p.Close()
				return nil, err
			}
			found := w.in(step)
			if seen(step); found {
				return p, nil
			}
		}
		p.Close()
	}
	outcome := "placed"
	if w.Evicted {
		outcome = "evicted"
	}
	return nil, fmt.Errorf("pod %s of partition %s is not %s: %w", w.Pod, partition, outcome, ErrNoMoment)
}

// in reports whether a step is wanted.
func (w Wanted) in(s Step) bool {
	for _, event := range s.Effects {
		switch e := event.(type) {
		case api.Placed:
			if !w.Evicted && w.names(e.Allocation) {
				return true
			}
		case *api.EvictionRequested:
			if w.Evicted && w.names(e.Allocation) {
				return true
			}
		}
	}
	return false
}

func (w Wanted) names(a *api.Allocation) bool {
	pod := archive.PodOf(a)
	return w.Pod == string(a.Key) || pod != "" && (w.Pod == pod || strings.HasSuffix(pod, "/"+w.Pod))
}
