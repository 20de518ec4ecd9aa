package webservice_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
)

// A shelf has views that never change. A scheduler has those of its partitions.
type shelf map[string]*api.View

func (s shelf) Partitions() []string                                   { return []string{"[rm]default"} }
func (s shelf) View(_ context.Context, name string) (*api.View, error) { return s[name], nil }
func (s shelf) Unanswered(string) time.Duration                        { return 0 }
func (s shelf) Snapshot(_ context.Context, name string) (webservice.Snapshot, error) {
	return webservice.Snapshot{View: s[name]}, nil
}

func ExampleNew() {
	views := shelf{"[rm]default": {
		Root:  &api.QueueView{Path: "root"},
		Nodes: []*api.NodeView{{ID: "node-1", Schedulable: true}, {ID: "node-2"}},
	}}
	service, err := webservice.New(webservice.Config{Views: views, Kinds: new(resources.Kinds)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, query := range []string{"schedulable=true", "fields=nodeID&limit=1&offset=1", "limit=-1"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/ws/v1/partition/default/nodes?"+query, nil)
		service.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// 200 [{"nodeID":"node-1","schedulable":true,"isReserved":false,"allocationCount":0}]
	// 200 [{"nodeID":"node-2"}]
	// 400 {"status_code":400,"message":"Parameter limit is \"-1\": a whole number from 1 to 2147483647 is needed","description":"Parameter limit is \"-1\": a whole number from 1 to 2147483647 is needed"}
}
