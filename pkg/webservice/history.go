package webservice

import (
	"net/http"
	"time"
)

// The counts are texts: that is how clients know them.
type applicationCountJSON struct {
	Timestamp         time.Time `json:"timestamp"`
	TotalApplications int64     `json:"totalApplications,string"`
}

type containerCountJSON struct {
	Timestamp       time.Time `json:"timestamp"`
	TotalContainers int64     `json:"totalContainers,string"`
}

// applicationHistory answers GET /ws/v1/history/apps.
func (s *Service) applicationHistory(r *http.Request) (any, error) {
	return list(r, s.counts(History.Applications), fillApplicationCount)
}

// containerHistory answers GET /ws/v1/history/containers.
func (s *Service) containerHistory(r *http.Request) (any, error) {
	return list(r, s.counts(History.Containers), fillContainerCount)
}

func (s *Service) counts(of func(History) []Count) []Count {
	if s.config.History == nil {
		return nil
	}
	return of(s.config.History)
}

func fillApplicationCount(c Count, out *applicationCountJSON) {
	*out = applicationCountJSON{c.At, c.Total}
}

func fillContainerCount(c Count, out *containerCountJSON) { *out = containerCountJSON{c.At, c.Total} }
