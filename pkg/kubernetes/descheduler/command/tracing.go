package command

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"
	"google.golang.org/grpc/credentials"
)

// tracing is where spans are sent, over gRPC. Without an endpoint there are none.
type tracing struct {
	endpoint, authority string
	service, namespace  string
	rate                float64
	fallBack            bool
}

func (t *tracing) define(flags *pflag.FlagSet) {
	flags.StringVar(&t.endpoint, "otel-collector-endpoint", "", "host:port of an OpenTelemetry collector to which spans are sent over gRPC (default nowhere)")
	flags.StringVar(&t.authority, "otel-transport-ca-cert", "", "file with the certificate authority of the OpenTelemetry collector, in PEM; without one the connection is not encrypted")
	flags.StringVar(&t.service, "otel-service-name", "descheduler", "service.name of the spans that are sent")
	flags.StringVar(&t.namespace, "otel-trace-namespace", "", "service.namespace of the spans that are sent")
	flags.Float64Var(&t.rate, "otel-sample-rate", 1, "part of the cycles of which spans are sent, from 0 to 1")
	flags.BoolVar(&t.fallBack, "otel-fallback-no-op-on-error", false, "run without spans where they cannot be set up")
}

func (t *tracing) check() []error {
	var errs []error
	if !(t.rate >= 0 && t.rate <= 1) {
		errs = append(errs, fmt.Errorf("otel-sample-rate: must be from 0 to 1, not %g", t.rate))
	}
	if strings.Contains(t.endpoint, "://") {
		errs = append(errs, fmt.Errorf("otel-collector-endpoint: must be HOST:PORT without a scheme, not %q", t.endpoint))
	}
	return errs
}

// start returns what makes spans. Stop sends those that wait, and is never nil.
func (t *tracing) start(ctx context.Context, log *zap.Logger) (spans trace.TracerProvider, stop func(context.Context) error, err error) {
	stop = func(context.Context) error { return nil }
	if t.endpoint == "" {
		return noop.NewTracerProvider(), stop, nil
	}
	provider, err := t.provider(ctx)
	switch {
	case err == nil:
		return provider, provider.Shutdown, nil
	case t.fallBack:
		log.Warn("spans are not made", zap.Error(err))
		return noop.NewTracerProvider(), stop, nil
	default:
		return nil, stop, fmt.Errorf("spans: %w", err)
	}
}

func (t *tracing) provider(ctx context.Context) (*sdk.TracerProvider, error) {
	how := []otlptracegrpc.Option{otlptracegrpc.WithEndpoint(t.endpoint)}
	if t.authority == "" {
		how = append(how, otlptracegrpc.WithInsecure())
	} else {
		text, err := os.ReadFile(t.authority)
		if err != nil {
			return nil, fmt.Errorf("otel-transport-ca-cert: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("otel-transport-ca-cert: %s has no certificate", t.authority)
		}
		config := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
		how = append(how, otlptracegrpc.WithTLSCredentials(credentials.NewTLS(config)))
	}
	exporter, err := otlptracegrpc.New(ctx, how...)
	if err != nil {
		return nil, err
	}
	about := []attribute.KeyValue{attribute.String("service.name", t.service)}
	if t.namespace != "" {
		about = append(about, attribute.String("service.namespace", t.namespace))
	}
	return sdk.NewTracerProvider(
		sdk.WithBatcher(exporter),
		sdk.WithResource(resource.NewSchemaless(about...)),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(t.rate))),
	), nil
}
