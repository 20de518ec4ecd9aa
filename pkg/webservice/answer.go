package webservice

import (
	"context"
	"errors"
	"log"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/flight"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
)

// A handler answers a request with a value, which is written as JSON, or with an
// error. With both the value is the body and the error only tells the status.
type handler func(r *http.Request) (any, error)

// The headers that every JSON answer has.
const (
	typeJSON = "application/json; charset=UTF-8"
	typeYAML = "application/x-yaml; charset=UTF-8"
	typeText = "text/plain; charset=utf-8"
)

// A text is an answer that is not JSON.
type text struct {
	contentType string
	content     []byte
}

// A pretty value is written with one member a line, for people and for tools
// that compare lines.
type pretty struct{ value any }

// replies is where replies are made: few at a time, so that half of the processors
// are left to the scheduler however many clients there are, and one for all requests
// for the same that came with the same views before it was begun.
type replies = flight.Group[subject, *reply]

// A subject is what a request is about, and what it sees of that: requests with the
// same subject get the same reply.
type subject struct {
	text  string
	alone *http.Request // of a request with a body, which is like no other
}

func subjectOf(r *http.Request) subject {
	if r.Method == http.MethodPost {
		return subject{alone: r}
	}
	return subject{text: r.Header.Get("Accept-Encoding") + "\n" + r.Header.Get("Accept") + "\n" + r.URL.RequestURI() + viewsOf(r).name()}
}

// A partitionHandler is a handler for one partition.
type partitionHandler func(at *object.Snapshot, r *http.Request) (any, error)

// A surveyHandler is a handler for all partitions.
type surveyHandler func(from *object.Sources, all []*object.Snapshot, r *http.Request) (any, error)

// answer makes a handler of net/http: the value becomes the body, the error the
// status.
func (s *Service) answer(h handler) http.Handler { return s.answerFrom(s.replies, h) }

// answerFrom is answer for what is made in places of its own.
func (s *Service) answerFrom(from *replies, h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if full, ok := object.Find(s.config.Views.Partitions(), r.PathValue("partition")); ok {
			r = s.withViews(r, full)
		}
		r, err := narrow(r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		s.reply(w, r, h, from)
	})
}

// survey is answer for a handler that looks at all partitions.
func (s *Service) survey(h surveyHandler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.reply(w, s.withViews(r, s.config.Views.Partitions()...), s.seeing(h), s.replies)
	})
}

// seeing is a handler that looks at all partitions.
func (s *Service) seeing(h surveyHandler) handler {
	return func(r *http.Request) (any, error) {
		all, err := s.all(r)
		if err != nil {
			return nil, err
		}
		return h(s.config.sources(), all, r)
	}
}

// counting is a handler that looks at no partition, but at what was counted of all.
func (s *Service) counting(h func(*object.Sources, *http.Request) (any, error)) handler {
	return func(r *http.Request) (any, error) { return h(s.config.sources(), r) }
}

// about is answer for a handler that is about one partition.
func (s *Service) about(h partitionHandler) http.Handler { return s.answer(s.looking(h)) }

// looking is a handler that looks at the partition which the request is about.
func (s *Service) looking(h partitionHandler) handler {
	return func(r *http.Request) (any, error) {
		at, err := s.snapshot(r)
		if err != nil {
			return nil, err
		}
		return h(at, r)
	}
}

// A responder makes replies and sends them.
type responder struct {
	config   *Config
	compress func(http.Handler) http.HandlerFunc
	now      func() time.Time // for the head
}

// reply answers a request with a reply that others may share.
func (rs *responder) reply(w http.ResponseWriter, r *http.Request, h handler, from *replies) {
	produce := func(ctx context.Context) (*reply, error) {
		made := rs.make(h, r.WithContext(ctx))
		context.AfterFunc(ctx, made.release) // all that shared it are done with it
		return made, nil
	}
	err := from.Use(r.Context(), subjectOf(r), produce, func(made *reply) { made.send(w, r) })
	if err != nil && r.Context().Err() == nil { // the client is still there
		rs.refuse(w, r, err)
	}
}

// refuse answers with an error.
func (rs *responder) refuse(w http.ResponseWriter, r *http.Request, err error) {
	rs.write(r, refusal(err), failure.StatusOf(err)).send(w, r)
}

// failureJSON is the body of an error.
type failureJSON struct {
	StatusCode  int    `json:"status_code"`
	Message     string `json:"message"`
	Description string `json:"description"`
}

func refusal(err error) *failureJSON {
	return &failureJSON{StatusCode: failure.StatusOf(err), Message: err.Error(), Description: err.Error()}
}

// make makes the reply of a handler. A panic is logged here, once, and is an error
// for all requests that share the reply.
func (rs *responder) make(h handler, r *http.Request) *reply {
	defer rs.reportCost(r, time.Now())
	defer logPanic(r)
	value, err := h(r)
	if value == nil {
		value = refusal(err)
	}
	return rs.write(r, value, failure.StatusOf(err))
}

// logPanic is deferred: it logs a panic and lets it go on.
func logPanic(r *http.Request) {
	if value := recover(); value != nil {
		logOf(r).Printf("webservice: panic answering %s: %v\n%s", r.URL.Path, value, debug.Stack())
		panic(value)
	}
}

// reportCost says what the answer to a request cost that was begun at a moment.
func (rs *responder) reportCost(r *http.Request, began time.Time) {
	reporter, ok := rs.config.Views.(ReadCostReporter)
	if !ok {
		return
	}
	for _, v := range viewsOf(r) {
		reporter.ReportReadCost(v.partition, time.Since(began))
	}
}

// logOf is the log of the server that a request came to.
func logOf(r *http.Request) *log.Logger {
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && server.ErrorLog != nil {
		return server.ErrorLog
	}
	return log.Default()
}

// errUnanswered is that a partition did not answer in time.
var errUnanswered = errors.New("has not answered")
