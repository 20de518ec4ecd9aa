package acceptance

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
)

// FuzzRequests sends paths and queries. The answer is one that the OpenAPI document
// has, and a redirect leads to where an answer is.
func FuzzRequests(f *testing.F) {
	for _, g := range fixture.Answers {
		path, query, _ := strings.Cut(g.Path, "?")
		f.Add(path, query, "gzip")
	}
	f.Add("/ws/v1/partition/default/queue/root.%252E%2F%00/applications/active", "status=&limit=9223372036854775808&fields=a,,b", "*;q=0")
	f.Add("//ws//v1/../PARTITION/%5bmycluster%5Ddefault/nodes/", "offset=1&offset=2;%zz", "gzip;q=1.0001")
	f.Add("/ws/v1/CLUSTERS", "a=#%zz", "")
	f.Add("/debug/pprof/../stack", "subtree&fields=queuename", "")
	fuzz := newFuzzer(f, served(f, newWorld(f).config(f), ""))
	f.Fuzz(func(t *testing.T, path, query, accept string) {
		u, err := url.ParseRequestURI(path + "?" + query)
		if err != nil || u.Host != "" || strings.Contains(strings.ToLower(path), "pprof") {
			t.Skip() // net/http refuses it; a profile takes its time
		}
		r := request(http.MethodGet, &url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}, "")
		r.Header.Set("Accept-Encoding", accept)
		w, sent := fuzz.send(t, r)
		if sent && w.Code == http.StatusMovedPermanently {
			to, err := url.Parse(w.Header().Get("Location"))
			assert.NilError(t, err)
			assert.Assert(t, to.Host == "" && (strings.HasPrefix(to.Path, "/ws/v1/") || strings.HasPrefix(to.Path, "/debug/")), to)
			again, _ := fuzz.send(t, request(http.MethodGet, to, ""))
			assert.Assert(t, again.Code != http.StatusMovedPermanently || strings.HasPrefix(to.Path, "/ws/v1/"), to)
		}
	})
}
