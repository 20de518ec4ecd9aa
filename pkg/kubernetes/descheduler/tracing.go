package descheduler

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// tracer is the name under which spans are made.
const tracer = "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"

// span begins a span. Names are those of the descheduler of Kubernetes' parts: the run,
// a cycle, a profile at a point, a plugin, an eviction.
func (d *Descheduler) span(ctx context.Context, name string, about ...attribute.KeyValue) (context.Context, trace.Span) {
	return d.tracer.Start(ctx, name, trace.WithAttributes(about...))
}

// endSpan ends a span, with the error where there is one.
func endSpan(s trace.Span, err error) {
	if err != nil {
		s.RecordError(err)
		s.SetStatus(codes.Error, err.Error())
	}
	s.End()
}
