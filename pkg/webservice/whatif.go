package webservice

import (
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/explanation"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
)

// DefaultWhatIfMax is how long a what-if is simulated if nothing else is configured.
const DefaultWhatIfMax = 5 * time.Second

// whatIfsOpen is how many what-ifs are simulated at once or wait for it.
const whatIfsOpen = 8

// offerWhatIf answers what-ifs in places of their own, so that they hold up nothing
// else. More than a few at once are refused. JSON is asked for so that no page of
// another origin can send one without being asked about first.
func (s *Service) offerWhatIf() http.Handler {
	answer := s.answerFrom(s.whatIfs, s.looking(s.whatIf))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
			s.refuse(w, r, failure.New(failure.ErrMediaType, "Content-Type must be application/json"))
			return
		}
		defer s.asked.Add(-1)
		if s.asked.Add(1) > whatIfsOpen {
			w.Header().Set("Retry-After", strconv.Itoa(int((s.config.WhatIfMax+time.Second-1)/time.Second)))
			s.refuse(w, r, failure.New(failure.ErrBusy, "Too many what-ifs are asked at the same time"))
			return
		}
		answer.ServeHTTP(w, r)
	})
}

// whatIf is what comes of the question that a request has.
func (s *Service) whatIf(at *object.Snapshot, r *http.Request) (any, error) {
	return s.foretold.Answer(at, r, s.foretelling())
}

// why is why an ask waits, and what would make it run.
func (s *Service) why(at *object.Snapshot, r *http.Request) (any, error) {
	return explanation.Why(at, r, s.foretelling())
}

// doctor is what is wrong with a partition now, and what would help.
func (s *Service) doctor(at *object.Snapshot, r *http.Request) (any, error) {
	return explanation.Doctor(at, r, s.foretelling())
}

// foretelling is what bounds what-ifs, and what they ask.
func (s *Service) foretelling() explanation.Config {
	return explanation.Config{Max: s.config.WhatIfMax, Budgets: s.config.Budgets, Feasible: s.config.Feasible}
}
