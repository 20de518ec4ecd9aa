package browser

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// The clusters of the tests of package doctor: in one much is wrong, in the other nothing.
var (
	night = &play{example: "../../../../explain/doctor/testdata/night.yaml", after: 40 * time.Minute, until: func(*api.View) bool { return true }}
	calm  = &play{example: "../../../../explain/doctor/testdata/calm.yaml", after: time.Hour, until: func(*api.View) bool { return true }}
)

// TestDoctor: the panel says what REST says, the worst first, and leads to each thing that it names.
func TestDoctor(t *testing.T) {
	t.Parallel()
	s := night.site(t)
	var told struct {
		Findings []struct{ Kind, Severity, Subject, ApplicationID, AllocationKey string }
	}
	s.read(t, "partition/default/doctor", &told)
	p := s.page(t, "#/overview")
	p.arrives("overview")
	p.press("9")
	p.arrives("doctor")
	p.sees("main h1", "What is wrong now")
	assert.DeepEqual(t, evaluate[[]string](p, `return t.all("main .finding .badge").map((e) => e.textContent)`), func() (out []string) {
		for _, f := range told.Findings {
			out = append(out, f.Severity)
		}
		return out
	}())
	p.sees("main .finding", "Starving queue: root.vision")
	p.sees("main .finding", "vcore 20 more becomes free on gpu")
	p.sees("main .finding", "asks that wait are of it")
	for _, how := range []look{wide, wideLight, phone, phoneLight} {
		p.becomes(how)
		p.audits("wide", "overlapping", "faint", "cut", "below", "small")
		p.names()
		if axe := axeScript(); axe != "" {
			p.axe(axe)
		}
	}
	first := told.Findings[0]
	p.click("main .finding dd a", first.AllocationKey)
	p.arrives("applications")
	p.sees("main h1", first.AllocationKey)

	p = calm.site(t).page(t, "#/doctor")
	p.arrives("doctor")
	p.sees("main", "Nothing is wrong")
}

// TestLife: the page of an ask says how long it waited for what, its place in line and when it will run, or why that
// cannot be told.
func TestLife(t *testing.T) {
	t.Parallel()
	s := night.site(t)
	p := s.page(t, atFirst("queue=root.lab")(t, s))
	p.arrives("applications")
	p.sees("main .card", "Its life")
	p.sees("main .pairs", "Waited")
	p.sees("main .pairs", "Place in line")
	p.sees("main .pairs", "Will run")
	for _, how := range []look{wide, phoneLight} {
		p.becomes(how)
		p.audits("wide", "overlapping", "faint", "cut", "below", "small")
		if axe := axeScript(); axe != "" {
			p.axe(axe)
		}
	}
}
