package server_test

import (
	"fmt"
	"io"
	"net/http"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/server"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
)

// silent is a callback that is called for nothing here.
type silent struct{ api.ResourceManagerCallback }

// Example starts a scheduler with REST, the dashboard and metrics.
func Example() {
	s, err := server.New(server.Config{Listen: webservice.ServerConfig{Address: "127.0.0.1:0"}})
	check(err)
	check(s.Start())
	defer s.Stop()
	_, err = s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm"}, silent{})
	check(err)
	for _, path := range []string{"/", "/ws/v1/partitions", "/ws/v1/metrics", "/ws/v1/events/batch"} {
		response, err := http.Get("http://" + s.Addresses()[0] + path)
		check(err)
		body, err := io.ReadAll(response.Body)
		check(err)
		fmt.Println(path, response.StatusCode, len(body) > 0)
	}
	// Output:
	// / 200 true
	// /ws/v1/partitions 200 true
	// /ws/v1/metrics 200 true
	// /ws/v1/events/batch 200 true
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
