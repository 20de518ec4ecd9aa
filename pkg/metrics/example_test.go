package metrics_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics/stage"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// Metrics watch a scheduler, count events and times, and answer scrapes.
func Example() {
	s, err := scheduler.New(scheduler.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.StopContext(context.Background()) }()

	m := metrics.New()
	m.Watch(s, s.Kinds())
	m.Count("[rm]default", api.Effects{api.Placed{}, api.Placed{}})
	m.Observe(stage.Decision, 12*time.Microsecond)

	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.Contains(line, `"allocated"`) || strings.HasPrefix(line, `narwhal_stage_seconds_count{stage="decision"}`) {
			fmt.Print(line)
		}
	}
	// Output:
	// narwhal_stage_seconds_count{stage="decision"} 1
	// yunikorn_scheduler_container_allocation_attempt_total{partition="[rm]default",state="allocated"} 2
}
