package moment

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/dashboard"
)

// Moments serve a partition of a recording as of a moment, the same to all readers. The path "/replay" tells which one it is, and moves it.
type Moments struct {
	directory *recording.Directory
	partition string
	segments  []recording.Segment
	from, to  time.Time
	address   string
	page      http.Handler

	moving sync.Mutex
	live   *moment                // what is shown, to be played on; nil if that is opened again. Of what moves
	now    atomic.Pointer[moment] // what is shown
}

// A Position is a moment within a recording, as "/replay" tells it.
type Position struct {
	Partition string    `json:"partition"`
	From      time.Time `json:"from"` // of the recording
	To        time.Time `json:"to"`
	At        time.Time `json:"at"`
	Step      int       `json:"step"` // how many were made since the file began
	File      string    `json:"file"`
}

// A Move is where to go: to a time, or so many steps on, or back where it is negative.
type Move struct {
	At    *time.Time `json:"at"`
	Steps int        `json:"steps"`
}

// ErrMove is wrapped where a move is none.
var ErrMove = errors.New("no move: it would be {\"at\": \"2026-01-02T14:03:05Z\"} or {\"steps\": -1}")

// New is a partition of a recording, of which requests come to an address. No moment is shown before Go or First.
func New(d *recording.Directory, partition, address string) (*Moments, error) {
	m := &Moments{directory: d, partition: partition, segments: d.Segments[partition], address: address}
	if len(m.segments) == 0 {
		return nil, fmt.Errorf("partition %s: %w", partition, recording.ErrNoMoment)
	}
	m.page = dashboard.Replay(http.HandlerFunc(m.answer))
	var err error
	m.from, m.to, err = d.Span(partition)
	return m, err
}

// First goes to the first step that is wanted.
func (m *Moments) First(w recording.Wanted) error {
	m.moving.Lock()
	defer m.moving.Unlock()
	found := &moment{segment: -1}
	p, _, err := m.directory.First(m.partition, w, func(p *recording.Player) func(recording.Step) {
		found.segment++
		return found.begin(p)
	})
	if err != nil {
		return err
	}
	found.at = p.Now
	return m.show(found)
}

// Go moves the moment. After an error it is where it was.
func (m *Moments) Go(to Move) error {
	m.moving.Lock()
	defer m.moving.Unlock()
	next, err := m.reach(to)
	if err == nil {
		err = m.show(next)
	}
	if err != nil && m.live != nil {
		m.live.player.Close() // it may have been played on
		m.live = nil
	}
	return err
}

func (m *Moments) reach(to Move) (*moment, error) {
	now := m.now.Load()
	switch {
	case to.At != nil && to.Steps == 0:
		return m.reachTime(*to.At)
	case to.At != nil || to.Steps == 0 || now == nil:
		return nil, ErrMove
	case to.Steps < 0:
		return m.back(now, -to.Steps)
	}
	next, err := m.playedOn()
	for left := to.Steps; err == nil; {
		if left, err = next.on(left); left == 0 || next.segment+1 == len(m.segments) || err != nil {
			break
		}
		next, err = m.open(next.segment + 1)
	}
	return next, err
}

// playedOn is what is shown, to be played on.
func (m *Moments) playedOn() (*moment, error) {
	if m.live != nil {
		return m.live, nil
	}
	now := m.now.Load()
	return m.again(now.segment, now.step)
}

// again is a partition after so many steps of a segment.
func (m *Moments) again(segment, steps int) (*moment, error) {
	next, err := m.open(segment)
	if err == nil {
		_, err = next.on(steps)
	}
	return next, err
}

// back goes so many steps back.
func (m *Moments) back(now *moment, steps int) (*moment, error) {
	segment, step := now.segment, now.step-steps
	for step < 0 && segment > 0 {
		segment--
		whole, err := m.again(segment, math.MaxInt)
		if err != nil {
			return nil, err
		}
		step += whole.player.Steps
		whole.player.Close()
	}
	return m.again(segment, max(step, 0))
}

// reachTime is after all steps that were made before a time, or at it.
func (m *Moments) reachTime(at time.Time) (*moment, error) {
	after := slices.IndexFunc(m.segments, func(s recording.Segment) bool { return s.From.After(at) })
	if after == 0 {
		return nil, fmt.Errorf("partition %s at %s: %w: it begins at %s", m.partition, at.Format(time.DateTime), recording.ErrNoMoment, m.from.Format(time.DateTime))
	}
	segment := after - 1
	if after < 0 {
		segment = len(m.segments) - 1
	}
	next := m.live
	if next == nil || next.segment != segment || next.player.Now.After(at) {
		var err error
		if next, err = m.open(segment); err != nil {
			return nil, err
		}
	}
	return next, next.to(at)
}

// show has a moment be the one that is shown.
func (m *Moments) show(next *moment) error {
	if m.live != nil && m.live.player != next.player {
		m.live.player.Close()
	}
	m.live = next
	shown := *next
	shown.step = shown.player.Steps
	if err := shown.serve(m.page, m.address); err != nil {
		return err
	}
	m.now.Store(&shown)
	return nil
}

// Position is the moment that is shown.
func (m *Moments) Position() Position {
	now := m.now.Load()
	return Position{Partition: m.partition, From: m.from, To: m.to, At: now.at, Step: now.step, File: m.segments[now.segment].Path}
}

// ServeHTTP answers as of the moment. Its clock is that of the moment, too.
func (m *Moments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := m.now.Load()
	w.Header().Set("Date", now.at.UTC().Format(http.TimeFormat))
	now.rest.ServeHTTP(w, r)
}

// moveBytesMax is the longest request to move.
const moveBytesMax = 1 << 10

// answer tells which moment is shown, and moves it for those on this machine.
func (m *Moments) answer(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPost:
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		if from, err := netip.ParseAddr(host); err != nil || !from.IsLoopback() {
			refuse(w, http.StatusForbidden, "only those on the machine of the recording may move the moment")
			return
		}
		var to Move
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, moveBytesMax)).Decode(&to); err != nil {
			refuse(w, http.StatusBadRequest, fmt.Sprintf("%v: %v", ErrMove, err))
			return
		}
		if err := m.Go(to); err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		refuse(w, http.StatusMethodNotAllowed, http.StatusText(http.StatusMethodNotAllowed))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(m.Position()) // the client is gone, if it fails
}

// refuse says why not, as REST does.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"status_code": status, "message": why, "description": http.StatusText(status)})
}
