// Package dashboard is the page that shows a scheduler to people.
//
// The page is plain HTML, style sheets and modules of JavaScript below assets,
// embedded in the binary and read by the browser as they are written: there is no
// build step, no library, and nothing from another origin. It holds no data; all
// it shows it asks of REST, with the token of the reader if one is needed.
package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed assets
var embedded embed.FS

// policy is what a browser may do for the page: load what is served beside it, and
// nothing else. Styles set by a script through the object model are no inline styles.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// types are those of the extensions there are. Those of the operating system may be
// wrong, and a module of another type is not run.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// An asset is a file as it is sent.
type asset struct {
	body        string
	contentType string
	tag         string // strong entity tag
}

// Replay is the page of a recording: its moment can be moved. What answers "/replay" tells which one it is, and moves it.
func Replay(moves http.Handler) http.Handler {
	page := newAssets(embedded, "assets")
	for _, name := range []string{"/", "/index.html"} {
		of := page[name]
		of.body = strings.Replace(of.body, "<html lang", "<html data-replay lang", 1)
		of.tag = `"replay-` + of.tag[1:]
		page[name] = of
	}
	mux := http.NewServeMux()
	mux.Handle("/replay", moves)
	mux.Handle("/", page)
	return mux
}

// Handler serves the page at "/" and what belongs to it below. Any other path is
// 404 in plain text. It may be called by many at once.
func Handler() http.Handler { return newAssets(embedded, "assets") }

type assets map[string]asset // by path of the request

// newAssets reads the files below a directory. They are part of the program, so
// one that cannot be read breaks it.
func newAssets(from fs.FS, below string) assets {
	out := assets{}
	err := fs.WalkDir(from, below, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		out[strings.TrimPrefix(name, below)] = asset{
			body:        string(body),
			contentType: typeOf(name),
			tag:         `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`,
		}
		return nil
	})
	if err != nil {
		panic("dashboard: " + err.Error())
	}
	out["/"] = out["/index.html"]
	return out
}

func typeOf(name string) string {
	if known, ok := types[path.Ext(name)]; ok {
		return known
	}
	return mime.TypeByExtension(path.Ext(name))
}

// ServeHTTP answers GET and HEAD. A browser asks again each time, and is told that
// nothing changed if so: a new binary brings a new page at once.
func (a assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found, ok := a[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	head := w.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cache-Control", "no-cache")
	head.Set("Content-Type", found.contentType)
	head.Set("ETag", found.tag)
	// Without a time of change only the tag counts.
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(found.body))
}
