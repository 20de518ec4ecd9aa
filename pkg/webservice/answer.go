package webservice

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
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
// that compare lines. The lock is held while it is
// written, not while it is sent.
type pretty struct {
	value any
	turn  sync.Locker
}

// A reply is an answer that is made. It does not change, so several requests for
// the same may send it.
type reply struct {
	status int
	head   http.Header
	body   *body
	users  atomic.Int32 // who got it and have not left it
}

// leave says that a request is done with the reply. The memory is used again when all
// are. One who goes away without a word leaves it to the garbage collector.
func (m *reply) leave() {
	if m.users.Add(-1) == 0 {
		m.body.release()
	}
}

// answer makes a handler of net/http: the value becomes the body, the error the
// status. Requests that wait for the same thing share a reply.
func (s *Service) answer(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if full, ok := find(s.config.Views.Partitions(), r.PathValue("partition")); ok {
			r = s.foresee(r, full)
		}
		s.reply(w, r, h)
	})
}

// survey is answer for a handler that looks at all partitions.
func (s *Service) survey(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.reply(w, s.foresee(r, s.config.Views.Partitions()...), h)
	})
}

func (s *Service) reply(w http.ResponseWriter, r *http.Request, h handler) {
	if made := s.desk.reply(r, func() *reply { return s.make(h, r) }); made != nil {
		made.send(w, r)
		made.leave()
	}
}

// refuse answers with an error.
func (s *Service) refuse(w http.ResponseWriter, r *http.Request, err error) {
	s.write(r, refusal(err), statusOf(err)).send(w, r)
}

func refusal(err error) *failureJSON {
	return &failureJSON{StatusCode: statusOf(err), Message: err.Error(), Description: err.Error()}
}

// make makes the reply of a handler.
func (s *Service) make(h handler, r *http.Request) *reply {
	defer s.charge(r, time.Now())
	value, err := h(r)
	if value == nil {
		value = refusal(err)
	}
	return s.write(r, value, statusOf(err))
}

// write writes a value with all that belongs into the head.
func (s *Service) write(r *http.Request, value any, status int) *reply {
	made := &reply{status: status, head: http.Header{}, body: newBody(nil)}
	if acceptsGzip(r.Header) {
		made.body = newBody(s.packers)
	}
	contentType := s.encode(made.body, value)

	head := made.head
	head.Set("Content-Type", contentType)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Add("Vary", "Accept-Encoding")
	cross(head, r.Method)
	if chosen, ok := value.(*selection); ok {
		chosen.describe(head, r.URL)
	}
	if status == http.StatusOK && r.Method != http.MethodPost {
		head.Set("ETag", made.body.tag())
		head.Set("Cache-Control", "no-cache") // to be kept, and asked about each time
	}
	if made.body.compressed() {
		head.Set("Content-Encoding", "gzip")
	}
	head.Set("Content-Length", strconv.Itoa(made.body.length()))
	return made
}

// send answers a request with the reply, or says that the client has it already.
func (m *reply) send(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	for name, values := range m.head {
		head[name] = append(head[name], values...)
	}
	if tag := head.Get("ETag"); tag != "" && matches(r.Header, tag) {
		head.Del("Content-Encoding")
		head.Del("Content-Length")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.WriteHeader(m.status)
	if r.Method != http.MethodHead {
		_ = m.body.writeTo(w) // an error is that the client went away: there is nobody to tell
	}
}

// encode fills a body and says of what type it is.
func (s *Service) encode(to *body, value any) (contentType string) {
	if t, ok := value.(*text); ok {
		to.lend(t.content)
		return t.contentType
	}
	defer to.end()
	e := newEncoder(s.config.Kinds, to.take)
	e.buffer = newChunk()
	if p, ok := value.(*pretty); ok {
		p.turn.Lock()
		defer p.turn.Unlock()
		e.indent, value = true, p.value
	}
	e.value(value)
	if e.indent {
		e.raw("\n")
	}
	to.finish(e.buffer)
	return typeJSON
}

// cross lets pages of other origins read the answer.
func cross(head http.Header, method string) {
	methods := "GET, OPTIONS"
	if method == http.MethodPost {
		methods = "OPTIONS, POST"
	}
	head.Set("Access-Control-Allow-Origin", "*")
	head.Set("Access-Control-Allow-Methods", methods)
	head.Set("Access-Control-Allow-Headers", "X-Requested-With,Content-Type,Accept,Origin")
	head.Set("Access-Control-Expose-Headers", "ETag,Link,X-Total-Count")
}
