package policy

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// samePolicy compares policies: selectors by what they select.
var samePolicy = cmp.Options{
	cmp.Comparer(func(a, b labels.Selector) bool { return a.String() == b.String() }),
	cmp.AllowUnexported(evictorArgs{}),
}

// reloads prints a policy, loads the text, and compares.
func reloads(t *testing.T, p *Policy) {
	t.Helper()
	text := Print(p, testRegistry(t), Options{Defaults: testDefaults})
	again, _, err := Load(text, testRegistry(t), Options{Defaults: testDefaults})
	assert.NilError(t, err, "%s", text)
	assert.Equal(t, cmp.Diff(p, again, samePolicy), "", "%s", text)
	assert.Equal(t, string(Print(again, testRegistry(t), Options{Defaults: testDefaults})), string(text))
}

// The completed policy says what was left out.
func TestPrint(t *testing.T) {
	p, _ := load(t, header+`
profiles:
- pluginConfig: [{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 1, states: ["on", "1"]}}]
  plugins: {deschedule: {enabled: [PodLifeTime]}, evict: {enabled: [Delete]}, sort: {disabled: ["*"]}}
`)
	assert.Equal(t, string(Print(p, testRegistry(t), Options{Defaults: testDefaults})), `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
limits:
  coolDown:
    initial: 10m0s
    max: 2h0m0s
evictionFailureEventNotification: false
profiles:
  - name: default
    pluginConfig:
      - name: PodLifeTime
        args:
          maxPodLifeTimeSeconds: 1
          states:
            - "on"
            - "1"
      - name: DefaultEvictor
        args:
          minReplicas: 0
          share: 10%
          factor: 0
    plugins:
      sort:
        disabled: ['*']
      deschedule:
        enabled: [PodLifeTime]
      filter:
        enabled: [DefaultEvictor]
      preevictionfilter:
        enabled: [DefaultEvictor]
      evict:
        enabled: [Delete]
        disabled: ['*']
`)
	reloads(t, p)
}

// D-TYP-2, D-TYP-3: what was loaded, printed and loaded again is the same, for both kinds.
func TestPrintedPolicyLoadsAgain(t *testing.T) {
	p, _ := load(t, upstream)
	reloads(t, p)
	p, _ = load(t, configurationHeader+`
leaderElection: {leaderElect: false, leaseDuration: 15s, renewDeadline: 0s, retryPeriod: 1s, resourceLock: leases, resourceName: "", resourceNamespace: y}
clientConnection: {kubeconfig: a, contentType: "1", qps: 0.5, burst: 100}
healthzBindAddress: 0.0.0.0:10251
metricsBindAddress: ""
enableContentionProfiling: false
deschedulingInterval: 10s
nodeSelector: {matchExpressions: [{key: pool, operator: NotIn, values: [a, b]}, {key: x, operator: DoesNotExist}]}
profiles:
- nodeSelector: {matchLabels: {zone: x}}
  plugins: {filter: {disabled: [{name: "*"}]}}
`)
	reloads(t, p)
}

// TestRandomPoliciesLoadAgain is the same for policies of chance.
func TestRandomPoliciesLoadAgain(t *testing.T) {
	for seed := range uint64(200) {
		reloads(t, randomPolicy(t, rand.New(rand.NewPCG(seed, 1))))
	}
}

func maybe[T any](r *rand.Rand, value T) *T {
	if r.IntN(2) == 0 {
		return nil
	}
	return &value
}

// words are texts that YAML would read as something else, besides plain ones.
var words = []string{"a", "b", "", "true", "1", "~", "null", "*", "x: y", " x", "é\n", "0x1", "2024-01-01", "- a", "#", "no", "<<", "1e3"}

func word(r *rand.Rand) string { return words[r.IntN(len(words))] }

func texts(r *rand.Rand) []string {
	list := make([]string, r.IntN(3))
	for i := range list {
		list[i] = word(r)
	}
	if len(list) == 0 && r.IntN(2) == 0 {
		return nil
	}
	return list
}

func randomSelector(r *rand.Rand) labels.Selector {
	all := []string{"", "a=b", "a in (b,c),d", "!a", "a!=b", "a notin (b)", "a>3"}
	selector, err := labels.Parse(all[r.IntN(len(all))])
	if err != nil {
		panic(err)
	}
	return selector
}

func randomPolicy(t *testing.T, r *rand.Rand) *Policy {
	p := &Policy{
		NodeSelector: randomSelector(r), GracePeriodSeconds: maybe(r, int64(r.IntN(3))), FailureEvents: r.IntN(2) == 0,
		NodeOrder: []framework.NodeOrder{"", framework.LeastAllocated, framework.MostAllocated}[r.IntN(3)],
		Limits: Limits{
			PerNode: maybe(r, r.IntN(3)), PerNamespace: maybe(r, r.IntN(3)), PerWorkload: maybe(r, r.IntN(3)), Total: maybe(r, r.IntN(3)),
			InFlight: InFlight{maybe(r, r.IntN(3)), maybe(r, r.IntN(3)), maybe(r, r.IntN(3)), maybe(r, r.IntN(3))},
		},
		Settings: Settings{
			Interval: maybe(r, time.Duration(r.IntN(1e9))), DryRun: maybe(r, r.IntN(2) == 0), HealthAddress: maybe(r, []string{"", "0", ":1", "[::1]:65535", "x.y:10251"}[r.IntN(5)]),
			LeaderElection:   maybe(r, LeaderElection{ResourceName: maybe(r, word(r)), RetryPeriod: maybe(r, time.Millisecond+time.Duration(r.Int64N(1e15)))}),
			ClientConnection: maybe(r, Client{QPS: maybe(r, r.Float32()), Burst: maybe(r, r.IntN(9))}),
		},
	}
	if r.IntN(2) == 0 {
		p.Limits.WorkloadRate = Rate{1 + r.IntN(3), 1 + time.Duration(r.IntN(1e9))}
		p.Limits.CoolDown.Initial = 1 + time.Duration(r.IntN(1e9))
		p.Limits.CoolDown.Max = p.Limits.CoolDown.Initial + time.Duration(r.IntN(1e9))
	}
	if r.IntN(2) == 0 {
		p.Metrics = []MetricsProvider{{Source: Prometheus, URL: "http://x:1/#?", SecretNamespace: "true", SecretName: "1"}, {Source: KubernetesMetrics}}
	}
	for i := range r.IntN(4) {
		p.Profiles = append(p.Profiles, randomProfile(t, r, string(rune('0'+i))))
	}
	return p
}

func randomProfile(t *testing.T, r *rand.Rand, name string) Profile {
	p := Profile{
		Name: name, NodeSelector: randomSelector(r), Plugins: map[framework.Point][]string{}, Args: map[string]any{}, Limit: map[string]int{},
	}
	registry := testRegistry(t)
	for _, point := range framework.Points() {
		var list []string
		for _, name := range registry.Names() {
			if d, _ := registry.Find(name); d.Works(point) && r.IntN(2) == 0 && (!single(point) || len(list) == 0) {
				list = append(list, name)
			}
		}
		r.Shuffle(len(list), reflect.Swapper(list))
		if point == framework.Evict && len(list) == 0 {
			list = []string{"Delete"}
		}
		if len(list) > 0 {
			p.Plugins[point] = list
		}
	}
	for _, name := range p.Enabled() {
		p.Args[name] = randomArgs(r, name)
		if r.IntN(2) == 0 {
			p.Limit[name] = r.IntN(3)
		}
	}
	return p
}

func randomArgs(r *rand.Rand, name string) any {
	switch name {
	case "DefaultEvictor":
		quantities := []string{"1", "1500m", "1.5Gi", "0", "1e3"}
		return &evictorArgs{
			MinReplicas: uint(r.IntN(3)), MinPodAge: maybe(r, metav1.Duration{Duration: time.Duration(r.IntN(3e9))}), hidden: 1,
			Room: maybe(r, resource.MustParse(quantities[r.IntN(len(quantities))])), Share: intstr.FromInt32(r.Int32N(9)), Factor: int8(r.IntN(256) - 128),
			Extra: map[string]any{word(r): word(r), "list": []any{word(r), true, nil, map[string]any{"x": "1", "y": nil}}},
			Rows:  []anomaly{{}, {Consecutive: r.Uint32()}},
		}
	case "PodLifeTime":
		return &lifeTimeArgs{
			MaxPodLifeTimeSeconds: new(uint(r.IntN(9))), States: texts(r), Namespaces: maybe(r, namespaces{Include: texts(r)}),
			LabelSelector: maybe(r, metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: word(r), Values: texts(r)}}}),
		}
	case "LowNodeUtilization":
		return &utilizationArgs{
			TypeMeta:   metav1.TypeMeta{Kind: word(r)},
			Thresholds: map[v1.ResourceName]float64{"cpu": r.Float64() * 1e21, "memory": float64(r.IntN(100))}, NodeFit: r.IntN(2) == 0,
			Anomaly: anomaly{Timeout: maybe(r, metav1.Duration{}), Consecutive: r.Uint32()},
			Weights: map[v1.ResourceName]int64{v1.ResourceName(word(r)): r.Int64() - r.Int64()},
		}
	}
	return nil
}

// Arguments are those of the Go type, with defaults in one line.
func TestArguments(t *testing.T) {
	registry := testRegistry(t)
	find := func(name string) []Argument {
		d, ok := registry.Find(name)
		assert.Assert(t, ok)
		return Arguments(d)
	}
	assert.DeepEqual(t, find("LowNodeUtilization"), []Argument{
		{"thresholds", ""},
		{"numberOfNodes", "0"},
		{"nodeFit", "true"},
		{"anomalyCondition", "{consecutiveAbnormalities: 5}"},
		{"resourceWeights", "{cpu: 1, memory: 1}"},
	})
	assert.Equal(t, len(find("DefaultEvictor")), 7)
	assert.Equal(t, len(find("Both")), 0)
}

// FuzzLoad feeds Load with anything. It never panics, says in which line each problem is, and
// gives policies that, printed, load as the same.
func FuzzLoad(f *testing.F) {
	f.Add(upstream, false)
	f.Add(header+"profiles: [{name: a, plugins: {filter: {disabled: ['*']}}}]", true)
	f.Add(configurationHeader+"deschedulingInterval: 10s\nprofiles: [{nodeSelector: {matchLabels: {a: b}}}]", false)
	f.Add(header+"x: &x {a: 1}\nlimits: {<<: *x, inFlight: {perNode: 1}, coolDown: {initial: 0s}}", true)
	f.Add(`{"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "dryRun": true}`, false)
	f.Add(header+"profiles: []", false)
	registry := testRegistry(f)
	f.Fuzz(func(t *testing.T, text string, lenient bool) {
		p, warnings, err := Load([]byte(text), registry, Options{Defaults: testDefaults, Lenient: lenient})
		lines := strings.Count(text, "\n") + strings.Count(text, "\r") + strings.Count(text, "\u0085") +
			strings.Count(text, "\u2028") + strings.Count(text, "\u2029") + 1
		for _, w := range warnings {
			assert.Assert(t, w.Line >= 1 && w.Line <= lines && w.Column >= 1, "%s", w)
		}
		if err == nil {
			reloads(t, p)
			return
		}
		problems, ok := errors.AsType[Problems](err)
		assert.Assert(t, ok && len(problems) > 0)
		last := 1
		for _, one := range problems {
			assert.Assert(t, one.Message != "" && one.Line >= last && one.Line <= lines && one.Column >= 1, "%d lines, %s", lines, one)
			last = one.Line
		}
	})
}
