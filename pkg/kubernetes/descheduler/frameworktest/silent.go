package frameworktest

import "net/http"

// Silent is an API server, or another server, that takes requests and never answers, but that it serves no claims of devices.
type Silent struct{}

// RoundTrip implements http.RoundTripper.
func (Silent) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/apis/resource.k8s.io/v1" {
		return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Request: r}, nil
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}
