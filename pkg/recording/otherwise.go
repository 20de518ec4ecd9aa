package recording

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Change is the configuration under which a recording is played, made with the kinds of the recording.
type Change func(kinds *resources.Kinds) (api.Config, error)

// An Otherwise is what would have gone differently under another configuration. What it evicts ends at once; what the
// resource manager was never asked in the recording, it agrees to.
type Otherwise struct {
	Steps    int
	From, To time.Time
	First    *Difference // nil if there was none
	// Pods by their keys, sorted: placed only as recorded, only otherwise, or on another node; and evicted only as recorded, or only otherwise.
	PlacedNoMore, PlacedToo, Elsewhere []api.AllocationKey
	EvictedNoMore, EvictedToo          []api.AllocationKey
	Missing                            map[string]int // answers that the recording does not have, by the question
	Gap                                string         // why it was not played to the end of the recording; empty if it was
}

// Play plays a partition under another configuration, from its first segment on, as long as no steps are missing.
func (d *Directory) Play(partition string, change Change) (*Otherwise, error) {
	segments := d.Segments[partition]
	if len(segments) == 0 {
		return nil, fmt.Errorf("partition %s: %w", partition, ErrNoMoment)
	}
	p, err := Open(segments[0].Path)
	if err != nil {
		return nil, err
	}
	defer func() { p.Close() }()
	config, err := change(p.Kinds)
	if err != nil {
		return nil, err
	}
	was, is := newFates(), newFates()
	p.tolerant, p.keeps = true, true
	out := &Otherwise{From: p.From, Missing: map[string]int{}}
	if err := p.reconfigure(config, is); err != nil {
		return nil, err
	}
	for i, s := range segments {
		if i > 0 {
			if err := p.follow(s.Path); err != nil {
				return nil, err
			}
		}
		if err := out.segment(p, s.Path, was, is); err != nil {
			return nil, err
		}
		if i+1 < len(segments) && (!p.Whole || segments[i+1].Number != s.Number+1) {
			out.Gap = "steps are missing before " + segments[i+1].Path
			break
		}
	}
	out.To, out.Steps = p.Now, p.Steps
	out.compare(was, is)
	for q, n := range p.answers.missing {
		if n > 0 {
			out.Missing[question(q).String()] = n
		}
	}
	return out, nil
}

// reconfigure has the partition begin with a configuration. Where the recording begins in its midst, it changes to that.
func (p *Player) reconfigure(config api.Config, is *fates) error {
	if p.After == partitionBegan {
		p.Partition = core.NewPartition(p.Partition.Options, config)
		return nil
	}
	if err := p.Partition.Convertible(config); err != nil {
		return err
	}
	is.take(p.Partition.Apply(p.From, api.Reconfigure{Config: config}))
	return nil
}

// segment plays a segment twice, as it was and otherwise.
func (o *Otherwise) segment(p *Player, path string, was, is *fates) error {
	recorded, err := Open(path)
	if err != nil {
		return err
	}
	defer recorded.Close()
	p.Whole = false
	for {
		before, err := recorded.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, ErrTorn) {
			p.Whole = recorded.Whole
			return nil
		}
		if err != nil {
			return err
		}
		was.take(before.Effects)
		after, err := p.Next()
		var differs *Difference
		if errors.As(err, &differs) {
			if o.First == nil {
				o.First = differs
			}
			err = nil
		}
		if err != nil {
			return err
		}
		is.take(after.Effects)
		is.end(p, was)
	}
}

// follow goes on with the segment after the one that was played, from the partition as it is.
func (p *Player) follow(path string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	frames, h, err := begin(path, file)
	if err != nil {
		_ = file.Close()
		return err
	}
	p.Close()
	p.file, p.frames, p.Header, p.File = file, frames, h, path
	if h.Image {
		if _, err := p.image(); err != nil {
			return err
		}
	}
	return p.learn(h.Kinds)
}

// Fates are where pods were placed and which were evicted.
type fates struct {
	placed  map[api.AllocationKey]api.NodeID
	evicted map[api.AllocationKey]bool
	told    map[api.AllocationKey]bool // the resource manager was told to end them
	ending  []api.ReleaseAllocation    // what the resource manager was told to end
}

func newFates() *fates {
	return &fates{placed: map[api.AllocationKey]api.NodeID{}, evicted: map[api.AllocationKey]bool{}, told: map[api.AllocationKey]bool{}}
}

func (f *fates) take(effects api.Effects) {
	for _, event := range effects {
		switch e := event.(type) {
		case api.Placed:
			f.placed[e.Key] = e.Node
		case *api.EvictionRequested:
			f.evicted[e.Key], f.told[e.Key] = true, true
			f.ending = append(f.ending, api.ReleaseAllocation{Application: e.Application, Key: e.Key, Termination: si.TerminationType_PREEMPTED_BY_SCHEDULER})
		case *api.ReleaseRequested:
			termination := si.TerminationType_TIMEOUT
			if e.Cause == api.CauseReplaced {
				termination = si.TerminationType_PLACEHOLDER_REPLACED
			}
			f.told[e.Key] = true
			f.ending = append(f.ending, api.ReleaseAllocation{Application: e.Application, Key: e.Key, Termination: termination})
		}
	}
}

// end ends what the resource manager was told to end and was not told in the recording, where it says of the others when they ended.
func (f *fates) end(p *Player, was *fates) {
	for len(f.ending) > 0 {
		first := f.ending[0]
		f.ending = f.ending[1:]
		if !was.told[first.Key] {
			f.take(p.Partition.Apply(p.Now, first))
		}
	}
}

// compare says what the fates have not in common.
func (o *Otherwise) compare(was, is *fates) {
	for key, node := range was.placed {
		switch now, placed := is.placed[key]; {
		case !placed:
			o.PlacedNoMore = append(o.PlacedNoMore, key)
		case now != node:
			o.Elsewhere = append(o.Elsewhere, key)
		}
	}
	o.PlacedToo = missingIn(is.placed, was.placed)
	o.EvictedNoMore = missingIn(was.evicted, is.evicted)
	o.EvictedToo = missingIn(is.evicted, was.evicted)
	slices.Sort(o.PlacedNoMore)
	slices.Sort(o.Elsewhere)
}

func missingIn[V any](of, in map[api.AllocationKey]V) []api.AllocationKey {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(of)), func(key api.AllocationKey) bool {
		_, has := in[key]
		return has
	})
}
