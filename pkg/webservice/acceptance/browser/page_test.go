package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	chrome "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"gotest.tools/v3/assert"
)

//go:embed testdata/page.js
var pageScript string

//go:embed testdata/audit.js
var auditScript string

// A look is how the page is looked at. The zero value is a large dark screen.
type look struct {
	width, height int64
	light         bool
}

func (l look) withDefaults() look {
	if l.width == 0 {
		l.width = 1400
	}
	if l.height == 0 {
		l.height = 900
	}
	return l
}

func (l look) scheme() string {
	if l.light {
		return "light"
	}
	return "dark"
}

// A page is a tab with a session of its own, and what was wrong there.
type page struct {
	t   *testing.T
	ctx context.Context

	close      func()
	ownState   bool   // it is not given to another test
	how        look   // how it looks now
	usedBefore string // the test that had it before

	mu         sync.Mutex
	allowed    []string          // parts of complaints that a test brings about
	complaints []string          // in order
	requests   map[string]string // what was asked for, by the number of the request
	news       chan struct{}     // a complaint is new
}

// open shows a panel of the dashboard of a site, with a hash such as "#/nodes". When
// the test ends, whatever the browser complained of fails it.
func (s *site) open(t *testing.T, hash string, how look) *page {
	t.Helper()
	p := newPage(t, s.stage.now, how)
	t.Cleanup(p.complained)
	p.do(chromedp.Navigate(s.url + "/" + hash))
	return p
}

// complained fails the test if the browser complained of something.
func (p *page) complained() {
	p.t.Helper()
	for _, complaint := range unique(p.heard()) {
		p.t.Errorf("the browser complains: %s", complaint)
	}
	if p.t.Failed() && p.usedBefore != "" {
		p.t.Logf("the page was used by %s before", p.usedBefore)
	}
}

// newPage is an empty tab, whose clock begins at a moment. It is closed when the
// test ends.
func newPage(t *testing.T, now time.Time, how look) *page {
	t.Helper()
	p := newTab(t, now, how)
	t.Cleanup(p.close)
	return p
}

// newTab is an empty tab, which the caller closes.
func newTab(t *testing.T, now time.Time, how look) *page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(theBrowser(t), chromedp.WithNewBrowserContext())
	p := &page{t: t, ctx: ctx, close: cancel, requests: map[string]string{}, news: make(chan struct{}, 1)}
	assert.NilError(t, chromedp.Listen(ctx, p.hear))
	mayCopy := chrome.SetPermissionParams{
		Permission: &chrome.PermissionDescriptor{Name: "clipboard-write"}, Setting: chrome.PermissionSettingGranted,
	}
	setUp := func(ctx context.Context, _ *chromedp.Target) error {
		mayCopy.BrowserContextID = chromedp.FromContext(ctx).BrowserContextID
		if _, err := chromedp.Call(ctx, chrome.SetPermission, mayCopy); err != nil {
			return err
		}
		script := strings.ReplaceAll(pageScript, "NOW", strconv.FormatInt(now.UnixMilli(), 10))
		if _, err := chromedp.Call(ctx, cdpage.AddScriptToEvaluateOnNewDocument, cdpage.AddScriptToEvaluateOnNewDocumentParams{Source: script + auditScript}); err != nil {
			return err
		}
		_, err := chromedp.Call(ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"})
		return err
	}
	p.do(chromedp.Func(setUp))
	p.dress(how)
	return p
}

// becomes makes the tab look otherwise, whatever it shows, and waits until it has been
// drawn so.
func (p *page) becomes(how look) {
	p.t.Helper()
	how = how.withDefaults()
	if p.how == how {
		return
	}
	p.dress(how)
	evaluate[any](p, `
		await t.until(() => innerWidth === args[0] && matchMedia("(prefers-color-scheme: " + args[1] + ")").matches, "another look", args[2]);
		await t.frames(3);
		return true`, how.width, how.scheme(), patience.Milliseconds())
}

// dress tells the browser how the tab looks.
func (p *page) dress(how look) {
	p.t.Helper()
	how = how.withDefaults()
	before := p.how
	p.how = how
	scheme := func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: how.scheme()}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return err
	}
	var steps []chromedp.Action[chromedp.Void]
	if before == (look{}) || how.light != before.light {
		steps = append(steps, chromedp.Func(scheme))
	}
	if how.width != before.width || how.height != before.height {
		steps = append(steps, chromedp.EmulateViewport(how.width, how.height))
	}
	p.do(steps...)
}

// heard is what the browser complained of so far, or since it was asked last.
func (p *page) heard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	complaints := p.complaints
	p.complaints = nil
	return complaints
}

// unique is a list without what was in it before.
func unique(list []string) (out []string) {
	for _, one := range list {
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

// hears waits until the browser complains of something: it may do so some time after
// it happens.
func (p *page) hears(part string) {
	p.t.Helper()
	limit := time.After(patience)
	for {
		p.mu.Lock()
		heard := strings.Join(p.complaints, "\n")
		p.mu.Unlock()
		if strings.Contains(heard, part) {
			return
		}
		select {
		case <-p.news:
		case <-limit:
			p.t.Fatalf("the browser does not complain of %q, but: %s", part, heard)
		}
	}
}

// hear is told whatever happens in the tab, in order.
func (p *page) hear(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			words := make([]string, len(e.Args))
			for i, arg := range e.Args {
				words[i] = strings.Trim(string(arg.Value), `"`) + arg.Description
			}
			p.complain("console." + string(e.Type) + ": " + strings.Join(words, " "))
		}
	case *runtime.EventExceptionThrown:
		p.complain("exception: " + (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *log.EventEntryAdded: // violations of the policy are here, and what failed to load
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			p.complain(string(e.Entry.Source) + ": " + e.Entry.Text + " " + e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		p.mu.Lock()
		p.requests[string(e.RequestID)] = e.Request.URL
		p.mu.Unlock()
	case *network.EventLoadingFailed:
		if !e.Canceled {
			p.mu.Lock()
			url := p.requests[string(e.RequestID)]
			p.mu.Unlock()
			p.complain("request failed: " + url + ": " + e.ErrorText)
		}
	}
}

func (p *page) complain(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tolerates(text) {
		return
	}
	p.complaints = append(p.complaints, text)
	select {
	case p.news <- struct{}{}:
	default: // what waits will look anyway
	}
}

func (p *page) tolerates(text string) bool {
	return slices.ContainsFunc(p.allowed, func(part string) bool { return strings.Contains(text, part) })
}

// allow makes complaints with one of these parts no failure, those included that
// came already: the test brings them about. No other test gets the page, as they may come late.
func (p *page) allow(parts ...string) {
	p.ownState = true
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed = append(p.allowed, parts...)
	p.complaints = slices.DeleteFunc(p.complaints, p.tolerates)
}

// do runs actions, with a limit.
func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience+10*time.Second)
	defer cancel()
	assert.NilError(p.t, chromedp.Do(ctx, steps...))
}

// evaluate runs the body of an asynchronous function in the page. Its arguments are
// args, and t is what testdata/page.js offers.
func evaluate[T any](p *page, body string, args ...any) T {
	p.t.Helper()
	if args == nil {
		args = []any{}
	}
	given, err := json.Marshal(args)
	assert.NilError(p.t, err)
	ctx, cancel := context.WithTimeout(p.ctx, patience+10*time.Second)
	defer cancel()
	// The page holds on to the promise, as the browser that waits for it does not: it
	// may be collected as garbage before it has an answer.
	script := fmt.Sprintf("globalThis.__running = (async () => { const t = globalThis.__test, args = %s; %s })()", given, body)
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", body, err, p.words())
	}
	return out
}

// words is what people read on the page, for messages of failures.
func (p *page) words() string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText.replace(/\s+/g, " ").slice(0, 1500)`))
	if err != nil {
		return err.Error()
	}
	return "the page shows:\n" + text
}

// until waits until an expression is true in the page; its arguments are args, and
// t is what testdata/page.js offers.
func (p *page) until(expression string, args ...any) {
	p.t.Helper()
	evaluate[any](p, fmt.Sprintf("await t.until(() => (%s), %q, %d); return true", expression, expression, patience.Milliseconds()), args...)
}

// sees waits for an element with words that can be seen.
func (p *page) sees(selector, words string) {
	p.t.Helper()
	p.until("t.one(args[0], args[1])", selector, words)
}

// text is that of the first element of a selector that can be seen, with single
// spaces.
func (p *page) text(selector string) string {
	p.t.Helper()
	p.sees(selector, "")
	return evaluate[string](p, `return t.one(args[0]).textContent.replace(/\s+/g, " ").trim()`, selector)
}

// click presses the mouse in the middle of the first element of a selector that can
// be seen and has the words.
func (p *page) click(selector, words string) {
	p.t.Helper()
	p.sees(selector, words)
	at := evaluate[[]float64](p, `
		const e = t.one(args[0], args[1]);
		e.scrollIntoView({ block: "center", inline: "center" });
		const box = e.getBoundingClientRect();
		const x = box.x + box.width / 2, y = box.y + box.height / 2;
		const hit = document.elementFromPoint(x, y);
		if (!hit || !(e.contains(hit) || hit.contains(e))) throw new Error("what is clicked on is covered by " + hit?.outerHTML.slice(0, 200));
		return [x, y]`, selector, words)
	p.do(chromedp.MouseClickXY(at[0], at[1]))
}

// press types keys where the focus is. A letter comes with the key that makes it, as
// from a keyboard: so it is not written if the page takes the key for itself.
func (p *page) press(keys ...string) {
	p.t.Helper()
	for _, r := range strings.Join(keys, "") {
		strokes := kb.Encode(r)
		down, up := strokes[0], strokes[len(strokes)-1]
		if len(strokes) == 3 {
			down.Text, down.UnmodifiedText = strokes[1].Text, strokes[1].UnmodifiedText
		}
		for _, stroke := range []*input.DispatchKeyEventParams{down, up} {
			p.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
				_, err := chromedp.Call(ctx, input.DispatchKeyEvent, *stroke)
				return err
			}))
		}
	}
}
