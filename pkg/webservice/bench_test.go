package webservice

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
)

// crowd is a partition of many nodes, each with as many allocations.
func crowd(t testing.TB, nodes, each int) *world {
	t.Helper()
	w := &world{&fixture.World{Kinds: new(resources.Kinds), Names: []string{"default"}}}
	view := &api.View{Root: &api.QueueView{Path: "root"}}
	for i := range nodes {
		n := &api.NodeView{
			ID: api.NodeID(fmt.Sprintf("node-%05d", i)), Schedulable: true, Capacity: w.Amounts(t, 64000, 256<<30, 110),
			Attributes: map[string]string{"si.io/hostname": fmt.Sprintf("node-%05d", i), "si.io/rackname": "/rack-default"},
			Allocated:  w.Amounts(t, 20000, 20<<30, 20), Available: w.Amounts(t, 44000, 236<<30, 90),
		}
		for j := range each {
			number := uint32(i*each+j) * 2654435761
			created := start.Add(time.Duration(number) * time.Microsecond)
			n.Allocations = append(n.Allocations, &api.Allocation{
				Key:         api.AllocationKey(fmt.Sprintf("%08x-%04x-%04x-9ae3-%08x%04x", i*each+j, number>>7&0xffff, number>>3&0xffff, number*31, number>>9&0xffff)),
				Application: api.ApplicationID(fmt.Sprintf("app-%04d", number%1000)), Node: n.ID, Amounts: w.Amounts(t, 1000, 1<<30, 1),
				Created: created, Placed: created.Add(time.Duration(number % 1e9)),
				Tags: map[string]string{
					"kubernetes.io/meta/namespace": "default", "kubernetes.io/meta/podName": fmt.Sprintf("filler-5b4d5bff7f-%05x", number%99991),
					"kubernetes.io/label/app": "filler", "kubernetes.io/label/applicationId": fmt.Sprintf("app-%04d", number%1000),
				},
			})
		}
		view.Nodes = append(view.Nodes, n)
	}
	w.Views = map[string]*api.View{"default": view}
	return w
}

// discard is a client that reads and forgets.
type discard struct {
	header http.Header
	n      int
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(int)     {}
func (d *discard) Write(p []byte) (int, error) {
	d.n += len(p)
	return io.Discard.Write(p)
}

// BenchmarkNodes answers with 5,000 nodes of 20 allocations each.
func BenchmarkNodes(b *testing.B) {
	w := crowd(b, 5000, 20)
	s, err := New(Config{Views: w, Kinds: w.Kinds})
	assert.NilError(b, err)
	for _, c := range []struct{ name, query, accept string }{
		{"plain", "", ""}, {"gzip", "", "gzip"}, {"page", "?limit=100&offset=2500", "gzip"}, {"fields", "?fields=nodeID,available", "gzip"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, "/ws/v1/partition/default/nodes"+c.query, nil)
				r.Header.Set("Accept-Encoding", c.accept)
				w := &discard{header: http.Header{}}
				s.Handler().ServeHTTP(w, r)
				b.ReportMetric(float64(w.n), "bytes")
			}
		})
	}
}
