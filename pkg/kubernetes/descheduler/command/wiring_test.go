package command

import (
	"context"
	"fmt"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/evictors"
)

// TestWired: metrics, spans and the answers why a pod was evicted are those of the descheduler
// that runs.
func TestWired(t *testing.T) {
	complete(t)
	server := apiServer(t, []v1.Node{readyNode("a"), readyNode("b")}, duplicates())
	spans := tracetest.NewInMemoryExporter()
	var why func(namespace, name string) any
	s, r, _ := newProcess(t, smallest+"profiles: [{plugins: {balance: {enabled: [RemoveDuplicates]}}}]\n", nil)
	r.how = &rest.Config{Host: server.URL}
	r.build = func(ctx context.Context, p *parts) (descheduling, error) {
		p.spans = sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
		p.answers = func(answer func(namespace, name string) any) { why = answer }
		return build(ctx, p)
	}
	s.dryRun = true
	assert.NilError(t, s.run(t.Context(), r))
	assert.Equal(t, value(t, r.metrics, "descheduler_pods_evicted_total"), 2.0)
	count := map[string]int{}
	for _, span := range spans.GetSpans() {
		count[span.Name]++
	}
	assert.Equal(t, count["Cycle"], 1, "%v", count)
	assert.Equal(t, count["EvictPod"], 2, "%v", count)
	evicted := 0
	for i := range 4 {
		if strings.Contains(fmt.Sprint(why("shop", fmt.Sprint("web-", i))), "evicted from a") {
			evicted++
		}
	}
	assert.Equal(t, evicted, 2)
}

// TestGated: the gate switches evictions in the background on, in a changed policy too.
func TestGated(t *testing.T) {
	complete(t)
	background := func(of string) bool {
		_, r, _ := newProcess(t, smallest+"profiles: [{}]\n", nil)
		var g gates
		assert.NilError(t, g.Set(of))
		return gated(r.policy, &g).Profiles[0].Args[evictors.EvictionName].(*evictors.EvictionArgs).Background
	}
	assert.Assert(t, background("EvictionsInBackground=true"))
	assert.Assert(t, !background("EvictionsInBackground=false"))
}
