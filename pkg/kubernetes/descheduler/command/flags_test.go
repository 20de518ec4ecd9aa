package command

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"
)

// flagDefaults are all flags. The first ones are those of the descheduler of Kubernetes, by which
// manifests for it can be used.
const flagDefaults = `
policy-config-file=
descheduling-interval=0s
dry-run=false
kubeconfig=
client-connection-kubeconfig=
client-connection-qps=100
client-connection-burst=200
disable-metrics=false
feature-gates=
enable-http2=false
leader-elect=false
leader-elect-lease-duration=2m17s
leader-elect-renew-deadline=1m47s
leader-elect-retry-period=26s
leader-elect-resource-lock=leases
leader-elect-resource-name=descheduler
leader-elect-resource-namespace=kube-system
otel-collector-endpoint=
otel-transport-ca-cert=
otel-service-name=descheduler
otel-trace-namespace=
otel-sample-rate=1
otel-fallback-no-op-on-error=false
secure-port=10258
bind-address=127.0.0.1
tls-cert-file=
tls-private-key-file=
v=0
logging-format=json
cluster-file=
cluster-time=
lenient-config=false
validate=false
write-config-to=
report-format=table
scheduler-name=[narwhal]
scheduler-namespace=
scheduler-config-map=narwhal-config
probe-port=0
scheduler-config=
preferred-places=true
like-yunikorn=false
default-queue=
token-file=
kubernetes-auth=false
`

// TestFlags compares each flag and its default. What the descheduler of Kubernetes has besides is
// refused with a hint.
func TestFlags(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(settings).define(flags)
	want := map[string]string{}
	for line := range strings.FieldsSeq(flagDefaults) {
		name, value, _ := strings.Cut(line, "=")
		want[name] = value
	}
	got := map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) { got[f.Name] = f.DefValue })
	assert.DeepEqual(t, got, want)
	for name := range otherFlags {
		assert.Check(t, flags.Lookup(name) == nil, "%s is there, and explained as if it was not", name)
	}
}
