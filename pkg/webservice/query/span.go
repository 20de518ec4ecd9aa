package query

import (
	"net/http"
	"strconv"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
)

// A Span is the time that a query asks for. Either end may be open, which is its zero value.
type Span struct{ from, to time.Time }

// Times reads the parameters from and to, which are a time each: nanoseconds since 1970, or as RFC 3339
// writes it.
func Times(r *http.Request) (Span, error) {
	p, err := Read(r)
	if err != nil {
		return Span{}, err
	}
	var s Span
	from, _, err := p.One("from")
	if err != nil {
		return Span{}, err
	}
	to, _, err := p.One("to")
	if err != nil {
		return Span{}, err
	}
	if s.from, err = timeOf("from", from); err != nil {
		return Span{}, err
	}
	if s.to, err = timeOf("to", to); err != nil {
		return Span{}, err
	}
	if !s.from.IsZero() && !s.to.IsZero() && !s.from.Before(s.to) {
		return Span{}, failure.Bad("Parameter to is %s, which is not after from, %s", s.to.UTC().Format(time.RFC3339Nano), s.from.UTC().Format(time.RFC3339Nano))
	}
	return s, nil
}

// timeOf is a time as a parameter has it, zero if that is not given.
func timeOf(name, value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 {
		return time.Unix(0, n), nil
	}
	at, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return time.Time{}, failure.Bad("Parameter %s is %.40q: nanoseconds since 1970 are needed, or a time such as 2026-01-31T14:03:00Z", name, value)
	}
	return at, nil
}

// IsOpen reports whether the query asks for all times.
func (s Span) IsOpen() bool { return s.from.IsZero() && s.to.IsZero() }

// Has reports whether a moment is within. The end is not.
func (s Span) Has(at time.Time) bool { return s.Meets(at, at) }

// Meets reports whether something that lasted until a moment was under way within.
func (s Span) Meets(at, until time.Time) bool {
	return (s.from.IsZero() || !until.Before(s.from)) && (s.to.IsZero() || at.Before(s.to))
}

// Within are the elements whose time is within.
func Within[S any](s Span, all []S, at func(S) time.Time) []S {
	if s.IsOpen() {
		return all
	}
	var out []S
	for _, one := range all {
		if s.Has(at(one)) {
			out = append(out, one)
		}
	}
	return out
}
