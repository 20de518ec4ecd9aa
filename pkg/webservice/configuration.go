package webservice

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/configuration"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// validationJSON says whether a configuration would be taken.
type validationJSON struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"`
}

// configuration answers GET /ws/v1/config: JSON to clients that accept exactly that,
// YAML to all others.
func (s *Service) configuration(r *http.Request) (any, error) {
	document := s.config.sources().Document()
	if document == nil {
		return nil, failure.Missing("Configuration")
	}
	out := configuration.Of(document, s.config.Configuration.Extra())
	if r.Header.Get("Accept") == "application/json" {
		return query.One(r, out)
	}
	content, err := out.YAML()
	return &text{typeYAML, content}, err
}

// The bounds of validations. One text of the greatest length takes about half a second of a
// processor, half of it in the YAML parser; validations are made one after the other, in a
// place of their own.
const (
	validationsOpen  = 4   // that are made or wait for it
	validationsAgain = "2" // seconds until there may be room for another
)

// offerValidation answers validations. More than a few at once are refused.
func (s *Service) offerValidation() http.Handler {
	answer := s.answerFrom(s.validations, s.validate)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.validating.Add(-1)
		if s.validating.Add(1) > validationsOpen {
			w.Header().Set("Retry-After", validationsAgain)
			s.refuse(w, r, failure.New(failure.ErrBusy, "Too many configurations are validated at the same time"))
			return
		}
		answer.ServeHTTP(w, r)
	})
}

// validate answers POST /ws/v1/validate-conf. That a configuration is wrong is the
// answer and no error.
func (s *Service) validate(r *http.Request) (any, error) {
	if s.config.Configuration == nil {
		return nil, failure.Missing("Configuration")
	}
	content, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, config.TextMax))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return &validationJSON{Reason: fmt.Sprintf("the configuration has more than %d bytes", tooLarge.Limit)}, nil
	case err != nil:
		return nil, failure.Bad("Body cannot be read: %v", err)
	}
	if err := s.config.Configuration.Validate(string(content)); err != nil {
		return &validationJSON{Reason: err.Error()}, nil
	}
	return &validationJSON{Allowed: true}, nil
}
