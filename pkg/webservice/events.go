package webservice

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// The bounds of what is sent of events.
const (
	eventsAtOnce   = 256 // entries of a stream that are written together
	streamDeadline = 5 * time.Second

	typeSSE = "text/event-stream"
)

// eventPageJSON is a page of the history. Records is null where none of those
// that were asked for is kept any more, or yet.
type eventPageJSON struct {
	InstanceUUID string
	LowestID     uint64
	HighestID    uint64
	EventRecords *[]eventJSON
}

// eventJSON is an event. The enumerations are numbers, as in the interface.
type eventJSON struct {
	Type              int32              `json:"type,omitempty"`
	ObjectID          string             `json:"objectID,omitempty"`
	Message           string             `json:"message,omitempty"`
	TimestampNano     int64              `json:"timestampNano,omitempty"`
	EventChangeType   int32              `json:"eventChangeType,omitempty"`
	EventChangeDetail int32              `json:"eventChangeDetail,omitempty"`
	ReferenceID       string             `json:"referenceID,omitempty"`
	Resource          *eventResourceJSON `json:"resource,omitempty"`

	// What is new: the number, and of what was said several times how often and
	// when last.
	ID       uint64 `json:"id"`
	Count    int64  `json:"count,omitempty"`
	LastNano int64  `json:"lastNano,omitempty"`
}

type eventResourceJSON struct {
	Resources map[string]eventQuantityJSON `json:"resources"`
}

type eventQuantityJSON struct {
	Value int64 `json:"value"`
}

// events is the history of events.
func (s *Service) events() (*events.History, error) {
	switch h := s.config.Events; {
	case h == nil:
		return nil, failure.Missing("Event history")
	case !h.Enabled():
		return nil, failure.New(failure.ErrUnavailable, "Event tracking is disabled")
	default:
		return h, nil
	}
}

// eventBatch answers GET /ws/v1/events/batch.
func (s *Service) eventBatch(r *http.Request) (any, error) {
	history, err := s.events()
	if err != nil {
		return nil, err
	}
	start, err := number(r, "start", 0)
	if err != nil {
		return nil, err
	}
	count, err := number(r, "count", math.MaxUint64)
	if err != nil {
		return nil, err
	}
	if count == 0 {
		return nil, failure.Bad("count: 0 is not a number of events")
	}
	span, err := query.Times(r)
	if err != nil {
		return nil, err
	}
	count = min(count, uint64(history.Config().PageMax))
	var page events.Page
	if span.IsOpen() {
		page = history.Query(start, count)
	} else {
		page = history.Select(start, count, func(e events.Entry) bool {
			return span.Meets(time.Unix(0, e.Record.TimestampNano), time.Unix(0, e.LastNano))
		})
	}
	out := &eventPageJSON{InstanceUUID: page.Instance, LowestID: page.Lowest, HighestID: page.Highest}
	if page.Entries != nil {
		records := make([]eventJSON, len(page.Entries))
		for i, entry := range page.Entries {
			records[i] = eventOf(entry)
		}
		out.EventRecords = &records
	}
	return query.One(r, out)
}

// number reads a parameter that is a whole number.
func number(r *http.Request, name string, otherwise uint64) (uint64, error) {
	values, given := r.URL.Query()[name]
	if !given {
		return otherwise, nil
	}
	n, err := strconv.ParseUint(values[0], 10, 64)
	if err != nil || len(values) > 1 {
		return 0, failure.Bad("%s: %q is not a whole number", name, strings.Join(values, ","))
	}
	return n, nil
}

func eventOf(entry events.Entry) eventJSON {
	record := entry.Record
	out := eventJSON{
		Type: int32(record.Type), ObjectID: record.ObjectID, Message: record.Message, TimestampNano: record.TimestampNano,
		EventChangeType: int32(record.EventChangeType), EventChangeDetail: int32(record.EventChangeDetail),
		ReferenceID: record.ReferenceID, ID: entry.ID,
	}
	if entry.Count > 1 {
		out.Count, out.LastNano = entry.Count, entry.LastNano
	}
	if held := record.Resource.GetResources(); len(held) > 0 {
		out.Resource = &eventResourceJSON{Resources: map[string]eventQuantityJSON{}}
		for name, quantity := range held {
			out.Resource.Resources[name] = eventQuantityJSON{quantity.GetValue()}
		}
	}
	return out
}

// eventStream answers GET /ws/v1/events/stream: the last count events and then
// all to come, one a line, or as server-sent events to clients that accept those.
func (s *Service) eventStream(w http.ResponseWriter, r *http.Request) {
	history, err := s.events()
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	recent, err := number(r, "count", 0)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	stream, err := history.Subscribe(s.config.Now(), s.config.clientOf(r), recent)
	if err != nil {
		s.refuse(w, r, failure.New(failure.ErrUnavailable, "Too many streaming connections"))
		return
	}
	defer stream.Close()
	p := &printer{to: w, control: http.NewResponseController(w), sse: strings.Contains(r.Header.Get("Accept"), typeSSE)}
	w.Header().Set("Content-Type", typeJSON)
	if p.sse {
		w.Header().Set("Content-Type", typeSSE)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	p.print(nil, map[string]string{"InstanceUUID": history.Instance()})
	entries := make([]events.Entry, eventsAtOnce)
	for p.err == nil {
		n, err := stream.Read(r.Context(), entries)
		if err != nil {
			p.last(err)
			return
		}
		p.limit()
		for _, entry := range entries[:n] {
			p.print(&entry.ID, eventOf(entry))
		}
		p.flush()
	}
}

// A printer writes the lines of a stream until writing fails.
type printer struct {
	to      io.Writer
	control *http.ResponseController
	sse     bool
	err     error
}

// limit gives what is written next so long to arrive. Not every connection can.
func (p *printer) limit() { _ = p.control.SetWriteDeadline(time.Now().Add(streamDeadline)) }

func (p *printer) print(id *uint64, value any) {
	line, err := json.Marshal(value)
	if err != nil || p.err != nil {
		p.err = errors.Join(p.err, err)
		return
	}
	switch {
	case p.sse && id != nil:
		_, p.err = fmt.Fprintf(p.to, "id: %d\ndata: %s\n\n", *id, line)
	case p.sse:
		_, p.err = fmt.Fprintf(p.to, "event: instance\ndata: %s\n\n", line)
	default:
		_, p.err = fmt.Fprintf(p.to, "%s\n", line)
	}
	if id == nil {
		p.flush()
	}
}

func (p *printer) flush() {
	if err := p.control.Flush(); p.err == nil {
		p.err = err
	}
}

// last says why a stream ends, if that is not because the client went away.
func (p *printer) last(why error) {
	if errors.Is(why, events.ErrTooSlow) || errors.Is(why, events.ErrClosed) {
		p.limit()
		p.print(nil, &failureJSON{StatusCode: http.StatusServiceUnavailable, Message: why.Error(), Description: why.Error()})
	}
}
