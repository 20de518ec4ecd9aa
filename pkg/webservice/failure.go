package webservice

import (
	"errors"
	"fmt"
	"net/http"
)

// What can be wrong with a request. Every error of a handler wraps one of them.
var (
	errBad          = errors.New("bad request")
	errForbidden    = errors.New("not allowed")
	errMisdirected  = errors.New("not for this scheduler")
	errMissing      = errors.New("not found")
	errUnauthorized = errors.New("no valid token")
	errTooLarge     = errors.New("too large")
	errUnavailable  = errors.New("not available")
	errUnhealthy    = errors.New("not healthy")
	errSlow         = errors.New("too slow")
	errBusy         = errors.New("too many at once")
	errMediaType    = errors.New("wrong media type")
)

// statusOf is the status that an error is answered with. Nothing else knows of
// status codes of errors.
func statusOf(err error) int {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, errBad):
		return http.StatusBadRequest
	case errors.Is(err, errUnauthorized):
		return http.StatusUnauthorized
	case errors.Is(err, errForbidden):
		return http.StatusForbidden
	case errors.Is(err, errMisdirected):
		return http.StatusMisdirectedRequest
	case errors.Is(err, errMissing):
		return http.StatusNotFound
	case errors.Is(err, errTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errSlow):
		return http.StatusRequestTimeout
	case errors.Is(err, errMediaType):
		return http.StatusUnsupportedMediaType
	case errors.Is(err, errBusy):
		return http.StatusTooManyRequests
	case errors.Is(err, errUnavailable), errors.Is(err, errUnhealthy):
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

func missing(what string) error { return &failure{errMissing, what + " not found"} }

func bad(format string, args ...any) error { return &failure{errBad, fmt.Sprintf(format, args...)} }

// failureJSON is the body of an error.
type failureJSON struct {
	StatusCode  int    `json:"status_code"`
	Message     string `json:"message"`
	Description string `json:"description"`
}
