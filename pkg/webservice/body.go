package webservice

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/explanation"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
)

// The bounds of bodies.
const (
	bodyMax    = explanation.QuestionMax // bytes of one: no other is longer
	bodyWait   = 10 * time.Second        // for all of it to come
	bodyFree   = 64 << 10                // bytes of one that do not count for bodiesMax
	bodiesMax  = 16 * bodyMax            // bytes of all that are held at once
	bodyAgain  = "1"                     // seconds until there may be room for another
	bodyBuffer = 4 << 10                 // bytes that a buffer begins with
)

// bodies reads the bodies of requests before anything else is done for them, so that
// a client that does not send what it announced keeps nothing that others need. When a
// body has come, net/http sees it when the client goes.
//
//	held = the bytes over bodyFree of all bodies that are held <= bodiesMax
type bodies struct{ held atomic.Int64 }

// limitBody lets a body come for so long and no longer, whatever reads it. Not every
// connection can.
func limitBody(w http.ResponseWriter, r *http.Request) {
	if hasBody(r) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyWait))
	}
}

func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

// admit makes a handler that is called with the body in memory, or not at all.
func (s *Service) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hasBody(r) {
			next.ServeHTTP(w, r)
			return
		}
		limitBody(w, r)
		held, charged, err := s.bodies.read(r.Body)
		defer s.bodies.held.Add(-charged)
		if err != nil && failure.StatusOf(err) != http.StatusInternalServerError {
			w.Header().Set("Connection", "close") // the rest of the body is not waited for
			if errors.Is(err, failure.ErrBusy) {
				w.Header().Set("Retry-After", bodyAgain)
			}
			s.refuse(w, r, err)
			return
		}
		if err == nil && len(held) <= bodyMax {
			// The body is there, and the client may take its time from now on.
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		}
		own := *r
		own.Body = io.NopCloser(io.MultiReader(bytes.NewReader(held), failing{err}))
		next.ServeHTTP(w, &own)
	})
}

// read reads a body, and one byte more than it may have if it has that. What it
// charged is to be given back when the body is not held any more.
func (b *bodies) read(from io.Reader) (held []byte, charged int64, err error) {
	held = make([]byte, 0, bodyBuffer)
	for len(held) <= bodyMax {
		if len(held) == cap(held) {
			more := int64(min(2*cap(held), bodyMax+1))
			if over := more - bodyFree - charged; over > 0 {
				charged += over
				if b.held.Add(over) > bodiesMax {
					return nil, charged, failure.New(failure.ErrBusy, "Too many large bodies come at the same time")
				}
			}
			held = append(make([]byte, 0, more), held...)
		}
		n, err := from.Read(held[len(held):cap(held)])
		held = held[:len(held)+n]
		switch {
		case errors.Is(err, io.EOF):
			return held, charged, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, charged, failure.New(failure.ErrSlow, "The body did not come within %s", bodyWait)
		case err != nil:
			return held, charged, err
		}
	}
	return held, charged, nil
}

// failing is the end of a body that broke off, with the error; without one it is that
// of a whole body.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}
