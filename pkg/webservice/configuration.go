package webservice

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
)

// validationJSON says whether a configuration would be taken.
type validationJSON struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"`
}

// configuration answers GET /ws/v1/config: JSON to clients that accept exactly that,
// YAML to all others.
func (s *Service) configuration(r *http.Request) (any, error) {
	document := s.document()
	if document == nil {
		return nil, missing("Configuration")
	}
	out := configurationOf(document, s.config.Configuration.Extra())
	if r.Header.Get("Accept") == "application/json" {
		return one(r, out)
	}
	content, err := out.yaml()
	return &text{typeYAML, content}, err
}

// validate answers POST /ws/v1/validate-conf. That a configuration is wrong is the
// answer and no error.
func (s *Service) validate(r *http.Request) (any, error) {
	if s.config.Configuration == nil {
		return nil, missing("Configuration")
	}
	content, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, config.TextMax))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return &validationJSON{Reason: fmt.Sprintf("the configuration has more than %d bytes", tooLarge.Limit)}, nil
	case err != nil:
		return nil, bad("Body cannot be read: %v", err)
	}
	if err := s.config.Configuration.Validate(string(content)); err != nil {
		return &validationJSON{Reason: err.Error()}, nil
	}
	return &validationJSON{Allowed: true}, nil
}
