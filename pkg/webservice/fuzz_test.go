package webservice

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// FuzzRequests sends paths and queries. The answer is one that the OpenAPI document
// has, and a redirect leads to where an answer is.
func FuzzRequests(f *testing.F) {
	for _, g := range goldens {
		path, query, _ := strings.Cut(g.path, "?")
		f.Add(path, query, "gzip")
	}
	f.Add("/ws/v1/partition/default/queue/root.%252E%2F%00/applications/active", "status=&limit=9223372036854775808&fields=a,,b", "*;q=0")
	f.Add("//ws//v1/../PARTITION/%5bmycluster%5Ddefault/nodes/", "offset=1&offset=2;%zz", "gzip;q=1.0001")
	f.Add("/ws/v1/CLUSTERS", "a=#%zz", "")
	f.Add("/debug/pprof/../stack", "subtree&fields=queuename", "")
	fuzz := newFuzzer(newWorld(f).service(f))
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

// changing is a world whose views are replaced while it is read.
type changing struct {
	mu    sync.RWMutex
	views []*core.View
	names []string
}

func (c *changing) Partitions() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.names
}

func (c *changing) Glance(string) (*core.View, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.views = append(c.views[1:], c.views[0])
	return c.views[0], nil
}

// TestManyReaders has readers of every endpoint while views change. Each answer is
// one of those that are right, whole. It is for the race detector too.
func TestManyReaders(t *testing.T) {
	small, large := crowd(t, 2, 3), newWorld(t)
	c := &changing{views: []*core.View{small.views["default"], large.views[large.names[0]]}, names: []string{"default"}}
	s, err := New(Config{Views: c, Kinds: large.kinds})
	assert.NilError(t, err)
	right := map[string]map[string]bool{}
	for _, g := range goldens {
		right[g.path] = map[string]bool{}
		for range 2 {
			right[g.path][ask(s.Handler(), http.MethodGet, g.path).Body.String()] = true
		}
	}
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 10 {
				for _, g := range goldens {
					w := ask(s.Handler(), http.MethodGet, g.path, "Accept-Encoding", "gzip")
					assert.Check(t, right[g.path][unpacked(t, w)], g.path)
				}
				ask(s.DebugHandler(), http.MethodGet, "/debug/fullstatedump")
			}
		})
	}
	readers.Wait()
}
