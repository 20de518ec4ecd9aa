package browser

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/moment"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// replayed are the moments of a recording of the first minutes of fairness, in two segments.
func replayed(t *testing.T) *moment.Moments {
	t.Helper()
	text, err := simulator.ExampleText("fairness")
	assert.NilError(t, err)
	s, err := simulator.Parse(text)
	assert.NilError(t, err)
	directory := t.TempDir()
	r, err := recording.New(recording.Config{Directory: directory, SegmentAge: time.Hour})
	assert.NilError(t, err)
	remote, renewed := simulator.NewRemote(s, 1), false
	p, steps := r.Begin(began, api.Options{Partition: partition, Kinds: s.Kinds, Budgets: remote.Budgets}, s.Config)
	for now, next := time.Duration(0), time.Duration(0); now <= 40*time.Minute; now = next {
		if !renewed && now > 20*time.Minute {
			steps.(interface{ Renew() }).Renew()
			renewed = true
		}
		commands, due := remote.Advance(now)
		at := began.Add(now)
		observe := func(fx api.Effects) {
			for _, event := range fx {
				remote.Observe(now, event)
			}
		}
		for _, c := range commands {
			observe(steps.Apply(at, c))
		}
		for more := true; more; {
			var fx api.Effects
			fx, more = steps.Schedule(at)
			observe(fx)
		}
		next = max(due, now+time.Millisecond)
		if own, ok := p.Due(); ok && own.After(at) {
			next = min(next, own.Sub(began))
		}
	}
	steps.End()
	r.Close()
	d, err := recording.Read(directory)
	assert.NilError(t, err)
	m, err := moment.New(d, partition, "127.0.0.1:0")
	assert.NilError(t, err)
	at := began.Add(25 * time.Minute)
	assert.NilError(t, m.Go(moment.Move{At: &at}))
	return m
}

// showsAll holds when the overview has been read.
const showsAll = `document.querySelector("main").textContent.includes("What is checked")`

// TestReplayScreenshot: the moment of a recording is moved by buttons and by the slider, and what is shown is read anew, as it was then. A page that is open
// beside shows the same moment. The first moment is on the screenshot of the document.
func TestReplayScreenshot(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	t.Parallel()
	theBrowser(t)
	m := replayed(t)
	server := httptest.NewServer(m)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	open := func() *page {
		p := newPage(t, time.Now(), wideLight)
		t.Cleanup(p.complained)
		p.do(chromedp.Navigate(server.URL + "/#/overview"))
		p.arrives("overview")
		return p
	}
	p, other := open(), open()
	shows := func(p *page, at time.Time, step int) {
		t.Helper()
		p.until(fmt.Sprintf(`document.querySelector("#replay").textContent.includes("step %d") && Date.parse(document.querySelector("#replay time").dateTime) === %d`, step, at.UnixMilli()))
	}
	at := m.Position()
	shows(p, at.At, at.Step)
	p.until(showsAll)
	taken, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	assert.NilError(t, err)
	screenshot, err := png.Decode(bytes.NewReader(taken))
	assert.NilError(t, err)
	somethingOn(t, screenshot)
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(filepath.Join(images, "dashboard-replay.png"), compressed(t, screenshot), 0o644))
	}
	p.looksRight()

	evaluate[any](p, `globalThis.then = document.querySelector("main").textContent; return true`)
	for _, c := range []struct {
		button string
		at     time.Time
		steps  int
	}{
		{"−1 min", at.At.Add(-time.Minute), 0},
		{"+1 min", at.At, 0},
		{"−1 step", time.Time{}, -1},
		{"+1 step", time.Time{}, 1},
	} {
		before := m.Position()
		p.click("#replay button", c.button)
		p.until(fmt.Sprintf(`!document.querySelector("#replay").textContent.includes("step %d") && !document.querySelector("#replay button").disabled`, before.Step))
		now := m.Position()
		if c.steps != 0 {
			assert.Equal(t, now.Step, before.Step+c.steps)
		} else {
			assert.Assert(t, now.At.Equal(c.at), "%v", now)
		}
		shows(p, now.At, now.Step)
	}
	evaluate[any](p, `const slider = document.querySelector("#replay input"); slider.value = 300000; slider.dispatchEvent(new Event("change", { bubbles: true })); return true`)
	p.until(fmt.Sprintf(`Date.parse(document.querySelector("#replay time").dateTime) === %d`, began.Add(5*time.Minute).UnixMilli()))
	p.arrives("overview")
	p.until(showsAll + ` && document.querySelector("main").textContent !== globalThis.then`)
	shows(other, m.Position().At, m.Position().Step)
}
