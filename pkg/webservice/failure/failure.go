// Package failure says what can be wrong with a request: an error of one of a few kinds,
// with the text that is answered, and the status that each kind has. It is one file.
package failure

import (
	"errors"
	"fmt"
	"net/http"
)

// What can be wrong with a request. Every error of a handler wraps one of them.
var (
	ErrBad          = errors.New("bad request")
	ErrForbidden    = errors.New("not allowed")
	ErrMisdirected  = errors.New("not for this scheduler")
	ErrMissing      = errors.New("not found")
	ErrUnauthorized = errors.New("no valid token")
	ErrUnavailable  = errors.New("not available")
	ErrUnhealthy    = errors.New("not healthy")
	ErrSlow         = errors.New("too slow")
	ErrBusy         = errors.New("too many at once")
	ErrMediaType    = errors.New("wrong media type")
)

// StatusOf is the status that an error is answered with. Nothing else knows of
// status codes of errors.
func StatusOf(err error) int {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, ErrBad):
		return http.StatusBadRequest
	case errors.Is(err, ErrUnauthorized):
		return http.StatusUnauthorized
	case errors.Is(err, ErrForbidden):
		return http.StatusForbidden
	case errors.Is(err, ErrMisdirected):
		return http.StatusMisdirectedRequest
	case errors.Is(err, ErrMissing):
		return http.StatusNotFound
	case errors.Is(err, ErrSlow):
		return http.StatusRequestTimeout
	case errors.Is(err, ErrMediaType):
		return http.StatusUnsupportedMediaType
	case errors.Is(err, ErrBusy):
		return http.StatusTooManyRequests
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrUnhealthy):
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// A failure is an error with the text that is answered.
type failure struct {
	kind error
	text string
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.kind }

// New is an error of a kind with the text that is answered.
func New(kind error, format string, args ...any) error {
	return &failure{kind, fmt.Sprintf(format, args...)}
}

// Missing is that something is not there.
func Missing(what string) error { return New(ErrMissing, "%s not found", what) }

// Bad is that a request cannot be meant.
func Bad(format string, args ...any) error { return New(ErrBad, format, args...) }
