package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
)

// failures remember the last request that the API server did not answer or refused. Informers try again
// for ever and do not say why. They are safe for concurrent use.
type failures struct {
	mu   sync.Mutex
	last string
}

// wrap has requests be seen.
func (f *failures) wrap(next http.RoundTripper) http.RoundTripper { return watchedTrips{f, next} }

type watchedTrips struct {
	*failures
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w watchedTrips) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(request)
	switch {
	case errors.Is(err, context.Canceled): // by this program
	case err != nil:
		w.note(request, err.Error())
	case response.StatusCode == http.StatusUnauthorized, response.StatusCode == http.StatusForbidden, response.StatusCode >= http.StatusInternalServerError,
		response.StatusCode == http.StatusNotFound && request.URL.RawQuery != "": // a list: there is no such resource
		w.note(request, response.Status)
	}
	return response, err
}

func (f *failures) note(request *http.Request, answer string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = fmt.Sprintf("%s, %s %s: %s", time.Now().UTC().Format(time.RFC3339), request.Method, request.URL.Path, answer)
}

// line is the last failure in words; empty if there was none.
func (f *failures) line() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == "" {
		return ""
	}
	return "last failure of the API server: " + f.last
}

// explain adds the last failure to an error that it may have caused.
func (f *failures) explain(err error) error {
	if line := f.line(); line != "" && errors.Is(err, descheduler.ErrUnread) {
		return fmt.Errorf("%w; %s", err, line)
	}
	return err
}
