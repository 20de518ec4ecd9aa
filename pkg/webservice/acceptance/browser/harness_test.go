package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
	"gotest.tools/v3/assert"
)

// TestComplaints: what is wrong on a page is heard, or else no test of it is worth
// anything.
func TestComplaints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script, complaint string }{
		{"nothing", `"fine"`, ""},
		{"error on the console", `console.error("oh", 1)`, "console.error: oh 1"},
		{"warning", `console.warn("hm")`, "console.warning: hm"},
		{"exception", `setTimeout(() => { throw new Error("thrown") })`, "thrown"},
		{"promise", `Promise.reject(new Error("broken"))`, "broken"},
		{"inline style", `document.body.setAttribute("style", "color: red")`, "Content Security Policy"},
		{"inline script", `document.body.append(Object.assign(document.createElement("script"), { textContent: "1" }))`, "Content Security Policy"},
		{"other origin", `fetch("http://localhost:1/").catch(() => 0)`, "Content Security Policy"},
		{"not found", `fetch("/nowhere").then(() => 0)`, "404"},
		{"cut", `fetch("/cut").catch(() => 0)`, "request failed"},
		{"taken back", `{ const c = new AbortController(); fetch("/slow", { signal: c.signal }).catch(() => 0); c.abort() }`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/":
					w.Header().Set("Content-Security-Policy", "default-src 'self'; img-src data:")
					fmt.Fprint(w, `<!doctype html><link rel="icon" href="data:,"><body>page<script type="module" src="/s.js"></script>`)
				case "/s.js":
					w.Header().Set("Content-Type", "text/javascript")
					fmt.Fprint(w, c.script, `; setTimeout(() => fetch("/end").then(() => { document.body.dataset.end = "1" }))`)
				case "/end":
				case "/slow":
					<-r.Context().Done()
				case "/cut":
					panic(http.ErrAbortHandler)
				default:
					http.NotFound(w, r)
				}
			}))
			t.Cleanup(server.Close)
			p := newPage(t, began, look{})
			p.do(chromedp.Navigate(server.URL))
			p.until(`document.body.dataset.end`)
			if c.complaint == "" {
				assert.DeepEqual(t, p.heard(), []string(nil))
			} else {
				p.hears(c.complaint)
			}
		})
	}
}
