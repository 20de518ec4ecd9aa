package dashboard

import (
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/past"
)

// ask sends one request to the page.
func ask(t *testing.T, method, path string, head ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

func text(t *testing.T, response *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	assert.NilError(t, err)
	return string(body)
}

// files is every asset, by the path that it is asked for with.
func files(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	assert.NilError(t, fs.WalkDir(embedded, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := embedded.ReadFile(name)
		out[strings.TrimPrefix(name, "assets")] = string(body)
		return err
	}))
	assert.Assert(t, len(out) > 10)
	return out
}

func TestThePage(t *testing.T) {
	page := ask(t, "GET", "/")
	assert.Equal(t, page.StatusCode, http.StatusOK)
	body := text(t, page)
	assert.Assert(t, strings.Contains(body, "<title>Narwhal</title>"))
	assert.Equal(t, text(t, ask(t, "GET", "/index.html")), body)
	head := ask(t, "HEAD", "/")
	assert.Equal(t, head.StatusCode, http.StatusOK)
	assert.Equal(t, text(t, head), "")
}

func TestEveryAssetSaysWhatItIs(t *testing.T) {
	for name, body := range files(t) {
		answer := ask(t, "GET", name)
		assert.Equal(t, answer.StatusCode, http.StatusOK, name)
		assert.Equal(t, text(t, answer), body, name)
		assert.Equal(t, answer.Header.Get("Content-Type"), types[path.Ext(name)], name)
		assert.Equal(t, answer.Header.Get("X-Content-Type-Options"), "nosniff", name)
		assert.Equal(t, answer.Header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self'; "+
			"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", name)
	}
}

func TestNothingIsSentTwice(t *testing.T) {
	tags := map[string]string{}
	for name := range files(t) {
		tag := ask(t, "GET", name).Header.Get("ETag")
		assert.Equal(t, tags[tag], "", "%s has the tag of another", name)
		tags[tag] = name
		again := ask(t, "GET", name, "If-None-Match", `"older", `+tag)
		assert.Equal(t, again.StatusCode, http.StatusNotModified, name)
		assert.Equal(t, text(t, again), "")
		assert.Equal(t, again.Header.Get("Content-Security-Policy"), policy)
		assert.Equal(t, ask(t, "GET", name, "If-None-Match", `"older"`).StatusCode, http.StatusOK, name)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/nothing", 404},
		{"GET", "/js/", 404},
		{"GET", "/js", 404},
		{"GET", "/assets/index.html", 404},
		{"GET", "/../dashboard.go", 404},
		{"GET", "/js/../style.css", 404},
		{"POST", "/nothing", 404},
		{"POST", "/", 405},
		{"DELETE", "/style.css", 405},
	} {
		answer := ask(t, c.method, c.path)
		assert.Equal(t, answer.StatusCode, c.status, "%s %s", c.method, c.path)
		assert.Equal(t, answer.Header.Get("Content-Type"), "text/plain; charset=utf-8", c.path)
	}
}

// What assets refer to, as far as it is written literally.
var (
	imported = regexp.MustCompile(`(?m)(?:\bfrom|^import) '(\.[^']+)'`)
	linked   = regexp.MustCompile(`(?:src|href)="([^"#]+)"`)
	within   = regexp.MustCompile(`url\(['"]?([^'")]+)`)
)

// TestEveryAssetIsReachable follows all references from the page: each leads to an
// asset, and none is left over.
func TestEveryAssetIsReachable(t *testing.T) {
	known, seen := files(t), map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		body, ok := known[name]
		assert.Assert(t, ok, "%s is referred to and is not there", name)
		for _, pattern := range []*regexp.Regexp{imported, linked, within} {
			for _, found := range pattern.FindAllStringSubmatch(body, -1) {
				if !strings.HasPrefix(found[1], "data:") {
					visit(path.Join(path.Dir(name), found[1]))
				}
			}
		}
	}
	visit("/index.html")
	for name := range known {
		assert.Assert(t, seen[name], "%s is referred to by nobody", name)
	}
}

// TestScriptsImportInOneDirection finds scripts that import each other, over others too.
func TestScriptsImportInOneDirection(t *testing.T) {
	known, done := files(t), map[string]bool{}
	var visit func(way []string)
	visit = func(way []string) {
		name := way[len(way)-1]
		assert.Assert(t, !slices.Contains(way[:len(way)-1], name), strings.Join(way, " imports "))
		if done[name] {
			return
		}
		for _, found := range imported.FindAllStringSubmatch(known[name], -1) {
			visit(append(slices.Clip(way), path.Join(path.Dir(name), found[1])))
		}
		done[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		visit([]string{name})
	}
}

var (
	address   = regexp.MustCompile(`(?i)(?:https?:)?//[a-z0-9][a-z0-9-]*\.[a-z]`)
	namespace = "http://www.w3.org/2000/svg" // a name, which is not loaded
)

func TestNothingIsLoadedFromElsewhere(t *testing.T) {
	for name, body := range files(t) {
		found := address.FindString(strings.ReplaceAll(body, namespace, ""))
		assert.Equal(t, found, "", name)
	}
}

// What the policy forbids, and what could make markup of a name that a user chose.
var forbidden = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|(?:<[a-z][^>]*\sstyle=)|(?:<[a-z][^>]*\son[a-z]+=)|<script>|<style`)

func TestNoMarkupIsMadeOfText(t *testing.T) {
	for name, body := range files(t) {
		if path.Ext(name) != ".css" && path.Ext(name) != ".svg" {
			assert.Equal(t, forbidden.FindString(body), "", name)
		}
	}
}

func TestNoFileIsTooLong(t *testing.T) {
	for name, body := range files(t) {
		assert.Assert(t, strings.Count(body, "\n") <= 400, name)
	}
}

// TestTheListOfReasonsIsWhole: the page of pending asks has each reason of the core, and no other.
func TestTheListOfReasonsIsWhole(t *testing.T) {
	_, list, found := strings.Cut(files(t)["/js/parts/pending.js"], "export const reasons = {\n")
	assert.Assert(t, found)
	list, _, _ = strings.Cut(list, "\n};")
	var listed []string
	for _, match := range regexp.MustCompile(`(?m)^  '([^']+)': '`).FindAllStringSubmatch(list, -1) {
		listed = append(listed, match[1])
	}
	known := knownReasons()
	slices.Sort(listed)
	slices.Sort(known)
	assert.DeepEqual(t, listed, known)
}

// TestTheListsOfClassesAreWhole: what is picked by class has the classes of REST, each with words.
func TestTheListsOfClassesAreWhole(t *testing.T) {
	words := files(t)["/js/parts/words.js"]
	for list, want := range map[string][]string{"askClasses": object.AskClasses(), "victimClasses": past.VictimClasses()} {
		_, listed, found := strings.Cut(words, "export const "+list+" = [")
		assert.Assert(t, found)
		listed, _, _ = strings.Cut(listed, "]")
		names := strings.Split(strings.ReplaceAll(listed, "'", ""), ", ")
		slices.Sort(names)
		slices.Sort(want)
		assert.DeepEqual(t, names, want)
		for _, name := range names {
			assert.Assert(t, regexp.MustCompile(`\b'?`+name+`'?: '[A-Z]`).MatchString(words), name)
		}
	}
}

// knownReasons are the texts of all reasons. The text of one that is not there panics.
func knownReasons() (texts []string) {
	defer func() { _ = recover() }()
	for reason := api.NotTried; ; reason++ {
		texts = append(texts, reason.String())
	}
}
