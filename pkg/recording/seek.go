package recording

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
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

// An Outcome is what became of a pod.
type Outcome string

// The outcomes: it was placed; it was to be evicted; after something was scheduled it waits.
const (
	Placed  Outcome = "placed"
	Evicted Outcome = "evicted"
	Waits   Outcome = "waits"
)

// A Wanted is a step that is looked for: the first after which something has become of a pod.
type Wanted struct {
	Pod string // its key, or its name with or without the namespace
	Outcome
	Reason string // in the reason for which it waits, in any case; empty is any
}

// String is what becomes of the pod.
func (w Wanted) String() string {
	switch {
	case w.Outcome != Waits:
		return "is " + string(w.Outcome)
	case w.Reason != "":
		return "waits for the reason " + w.Reason
	}
	return "waits"
}

// First plays a partition from its first segment on up to the first step that is wanted, and returns the key of the pod. See is called before
// each segment, and returns what is given its steps; it may be nil.
func (d *Directory) First(partition string, w Wanted, see func(p *Player) func(Step)) (*Player, api.AllocationKey, error) {
	for _, s := range d.Segments[partition] {
		p, err := Open(s.Path)
		if err != nil {
			return nil, "", err
		}
		seen := func(Step) {}
		if see != nil {
			seen = see(p)
		}
		search := w.begin(p)
		for {
			step, err := p.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				p.Close()
				return nil, "", err
			}
			key := search.in(step)
			if seen(step); key != "" {
				return p, key, nil
			}
		}
		p.Close()
	}
	return nil, "", fmt.Errorf("there is no step of partition %s after which pod %s %s: %w", partition, w.Pod, w, ErrNoMoment)
}

// A search looks for a step in a segment.
type search struct {
	Wanted
	partition *core.Partition
	waiting   map[api.AllocationKey]api.ApplicationID // asks that may be meant
}

func (w Wanted) begin(p *Player) *search {
	s := &search{w, p.Partition, map[api.AllocationKey]api.ApplicationID{}}
	if w.Outcome == Waits {
		for _, app := range p.Partition.View().Applications {
			for _, ask := range app.Asks {
				s.asked(ask.Allocation)
			}
		}
	}
	return s
}

func (s *search) asked(a *api.Allocation) {
	if s.names(a) {
		s.waiting[a.Key] = a.Application
	}
}

// in is the key of the pod if the step is the one that is wanted, or empty.
func (s *search) in(step Step) (key api.AllocationKey) {
	for _, event := range step.Effects {
		switch e := event.(type) {
		case api.AskAdded:
			s.asked(e.Allocation)
		case api.Placed:
			delete(s.waiting, e.Key)
			if s.Outcome == Placed && s.names(e.Allocation) {
				return e.Key
			}
		case *api.AskEnded:
			delete(s.waiting, e.Key)
		case *api.EvictionRequested:
			if s.Outcome == Evicted && s.names(e.Allocation) {
				return e.Key
			}
		}
	}
	if s.Outcome != Waits || step.Command != nil || step.More || len(s.waiting) == 0 {
		return ""
	}
	view := s.partition.View()
	for _, key := range slices.Sorted(maps.Keys(s.waiting)) {
		if _, ask := view.Ask(s.waiting[key], key); ask != nil && ask.Reason != api.NotTried && s.IsReason(ask.Reason) {
			return key
		}
	}
	return ""
}

// IsReason reports whether a reason is wanted.
func (w Wanted) IsReason(r api.Reason) bool {
	return strings.Contains(strings.ToLower(r.String()), strings.ToLower(w.Reason))
}

func (w Wanted) names(a *api.Allocation) bool {
	pod := archive.PodOf(a)
	return w.Pod == string(a.Key) || pod != "" && (w.Pod == pod || strings.HasSuffix(pod, "/"+w.Pod))
}
