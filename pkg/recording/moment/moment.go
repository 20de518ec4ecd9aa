package moment

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/version"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
)

// A moment is a partition as it was, with what was told of it since its segment began.
type moment struct {
	player  *recording.Player
	segment int // of the partition
	at      time.Time
	step    int // of the segment, where it is shown
	archive *archive.Archive
	events  *events.History
	see     func(recording.Step)
	rest    http.Handler
}

// open is the beginning of a segment.
func (m *Moments) open(segment int) (*moment, error) {
	p, err := recording.Open(m.segments[segment].Path)
	if err != nil {
		return nil, err
	}
	out := &moment{segment: segment, at: p.Now}
	out.begin(p)
	return out, nil
}

// begin begins anew with what is told of a partition, and returns what takes it in.
func (m *moment) begin(p *recording.Player) func(recording.Step) {
	m.player = p
	// The settings are those that need none, so that there are no errors.
	m.archive, _ = archive.New(archive.Config{})
	history, _ := events.NewHistory(rand.Text(), events.Config{})
	m.events = history
	book, records, words := m.archive.Open(p.Header.Partition), events.NewRecorder(p.Kinds), reports.NewBook(p.Partition, p.Kinds)
	before := events.Step{Now: p.From, Effects: standing(p.Partition.View())}
	book.Observe(before)
	records.Skip(before)
	m.see = func(s recording.Step) {
		effects := s.Effects
		if s.Command == nil {
			effects = words.Scheduled(s.Now, effects)
		} else {
			effects = words.Observe(s.Now, effects)
		}
		step := events.Step{Now: s.Now, Effects: effects}
		book.Observe(step)
		history.Publish(records.Record(nil, step))
	}
	return m.see
}

// on plays so many steps, or to the end of the segment, and says how many are left. Where the segment is torn it ends.
func (m *moment) on(steps int) (left int, err error) {
	for left = steps; left > 0; left-- {
		s, err := m.player.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, recording.ErrTorn) {
			return left, nil
		}
		if err != nil {
			return left, err
		}
		m.see(s)
		m.at = s.Now
	}
	return 0, nil
}

// to plays up to a time.
func (m *moment) to(at time.Time) error {
	m.at = at
	if err := m.player.PlayTo(at, m.see); !errors.Is(err, recording.ErrTorn) {
		return err
	}
	return nil
}

// serve makes what answers requests about the moment.
func (m *moment) serve(page http.Handler, address string) error {
	service, err := webservice.New(webservice.Config{
		Views: &reading{m.player.Header.Partition, m.player.Partition.View()}, Kinds: m.player.Kinds, Archive: m.archive, Events: m.events,
		Dashboard: page, Started: m.player.Began, Now: func() time.Time { return m.at },
		Build: func(string) map[string]string { return map[string]string{"buildVersion": version.Text()} },
	})
	if err != nil {
		return err
	}
	web, err := webservice.NewServer(webservice.ServerConfig{Address: address}, service)
	if err != nil {
		return err
	}
	m.rest = web.Handler()
	return nil
}

// A reading is the view of a moment, as a service reads it.
type reading struct {
	partition string
	view      *api.View
}

func (r *reading) Partitions() []string { return []string{r.partition} }

func (r *reading) View(context.Context, string) (*api.View, error) { return r.view, nil }

func (r *reading) Snapshot(context.Context, string) (webservice.Snapshot, error) {
	return webservice.Snapshot{View: r.view}, nil
}

func (r *reading) Unanswered(string) time.Duration { return 0 }
