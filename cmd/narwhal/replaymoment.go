package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/version"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/dashboard"
)

// A moment is a partition as it was, with what was told of it since its segment began.
type moment struct {
	player  *recording.Player
	at      time.Time
	view    *api.View
	archive *archive.Archive
	events  *events.History
}

// find plays up to the moment that is asked for.
func (r *replaying) find(d *recording.Directory, partition string) (*moment, error) {
	m := &moment{}
	if r.until != "" {
		var err error
		if m.player, err = d.First(partition, recording.Wanted{Pod: r.until, Evicted: r.evicted}, m.told); err != nil {
			return nil, err
		}
		m.at = m.player.Now
	} else if err := m.playTo(d, partition, r.at); err != nil {
		return nil, err
	}
	m.view = m.player.Partition.View()
	m.player.Close()
	return m, nil
}

// playTo plays the segment with a moment.
func (m *moment) playTo(d *recording.Directory, partition, text string) (err error) {
	segments := d.Segments[partition]
	if m.at, err = momentOf(text, segments[len(segments)-1].From); err != nil {
		return &usageError{err}
	}
	s, ok := d.Before(partition, m.at)
	if !ok {
		return fmt.Errorf("partition %s at %s: %w: it begins at %s", partition, stamp(m.at), recording.ErrNoMoment, stamp(segments[0].From))
	}
	if m.player, err = recording.Open(s.Path); err != nil {
		return err
	}
	if err = m.player.PlayTo(m.at, m.told(m.player)); err != nil {
		m.player.Close()
	}
	return err
}

// momentOf reads a time, or a time of the day on which the last segment begins.
func momentOf(text string, last time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	last = last.Local()
	for _, form := range []string{"15:04:05", "15:04"} {
		if at, err := time.Parse(form, text); err == nil {
			return time.Date(last.Year(), last.Month(), last.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.Local), nil
		}
	}
	return time.Time{}, fmt.Errorf("--at %q is no time: it would be 14:03, 14:03:05 or 2026-01-02T14:03:05Z", text)
}

// told begins anew with what is told of a partition, and returns what takes it in.
func (m *moment) told(p *recording.Player) func(recording.Step) {
	// The settings are those that need none, so that there are no errors.
	m.archive, _ = archive.New(archive.Config{})
	m.events, _ = events.NewHistory(rand.Text(), events.Config{})
	book, records, words := m.archive.Open(p.Header.Partition), events.NewRecorder(p.Kinds), reports.NewBook(p.Partition, p.Kinds)
	before := events.Step{Now: p.From, Effects: standing(p.Partition.View())}
	book.Observe(before)
	records.Skip(before)
	return func(s recording.Step) {
		effects := s.Effects
		if s.Command == nil {
			effects = words.Scheduled(s.Now, effects)
		} else {
			effects = words.Observe(s.Now, effects)
		}
		step := events.Step{Now: s.Now, Effects: effects}
		book.Observe(step)
		m.events.Publish(records.Record(nil, step))
	}
}

// standing is what a view shows as the events that lead there, for readers that know nothing of the time before.
func standing(v *api.View) (fx api.Effects) {
	fx = append(fx, &api.Reconfigured{After: v.Config.Root, Total: v.Capacity})
	for _, n := range v.Nodes {
		fx = append(fx, &api.NodeAdded{ID: n.ID, Capacity: n.Capacity, Attributes: n.Attributes, Schedulable: n.Schedulable, Total: v.Capacity})
		for _, a := range n.ForeignAllocations {
			fx = append(fx, api.ForeignAdded{Allocation: a})
		}
	}
	for _, app := range v.Applications {
		fx = append(fx, &api.ApplicationAccepted{ID: app.ID, Queue: app.Queue, User: app.User, Groups: app.Groups, Tags: app.Tags})
		if app.State != api.New {
			fx = append(fx, &api.ApplicationChanged{ID: app.ID, Queue: app.Queue, From: api.New, State: app.State})
		}
		for _, a := range app.Allocations {
			fx = append(fx, api.Adopted{Allocation: a})
		}
		for _, a := range app.Asks {
			fx = append(fx, api.AskAdded{Allocation: a.Allocation})
		}
	}
	return fx
}

// serve serves the moment until the context ends.
func (m *moment) serve(ctx context.Context, out io.Writer, listen string) error {
	service, err := webservice.New(webservice.Config{
		Views: m, Kinds: m.player.Kinds, Archive: m.archive, Events: m.events, Dashboard: dashboard.Handler(), Started: m.player.Began,
		Now:   func() time.Time { return m.at },
		Build: func(string) map[string]string { return map[string]string{"buildVersion": version.Text()} },
	})
	if err != nil {
		return err
	}
	web, err := webservice.NewServer(webservice.ServerConfig{Address: listen}, service)
	if err != nil {
		return err
	}
	if err := web.Start(); err != nil {
		return err
	}
	defer func() { _ = web.Stop(context.Background()) }()
	_, err = fmt.Fprintf(out, "%s as of %s, after step %d of %s; Ctrl-C ends it\n  dashboard\nhttp://%s/\n",
		m.player.Header.Partition, m.at.Format(time.RFC3339Nano), m.player.Steps, m.player.File, web.Addresses()[0])
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-web.Failed():
		return err
	}
}

// Partitions is the one partition.
func (m *moment) Partitions() []string { return []string{m.player.Header.Partition} }

// View is the partition at the moment.
func (m *moment) View(context.Context, string) (*api.View, error) { return m.view, nil }

// Snapshot is the same.
func (m *moment) Snapshot(context.Context, string) (webservice.Snapshot, error) {
	return webservice.Snapshot{View: m.view}, nil
}

// Unanswered is never.
func (m *moment) Unanswered(string) time.Duration { return 0 }
