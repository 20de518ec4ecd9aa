package frameworktest

import "net/http"

// Silent is an API server, or another server, that takes requests and never answers.
type Silent struct{}

// RoundTrip implements http.RoundTripper.
func (Silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}
