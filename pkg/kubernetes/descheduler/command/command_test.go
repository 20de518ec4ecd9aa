package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"gotest.tools/v3/assert"
	"k8s.io/client-go/rest"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/example"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/replica"
)

// smallest is a policy without profiles: it needs no plugin.
const smallest = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n"

// written writes a file into a folder of the test.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestCommandLine(t *testing.T) {
	right := written(t, "policy.yaml", smallest)
	wrong := written(t, "policy.yaml", smallest+"maxNoOfPodsToEvictPerNod: 5\n")
	half := written(t, "policy.yaml", smallest+"deschedulingInterval: 5m\nleaderElection: {leaderElect: true, leaseDuration: 15s}\n")
	alone := written(t, "policy.yaml", smallest+"leaderElection: {leaderElect: true}\n")
	idle := written(t, "policy.yaml", smallest+"enableProfiling: true\n")
	for _, c := range []struct {
		name, args string
		code       int
		says       string
	}{
		{"help", "--help", exitDone, "--policy-config-file"},
		{"version flag", "--version", exitDone, "narwhal-descheduler "},
		{"version", "version", exitDone, "narwhal-descheduler v0.1.0"},
		{"unknown flag", "--colour", exitUsage, "unknown flag: --colour"},
		{"flag of others", "--cert-dir x", exitUsage, "unknown flag: --cert-dir: no certificate is made; give --tls-cert-file and --tls-private-key-file"},
		{"no policy", "", exitUsage, "policy-config-file: is missing"},
		{"half of TLS", "--policy-config-file " + right + " --tls-cert-file x", exitUsage, "tls-private-key-file"},
		{"report format", "--policy-config-file x --report-format prose", exitUsage, `"prose" is neither table nor json`},
		{"sample rate", "--policy-config-file x --otel-sample-rate 2", exitUsage, "otel-sample-rate: must be from 0 to 1"},
		{"lock", "--policy-config-file x --leader-elect-resource-lock endpoints", exitUsage, "write leases"},
		{"unknown gate", "--feature-gates=Other=true", exitUsage, "there is no feature Other here; known: EvictionsInBackground (false)"},
		{"half a gate", "--feature-gates=EvictionsInBackground", exitUsage, "write true or false"},
		{"no such file", "--policy-config-file does-not-exist", exitFailed, "policy-config-file: open does-not-exist"},
		{"wrong policy", "--validate --policy-config-file " + wrong, exitUsage, wrong + ":3:1: maxNoOfPodsToEvictPerNod: unknown key, did you mean maxNoOfPodsToEvictPerNode?\nnarwhal-descheduler: the policy is not usable"},
		{"lenient", "--validate --lenient-config --policy-config-file " + wrong, exitDone, "warning: " + wrong + ":3:1: maxNoOfPodsToEvictPerNod"},
		{"validate", "--validate --policy-config-file " + right, exitDone, "\nlimits:\n  coolDown:\n    initial: 10m0s\n"},
		{"one cycle needs no leader", "--leader-elect --kubeconfig none --policy-config-file " + right, exitFailed, "leader-elect: a single cycle needs no leader"},
		{"log format", "--logging-format prose --policy-config-file " + right, exitUsage, `logging-format: "prose" is neither json nor text`},
		{"port", "--secure-port 99999 --kubeconfig none --policy-config-file " + right, exitUsage, "secure-port: must be from 0 to 65535, not 99999"},
		{"port of probes", "--probe-port 10258 --kubeconfig none --policy-config-file " + right, exitUsage, "probe-port: must be from 0 to 65535 and not that of --secure-port, not 10258"},
		{"address", "--bind-address 1.2.3.4:5 --kubeconfig none --policy-config-file " + right, exitUsage, `bind-address: must be an IP address or the name of a host without a port, not "1.2.3.4:5"`},
		{"interval", "--descheduling-interval=-5m --policy-config-file " + right, exitUsage, "descheduling-interval: must be at least 0s, not -5m0s"},
		{"burst", "--client-connection-burst=-1 --policy-config-file " + right, exitUsage, "client-connection-burst: must be at least 0, not -1"},
		{"rate", "--client-connection-qps=NaN --policy-config-file " + right, exitUsage, "client-connection-qps: must be a number, negative for no bound, not NaN"},
		{"collector", "--otel-collector-endpoint http://x:4317 --policy-config-file " + right, exitUsage, `otel-collector-endpoint: must be HOST:PORT without a scheme, not "http://x:4317"`},
		{"lease", "--leader-elect --leader-elect-lease-duration 15s --policy-config-file " + right, exitUsage, "leader-elect-lease-duration: must be longer than leader-elect-renew-deadline (1m47s), not 15s"},
		{"no lease", "--leader-elect --leader-elect-resource-name= --policy-config-file " + right, exitUsage, "leader-elect-resource-name and"},
		{"half an election", "--validate --policy-config-file " + half, exitUsage, half + ": its settings do not go with the flags, or with their defaults:\nleader-elect-lease-duration: must be longer than"},
		{"a whole election", "--validate --leader-elect-renew-deadline 5s --leader-elect-retry-period 1s --policy-config-file " + half, exitDone, "leaseDuration: 15s"},
		{"a leader for one cycle", "--validate --policy-config-file " + alone, exitDone, "warning: " + alone + ": leaderElection: a single cycle needs no leader; give deschedulingInterval here"},
		{"without effect", "--validate --policy-config-file " + idle, exitDone, "warning: " + idle + ": enableProfiling and enableContentionProfiling have no effect"},
		{"no such kubeconfig", "--kubeconfig none --policy-config-file " + right, exitFailed, "how to reach the API server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			assert.Equal(t, Run(t.Context(), Streams{&out, &out}, strings.Fields(c.args)), c.code, out.String())
			assert.Assert(t, strings.Contains(out.String(), c.says), out.String())
		})
	}
}

// What is written loads again, to the same.
func TestWriteConfig(t *testing.T) {
	from := written(t, "policy.yaml", smallest+"maxNoOfPodsToEvictTotal: 3\ndeschedulingInterval: 5m\n")
	to := filepath.Join(t.TempDir(), "written.yaml")
	var out, again bytes.Buffer
	assert.Equal(t, Run(t.Context(), Streams{&out, io.Discard}, []string{"--policy-config-file", from, "--write-config-to", to, "--validate"}), exitDone)
	text, err := os.ReadFile(to)
	assert.NilError(t, err)
	assert.Equal(t, out.String(), string(text))
	assert.Assert(t, strings.Contains(out.String(), "maxNoOfPodsToEvictTotal: 3"))
	assert.Equal(t, Run(t.Context(), Streams{&again, io.Discard}, []string{"--policy-config-file", to, "--validate"}), exitDone)
	assert.Equal(t, again.String(), out.String())
}

// Of a flag and the policy file, the flag goes first.
func TestAdopt(t *testing.T) {
	s := new(settings)
	s.flags = pflag.NewFlagSet("", pflag.ContinueOnError)
	s.define(s.flags)
	assert.NilError(t, s.flags.Parse([]string{"--dry-run=false", "--client-connection-qps=7"}))
	warnings := s.adopt(&policy.Settings{
		Interval: new(time.Minute), DryRun: new(true),
		LeaderElection:   &policy.LeaderElection{LeaderElect: new(true), LeaseDuration: new(time.Hour), ResourceName: new("x"), ResourceNamespace: new("y")},
		ClientConnection: &policy.Client{QPS: new(float32(50)), Burst: new(9), ContentType: new("json")},
		HealthAddress:    new("0.0.0.0:10251"), MetricsAddress: new(":10252"), Profiling: new(true),
	})
	assert.Equal(t, s.interval, time.Minute)
	assert.Equal(t, s.dryRun, false)
	assert.Equal(t, s.leader, replica.Leading{Elect: true, Name: "x", Lease: time.Hour, Renew: 107 * time.Second, Wait: 26 * time.Second})
	assert.Equal(t, s.leaseIn, "y")
	assert.Equal(t, s.qps, float32(7))
	assert.Equal(t, s.burst, 9)
	assert.Equal(t, s.serve.port, 10252)
	assert.Equal(t, s.serve.address, "")
	assert.Equal(t, len(warnings), 3, "%v", warnings)
	assert.DeepEqual(t, s.adopt(&policy.Settings{HealthAddress: new("nowhere")}), []string{`address has no effect: it must be an address with a port such as 127.0.0.1:10258, or 0 for nowhere, not "nowhere"`})
	s.adopt(&policy.Settings{MetricsAddress: new("0")})
	assert.Equal(t, s.serve.port, 0)
}

func TestGates(t *testing.T) {
	var g gates
	assert.Assert(t, !g.enabled(inBackground))
	assert.NilError(t, g.Set("EvictionsInBackground=true,"))
	assert.Assert(t, g.enabled(inBackground) && !g.enabled("Other"))
	assert.Equal(t, g.String(), "EvictionsInBackground=true")
}

// fakeReport is the report of a cycle.
type fakeReport string

func (r fakeReport) Table(w io.Writer) error {
	_, err := io.WriteString(w, string(r))
	return err
}

func (r fakeReport) JSON(w io.Writer) error {
	_, err := io.WriteString(w, `"`+string(r)+`"`)
	return err
}

// fakeAnswers are what is overdue.
type fakeAnswers []string

func (fakeAnswers) Why(namespace, name string) descheduler.Answer {
	return descheduler.Answer{Pod: namespace + "/" + name}
}

func (f fakeAnswers) Troubles() []string { return f }

// fakeDescheduling notes what it is told.
type fakeDescheduling struct {
	run    func(context.Context) error
	reload func(*policy.Policy) error
}

func (f *fakeDescheduling) Run(ctx context.Context) error                    { return f.run(ctx) }
func (f *fakeDescheduling) Reload(_ context.Context, p *policy.Policy) error { return f.reload(p) }

// newProcess is one whose API server answers nothing.
func newProcess(t *testing.T, text string, build func(*parts) (descheduling, error)) (*settings, *process, *bytes.Buffer) {
	t.Helper()
	s, out := new(settings), new(bytes.Buffer)
	s.flags = pflag.NewFlagSet("", pflag.ContinueOnError)
	s.define(s.flags)
	s.serve.port, s.out = 0, out
	f := &file{name: written(t, "policy.yaml", text)}
	var err error
	f.registry, err = registry(nil)
	assert.NilError(t, err)
	_, err = f.changed()
	assert.NilError(t, err)
	p, err := f.loadOrTell(out)
	assert.NilError(t, err, out.String())
	out.Reset()
	return s, &process{
		settings: s, how: &rest.Config{Host: "http://127.0.0.1:1"}, file: f, policy: p, log: zap.NewNop(),
		build: func(_ context.Context, p *parts) (descheduling, error) { return build(p) },
	}, out
}

// A dry run prints the report of its cycle, in the form that is asked for.
func TestDryRunPrintsReport(t *testing.T) {
	for format, want := range map[string]string{"table": "evicted", "json": `"evicted"`} {
		s, r, out := newProcess(t, smallest, func(p *parts) (descheduling, error) {
			return &fakeDescheduling{run: func(context.Context) error {
				p.reported(fakeReport("evicted"))
				return nil
			}}, nil
		})
		s.dryRun, s.format = true, format
		assert.NilError(t, s.run(t.Context(), r))
		assert.Equal(t, out.String(), want)
	}
	broken := errors.New("broken")
	s, r, _ := newProcess(t, smallest, func(*parts) (descheduling, error) { return nil, broken })
	assert.ErrorIs(t, s.run(t.Context(), r), broken)
}

// While it works it is ready, answers questions, and takes a changed policy up.
func TestProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var used []*policy.Policy
		var given *parts
		s, r, _ := newProcess(t, smallest, func(p *parts) (descheduling, error) {
			given = p
			return &fakeDescheduling{
				run:    func(ctx context.Context) error { <-ctx.Done(); return nil },
				reload: func(p *policy.Policy) error { used = append(used, p); return nil },
			}, nil
		})
		s.interval = time.Minute
		ctx, stop := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { result <- s.run(ctx, r) }()
		synctest.Wait()
		get := func(path string) (int, string) {
			w := httptest.NewRecorder()
			r.page.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			return w.Code, w.Body.String()
		}
		for path, want := range map[string]int{"/healthz": 200, "/livez": 200, "/readyz": 200, "/report": 404, "/why/a/b": 503, "/": 404} {
			code, _ := get(path)
			assert.Equal(t, code, want, path)
		}
		given.reported(fakeReport("table"))
		given.answers(fakeAnswers{})
		for path, want := range map[string]string{"/report": "table", "/report?format=json": `"table"`, "/readyz": "ok\n"} {
			_, body := get(path)
			assert.Equal(t, body, want)
		}
		_, body := get("/why/a/b")
		assert.Equal(t, body, "{\n  \"pod\": \"a/b\"\n}\n")
		given.answers(fakeAnswers{"default/X has not answered for 5m0s", "landing has not answered for 10m0s"})
		r.page.failures.last = "12:00, GET /api/v1/pods: 403 Forbidden"
		code, body := get("/readyz")
		assert.Equal(t, code, 503)
		assert.Equal(t, body, "default/X has not answered for 5m0s\nlanding has not answered for 10m0s\n"+
			"last failure of the API server: 12:00, GET /api/v1/pods: 403 Forbidden\n")
		code, _ = get("/report?format=yaml")
		assert.Equal(t, code, 400)
		code, _ = get("/healthz")
		assert.Equal(t, code, 200, "a restart would call the plugin again")
		assert.NilError(t, os.WriteFile(r.file.name, []byte(smallest+"maxNoOfPodsToEvictTotal: 7\n"), 0o644))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Equal(t, len(used), 1)
		assert.Equal(t, *used[0].Limits.Total, 7)
		_, body = get("/metrics")
		assert.Assert(t, strings.Contains(body, `policy_reloads_total{result="success"} 1`), body)
		stop()
		assert.NilError(t, <-result)
		code, _ = get("/readyz")
		assert.Equal(t, code, 503)
	})
}

// A changed policy that is wrong, or of which a plugin cannot be built, leaves the old one in
// use. It is told once, in metrics and to what writes events.
func TestWrongPolicyIsNotUsed(t *testing.T) {
	f := &file{name: written(t, "policy.yaml", smallest)}
	var err error
	f.registry, err = registry(nil)
	assert.NilError(t, err)
	metrics := prometheus.NewRegistry()
	w := newFollower(f, zap.NewNop(), metrics)
	var told []string
	reloaded := 0
	w.refused = func(err error) { told = append(told, err.Error()) }
	w.reload = func(context.Context, *policy.Policy) error { reloaded++; return nil }
	w.look(t.Context())
	assert.Equal(t, reloaded, 1)
	w.look(t.Context())
	assert.Equal(t, reloaded, 1, "the same text")

	change := func(text string) {
		assert.NilError(t, os.WriteFile(f.name, []byte(text), 0o644))
		w.look(t.Context())
		w.look(t.Context())
	}
	change("a: [")
	assert.Equal(t, reloaded, 1)
	assert.DeepEqual(t, told, []string{"the policy has 1 error\n  line 1:1: not YAML: did not find expected node content"})
	assert.Equal(t, value(t, metrics, "descheduler_policy_usable"), 0.0)
	assert.Equal(t, value(t, metrics, "descheduler_policy_reloads_total"), 2.0)
	w.reload = func(context.Context, *policy.Policy) error { return errors.New("no such index") }
	change(smallest + "#\n")
	assert.Equal(t, told[1], "no such index")
	w.reload = func(context.Context, *policy.Policy) error { return nil }
	change(smallest)
	assert.Equal(t, len(told), 2)
	assert.Equal(t, value(t, metrics, "descheduler_policy_usable"), 1.0)
	assert.NilError(t, os.Remove(f.name))
	w.look(t.Context())
	assert.Equal(t, value(t, metrics, "descheduler_policy_usable"), 0.0)
	change(smallest) // the text that is in use is there again
	assert.Equal(t, len(told), 2)
	assert.Equal(t, value(t, metrics, "descheduler_policy_usable"), 1.0)
	change("#" + strings.Repeat("x", 10*policy.TextMax))
	assert.Equal(t, len(f.text), policy.TextMax+1, "no more is read of a file without an end")
	assert.ErrorContains(t, errors.New(told[2]), "the text has more than 1048576 bytes, which are the most")
	assert.NilError(t, os.Remove(f.name))
	change("#" + strings.Repeat("x", 10*policy.TextMax))
	assert.Equal(t, value(t, metrics, "descheduler_policy_usable"), 0.0)
}

// value is the sum of a metric.
func value(t *testing.T, from prometheus.Gatherer, name string) (sum float64) {
	t.Helper()
	families, err := from.Gather()
	assert.NilError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			for _, m := range family.GetMetric() {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// Spans are set up without a collector that answers; what is wrong is told, or passed over
// where the flags say so.
func TestTracing(t *testing.T) {
	wrong := written(t, "ca.pem", "no certificate")
	for _, c := range []struct {
		of   tracing
		says string
	}{
		{tracing{}, ""},
		{tracing{endpoint: "127.0.0.1:1", service: "x", namespace: "y"}, ""},
		{tracing{endpoint: "127.0.0.1:1", authority: wrong}, "has no certificate"},
		{tracing{endpoint: "127.0.0.1:1", authority: wrong + "x"}, "spans: otel-transport-ca-cert: open "},
		{tracing{endpoint: "127.0.0.1:1", authority: wrong, fallBack: true}, ""},
	} {
		spans, stop, err := c.of.start(t.Context(), zap.NewNop())
		if c.says != "" {
			assert.ErrorContains(t, err, c.says)
			continue
		}
		assert.NilError(t, err)
		_, span := spans.Tracer("test").Start(t.Context(), "cycle")
		assert.Equal(t, span.SpanContext().IsValid(), c.of.endpoint != "" && !c.of.fallBack)
		assert.NilError(t, stop(t.Context()))
	}
}

// A program with a plugin of its own is one line, and its policies may name the plugin.
func TestPluginsOfOthers(t *testing.T) {
	var out bytes.Buffer
	assert.Equal(t, Run(t.Context(), Streams{&out, &out}, []string{"plugins", example.Name}, example.Definition()), exitDone)
	assert.Equal(t, out.String(), "RemovePodsPastDate, at deschedule\nannotation: example.org/remove-after\nnamespaces\n")
	out.Reset()
	assert.Equal(t, Run(t.Context(), Streams{&out, &out}, []string{"plugins"}, example.Definition(), example.Definition()), exitFailed)
	assert.Assert(t, strings.Contains(out.String(), `"RemovePodsPastDate" is registered twice`), out.String())
}
