package webservice

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
)

// waiting is a partition with so many applications, and so many asks of each.
func waiting(t testing.TB, applications, each int, chance *rand.Rand) *world {
	t.Helper()
	w := &world{&fixture.World{Kinds: new(resources.Kinds), Names: []string{"default"}}}
	view := &api.View{Root: &api.QueueView{Path: "root"}}
	for i := range applications {
		app := &api.ApplicationView{
			ID: api.ApplicationID(fmt.Sprintf("app-%05d", i)), Queue: api.QueuePath(fmt.Sprintf("root.q%d", chance.IntN(5))),
			User: fmt.Sprintf("user-%d", chance.IntN(3)),
		}
		for j := range each {
			ask := api.AskView{Allocation: &api.Allocation{
				Key: api.AllocationKey(fmt.Sprintf("ask-%05d-%06d", i, j)), Application: app.ID, Amounts: w.Amounts(t, 1000, 1<<30, 1),
				Priority: int32(chance.IntN(4)), Created: start.Add(time.Duration(chance.IntN(each)) * time.Second),
				Tags: map[string]string{"kubernetes.io/meta/namespace": "default"},
			}, Waiting: &api.Waiting{Reason: api.Reason(chance.IntN(3))}}
			if chance.IntN(4) == 0 {
				ask.Nominated = api.NodeID(fmt.Sprintf("node-%d", chance.IntN(3)))
			} else if chance.IntN(4) == 0 {
				ask.Reserved = api.NodeID(fmt.Sprintf("node-%d", chance.IntN(3)))
			}
			switch chance.IntN(6) {
			case 0:
				ask.Required = "node-1"
			case 1:
				ask.Placeholder = true
			case 2:
				ask.Originator = true
			case 3:
				ask.Preemptable = api.Preemptable{Stated: true}
			}
			app.Asks = append(app.Asks, ask)
		}
		view.Applications = append(view.Applications, app)
	}
	w.Views = map[string]*api.View{"default": view}
	return w
}

// askShown is a part of an ask as a client reads it.
type askShown struct {
	AllocationKey, ApplicationID, QueueName, User, Class, Why, NominatedNode, ReservedNode string
	Priority                                                                               int32 `json:",string"`
	RequestTime                                                                            int64
}

func readAsks(t *testing.T, h http.Handler, query string) (list []askShown, total string) {
	t.Helper()
	w := ask(h, http.MethodGet, "/ws/v1/partition/default/asks?"+query)
	assert.Equal(t, w.Code, http.StatusOK, w.Body)
	assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &list))
	return list, w.Header().Get("X-Total-Count")
}

// TestPagesOfAsks puts pages side by side: they are the list, which is in order, and
// what a filter picks is what a reader would pick from it.
func TestPagesOfAsks(t *testing.T) {
	filters := map[string]func(askShown) bool{
		"":                   func(askShown) bool { return true },
		"&queue=root.q1":     func(a askShown) bool { return a.QueueName == "root.q1" },
		"&queue=ROOT":        func(askShown) bool { return true },
		"&user=user-2":       func(a askShown) bool { return a.User == "user-2" },
		"&application=app-*": func(askShown) bool { return true },
		"&why=queue+quota*":  func(a askShown) bool { return a.Why == "queue quota exceeded" },
		"&class=opted+out":   func(a askShown) bool { return a.Class == "opted out" },
		"&class=daemonset&why=not+tried+yet": func(a askShown) bool {
			return a.Class == "daemonset" && a.Why == "not tried yet"
		},
		"&node=node-1": func(a askShown) bool { return a.NominatedNode == "node-1" || a.ReservedNode == "node-1" },
		"&node=*&user=user-0": func(a askShown) bool {
			return a.User == "user-0" && (a.NominatedNode != "" || a.ReservedNode != "")
		},
	}
	for seed := range uint64(4) {
		s, err := New(Config{Views: waiting(t, 9, 7, rand.New(rand.NewPCG(seed, 1))), Kinds: new(resources.Kinds)})
		assert.NilError(t, err)
		all, total := readAsks(t, s.Handler(), "")
		assert.Equal(t, total, "63")
		assert.Assert(t, slices.IsSortedFunc(all, func(a, b askShown) int {
			return cmp.Or(cmp.Compare(a.QueueName, b.QueueName), cmp.Compare(a.ApplicationID, b.ApplicationID),
				cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.RequestTime, b.RequestTime), cmp.Compare(a.AllocationKey, b.AllocationKey))
		}))
		for query, picks := range filters {
			want := slices.DeleteFunc(slices.Clone(all), func(a askShown) bool { return !picks(a) })
			var got []askShown
			for {
				page, total := readAsks(t, s.Handler(), fmt.Sprintf("offset=%d&limit=5%s", len(got), query))
				assert.Equal(t, total, fmt.Sprint(len(want)), query)
				assert.Equal(t, len(page), min(5, len(want)-len(got)), query)
				if len(page) == 0 {
					break
				}
				got = append(got, page...)
			}
			assert.DeepEqual(t, got, append([]askShown(nil), want...))
		}
	}
}

// BenchmarkAsks answers with a page of 100,000 asks, of one application or of
// many.
func BenchmarkAsks(b *testing.B) {
	for _, c := range []struct{ applications, each int }{{1, 100_000}, {1000, 100}, {100_000, 1}} {
		w := waiting(b, c.applications, c.each, rand.New(rand.NewPCG(1, 1)))
		s, err := New(Config{Views: w, Kinds: w.Kinds})
		assert.NilError(b, err)
		for _, query := range []string{"limit=100", "limit=100&offset=50000", "limit=100&node=node-1"} {
			b.Run(fmt.Sprintf("applications=%d/%s", c.applications, query), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r := httptest.NewRequest(http.MethodGet, "/ws/v1/partition/default/asks?"+query, nil)
					s.Handler().ServeHTTP(&discard{header: http.Header{}}, r)
				}
			})
		}
	}
}
