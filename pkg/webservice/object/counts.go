package object

import (
	"net/http"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// The counts are texts: that is how clients know them.
type applicationCountJSON struct {
	Timestamp         encoder.Nanoseconds `json:"timestamp"`
	TotalApplications int64               `json:"totalApplications,string"`
}

type containerCountJSON struct {
	Timestamp       encoder.Nanoseconds `json:"timestamp"`
	TotalContainers int64               `json:"totalContainers,string"`
}

// ApplicationHistory answers GET /ws/v1/history/apps.
func (from *Sources) ApplicationHistory(r *http.Request) (any, error) {
	return query.List(r, from.Kinds, from.history().Applications(), fillApplicationCount)
}

// ContainerHistory answers GET /ws/v1/history/containers.
func (from *Sources) ContainerHistory(r *http.Request) (any, error) {
	return query.List(r, from.Kinds, from.history().Containers(), fillContainerCount)
}

// history is what was counted until now; empty if nothing counts.
func (from *Sources) history() History {
	switch {
	case from.History != nil:
		return from.History
	case from.Archive != nil:
		return counted(from.Archive.Counts(from.Now()))
	}
	return counted(nil)
}

// counted is the history that an archive knows.
type counted []archive.Count

func (c counted) Applications() []Count {
	return c.each(func(one archive.Count) int64 { return one.Applications })
}

func (c counted) Containers() []Count {
	return c.each(func(one archive.Count) int64 { return one.Containers })
}

func (c counted) each(of func(archive.Count) int64) []Count {
	out := make([]Count, len(c))
	for i, one := range c {
		out[i] = Count{one.At, of(one)}
	}
	return out
}

func fillApplicationCount(c Count, out *applicationCountJSON) {
	*out = applicationCountJSON{encoder.NanosecondsOf(c.At), c.Total}
}

func fillContainerCount(c Count, out *containerCountJSON) {
	*out = containerCountJSON{encoder.NanosecondsOf(c.At), c.Total}
}
