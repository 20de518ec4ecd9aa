package policy

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

const upstream = header + `
nodeSelector: "pool=general"
maxNoOfPodsToEvictPerNode: 5
maxNoOfPodsToEvictPerNamespace: 50
maxNoOfPodsToEvictTotal: 100
evictionFailureEventNotification: true
gracePeriodSeconds: 60
metricsProviders:
- source: KubernetesMetrics
- source: Prometheus
  prometheus:
    url: https://prometheus:9090
    authToken: {secretReference: {namespace: kube-system, name: token}}
profiles:
- name: main
  pluginConfig:
  - name: DefaultEvictor
    args:
      apiVersion: descheduler/v1alpha2
      kind: DefaultEvictorArgs
      minReplicas: 2
      minPodAge: 10m
      room: 1000m
  - name: PodLifeTime
    args: {maxPodLifeTimeSeconds: 86400, namespaces: {include: [batch]}, labelSelector: {matchLabels: {app: x}}}
  - name: LowNodeUtilization
    args:
      thresholds: {cpu: 20, memory: 20.5}
      nodeFit: false
      anomalyCondition: {timeout: 2m}
      resourceWeights: {cpu: 3}
  plugins:
    deschedule: {enabled: [PodLifeTime]}
    balance: {enabled: [LowNodeUtilization, Both]}
- name: second
  plugins:
    deschedule: {enabled: [{name: Both}]}
    evict: {enabled: [Delete]}
`

// D-CFG-1, D-CFG-12, D-CFG-14, D-TYP-1: a policy of the descheduler of Kubernetes gives the
// internal form, with defaults of plugins kept where the text says nothing.
func TestLoadsDeschedulerPolicy(t *testing.T) {
	p, warnings := load(t, upstream)
	assert.Equal(t, len(warnings), 0, "%v", warnings)
	assert.Equal(t, p.NodeSelector.String(), "pool=general")
	assert.Equal(t, *p.Limits.PerNode, 5)
	assert.Equal(t, *p.Limits.PerNamespace, 50)
	assert.Equal(t, *p.Limits.Total, 100)
	assert.Assert(t, p.Limits.PerWorkload == nil && p.FailureEvents)
	assert.Equal(t, p.Limits.CoolDown, CoolDown{DefaultCoolDown, DefaultCoolDownMax})
	assert.Equal(t, *p.GracePeriodSeconds, int64(60))
	assert.DeepEqual(t, p.Metrics, []MetricsProvider{
		{Source: KubernetesMetrics},
		{Source: Prometheus, URL: "https://prometheus:9090", SecretNamespace: "kube-system", SecretName: "token"},
	})
	assert.Equal(t, len(p.Profiles), 2)
	main := p.Profiles[0]
	assert.DeepEqual(t, main.Plugins, map[framework.Point][]string{
		"sort": {"PrioritySort"}, "deschedule": {"PodLifeTime"}, "balance": {"LowNodeUtilization", "Both"},
		"filter": {"DefaultEvictor"}, "preevictionfilter": {"DefaultEvictor"}, "evict": {"Eviction"},
	})
	assert.DeepEqual(t, main.Enabled(), []string{"PrioritySort", "PodLifeTime", "LowNodeUtilization", "Both", "DefaultEvictor", "Eviction"})
	evictor := main.Args["DefaultEvictor"].(*evictorArgs)
	assert.Equal(t, evictor.MinReplicas, uint(2))
	assert.Equal(t, evictor.MinPodAge.Duration, 10*time.Minute)
	assert.Equal(t, evictor.Room.String(), "1")
	assert.Equal(t, evictor.Share.StrVal, "10%")
	low := main.Args["LowNodeUtilization"].(*utilizationArgs)
	assert.Equal(t, low.Thresholds["memory"], 20.5)
	assert.Equal(t, low.NodeFit, false)
	assert.DeepEqual(t, low.Anomaly, anomaly{Timeout: &metav1.Duration{Duration: 2 * time.Minute}, Consecutive: 5})
	assert.Equal(t, len(low.Weights), 1, "a map is replaced as a whole")
	both, ok := main.Args["Both"]
	assert.Assert(t, ok && both == nil)
	assert.DeepEqual(t, p.Profiles[1].Plugins[framework.Evict], []string{"Delete"})
	assert.Equal(t, p.Profiles[1].Args["DefaultEvictor"].(*evictorArgs).MinReplicas, uint(0))
}

// D-K-CFG-1, D-K-CFG-3: a configuration of Koordinator gives the same form. Its filter is both
// filters, its selectors are objects, and it has settings of the process.
func TestLoadsDeschedulerConfiguration(t *testing.T) {
	p, warnings := load(t, configurationHeader+`
leaderElection: {leaderElect: true, leaseDuration: 15s, resourceName: koord-descheduler, resourceNamespace: koordinator-system}
clientConnection: {qps: 50, burst: 100}
healthzBindAddress: 0.0.0.0:10251
enableProfiling: true
deschedulingInterval: 10s
dryRun: true
nodeSelector: {matchExpressions: [{key: pool, operator: In, values: [a, b]}]}
maxNoOfPodsToEvictTotal: 3
profiles:
- nodeSelector: {matchLabels: {zone: x}}
  pluginConfig:
  - name: DefaultEvictor
    args: {minReplicas: 3}
  plugins:
    balance: {enabled: [{name: LowNodeUtilization}]}
    evict: {disabled: [{name: "*"}], enabled: [{name: Delete}]}
    filter: {disabled: [{name: "*"}], enabled: [{name: DefaultEvictor}]}
`)
	assert.Equal(t, len(warnings), 0, "%v", warnings)
	assert.Equal(t, p.NodeSelector.String(), "pool in (a,b)")
	assert.Equal(t, *p.Settings.Interval, 10*time.Second)
	assert.Equal(t, *p.Settings.DryRun, true)
	assert.Equal(t, *p.Settings.LeaderElection.LeaseDuration, 15*time.Second)
	assert.Equal(t, *p.Settings.ClientConnection.QPS, float32(50))
	assert.Assert(t, p.Settings.MetricsAddress == nil)
	profile := p.Profiles[0]
	assert.Equal(t, profile.Name, "koord-descheduler")
	assert.Equal(t, profile.NodeSelector.String(), "zone=x")
	assert.DeepEqual(t, profile.Plugins, map[framework.Point][]string{
		"sort": {"PrioritySort"}, "balance": {"LowNodeUtilization"}, "evict": {"Delete"},
		"filter": {"DefaultEvictor"}, "preevictionfilter": {"DefaultEvictor"},
	})
	p, _, err := Load([]byte(configurationHeader+"profiles: [{plugins: {}}]"), testRegistry(t), Options{
		Defaults:              testDefaults,
		ConfigurationDefaults: map[framework.Point][]string{framework.Evict: {"Delete"}},
	})
	assert.NilError(t, err)
	assert.DeepEqual(t, p.Profiles[0].Plugins, map[framework.Point][]string{"evict": {"Delete"}})
	_, warnings, err = Load([]byte(configurationHeader+"profiles: [{plugins: {filter: {disabled: ['*'], enabled: [DefaultEvictor]}}}]"), testRegistry(t), Options{
		Defaults:              testDefaults,
		ConfigurationDefaults: map[framework.Point][]string{framework.Filter: {"OtherFilter"}, framework.Evict: {"Delete"}},
	})
	assert.NilError(t, err)
	assert.Equal(t, len(warnings), 0, "a filter that is a default of the other kind protects too: %v", warnings)
}

// One point of Koordinator is two here: a plugin enabled at filter is at preevictionfilter too, if it
// works there, and what is written for preevictionfilter goes before.
func TestFilterIsTwoPoints(t *testing.T) {
	for _, c := range []struct {
		plugins string
		want    []string
	}{
		{"filter: {disabled: ['*'], enabled: [DefaultEvictor]}", []string{"DefaultEvictor"}},
		{"filter: {disabled: ['*'], enabled: [OnlyFilter]}", nil},
		{"filter: {disabled: ['*'], enabled: [DefaultEvictor]}, preevictionfilter: {disabled: ['*']}", nil},
	} {
		r := testRegistry(t)
		assert.NilError(t, r.Register(framework.Definition{
			Name: "OnlyFilter", Points: []framework.Point{framework.Filter},
			New: func(context.Context, any, framework.Handle) (framework.Plugin, error) { return nil, nil },
		}))
		p, _, err := Load([]byte(configurationHeader+"profiles: [{plugins: {"+c.plugins+"}}]"), r, Options{
			Defaults:              testDefaults,
			ConfigurationDefaults: map[framework.Point][]string{framework.Filter: {"DefaultEvictor"}, framework.PreEvictionFilter: {"DefaultEvictor"}, framework.Evict: {"Delete"}},
		})
		assert.NilError(t, err)
		assert.DeepEqual(t, p.Profiles[0].Plugins[framework.PreEvictionFilter], c.want)
	}
}

// D-CFG-6 in the way it is meant: disabled switches defaults off, by name or all.
func TestDisabled(t *testing.T) {
	for _, c := range []struct {
		plugins, point string
		want           []string
		warns          string
	}{
		{"filter: {disabled: ['*']}", "filter", nil, "plugins.filter: DefaultEvictor is switched off"},
		{"filter: {disabled: [DefaultEvictor]}", "filter", nil, "plugins.filter: DefaultEvictor is switched off"},
		{"filter: {disabled: [DefaultEvictor], enabled: [DefaultEvictor]}", "filter", []string{"DefaultEvictor"}, ""},
		{"filter: {disabled: ['*']}", "preevictionfilter", []string{"DefaultEvictor"}, "is switched off"},
		{"preEvictionFilter: {disabled: ['*']}", "preevictionfilter", nil, ""},
		{"preevictionfilter: {disabled: [{name: '*'}]}", "preevictionfilter", nil, ""},
		{"sort: {disabled: ['*']}", "sort", nil, ""},
		{"sort: {enabled: [AgeSort]}", "sort", []string{"AgeSort"}, ""},
		{"balance: {disabled: ['*'], enabled: [Both]}", "balance", []string{"Both"}, ""},
		{"balance: {disabled: [Both]}", "balance", nil, "Both is no default of balance, so this has no effect"},
		{"evict: {disabled: [Eviction], enabled: [Delete]}", "evict", []string{"Delete"}, ""},
		{"evict: {enabled: [Delete]}", "evict", []string{"Delete"}, ""},
		{"evict: {enabled: [Moving]}", "controller", []string{"Moving"}, ""},
		{"evict: {enabled: [Moving]}, controller: {enabled: [Watching]}", "controller", []string{"Moving", "Watching"}, ""},
		{"evict: {enabled: [Moving]}, controller: {disabled: [Moving]}", "controller", nil, ""},
		{"evict: {enabled: [Eviction]}", "evict", []string{"Eviction"}, ""},
	} {
		p, warnings := load(t, header+"profiles: [{name: a, plugins: {"+c.plugins+"}}]")
		assert.DeepEqual(t, p.Profiles[0].Plugins[framework.Point(c.point)], c.want)
		text := fmt.Sprint(warnings)
		assert.Assert(t, c.warns == "" && len(warnings) == 0 || c.warns != "" && strings.Contains(text, c.warns), "%s: %s", c.plugins, text)
	}
}

// The rule of Koordinator: a default that is enabled again keeps its place, the rest follows.
func TestMerged(t *testing.T) {
	defaults := []string{"a", "b"}
	assert.DeepEqual(t, merged(defaults, nil, []string{"c", "b"}), []string{"a", "b", "c"})
	assert.DeepEqual(t, merged(defaults, []string{"a"}, []string{"c", "a"}), []string{"b", "c", "a"})
	assert.DeepEqual(t, merged(defaults, []string{"*"}, []string{"b"}), []string{"b"})
}

func TestOwnLimits(t *testing.T) {
	p, _ := load(t, header+`
maxNoOfPodsToEvictPerWorkload: 1
limits:
  inFlight: {perNode: 2, perNamespace: 3, perWorkload: 0, total: 20}
  workloadRate: {max: 4, window: 5m}
  coolDown: {initial: 1m, max: 1h}
profiles:
- pluginConfig: [{name: PodLifeTime, maxNoOfPodsToEvict: 7, args: {states: [Running]}}]
  plugins: {deschedule: {enabled: [PodLifeTime]}}
`)
	assert.Equal(t, *p.Limits.PerWorkload, 1)
	assert.Equal(t, *p.Limits.InFlight.PerNode, 2)
	assert.Equal(t, *p.Limits.InFlight.PerNamespace, 3)
	assert.Equal(t, *p.Limits.InFlight.PerWorkload, 0)
	assert.Equal(t, *p.Limits.InFlight.Total, 20)
	assert.Equal(t, p.Limits.WorkloadRate, Rate{4, 5 * time.Minute})
	assert.Equal(t, p.Limits.CoolDown, CoolDown{time.Minute, time.Hour})
	assert.Equal(t, p.Profiles[0].Name, "default")
	assert.DeepEqual(t, p.Profiles[0].Limit, map[string]int{"PodLifeTime": 7})
	for text, want := range map[string]CoolDown{
		"{initial: 0s}":          {},
		"{initial: 1h}":          {time.Hour, 2 * time.Hour},
		"{initial: 3h}":          {3 * time.Hour, 3 * time.Hour},
		"{max: 1h}":              {10 * time.Minute, time.Hour},
		"{initial: 0s, max: 0s}": {},
	} {
		p, _ = load(t, header+"limits: {coolDown: "+text+"}")
		assert.Equal(t, p.Limits.CoolDown, want, text)
	}
}

// JSON is read too, also with tabs, and a problem in it has its place.
func TestLoadsJSON(t *testing.T) {
	text := "\t{\n\t\"apiVersion\": \"descheduler/v1alpha2\",\n\t\"kind\"\t:\t\"DeschedulerPolicy\"\t,\t\n\t\"profiles\": [\n\t\t{\"name\": \"a\"}\n\t]\n}\n"
	p, _ := load(t, text)
	assert.Equal(t, p.Profiles[0].Name, "a")
	_, _, err := Load([]byte(strings.Replace(text, `"name"`, `"nam"`, 1)), testRegistry(t), Options{Defaults: testDefaults})
	assert.Error(t, err, "the policy has 1 error\n  line 5:4: profiles[0].nam: unknown key, did you mean name?")
}

// With Lenient an unknown key is a warning, except in arguments of plugins.
func TestLenient(t *testing.T) {
	text := header + `maxNoOfPodsToEvict: 3
profiles:
- name: a
  plugin: {}
  pluginConfig: [{name: PodLifeTime, args: {states: [Running]}, limit: 1}]
  plugins: {deschedul: {enabled: [PodLifeTime]}, deschedule: {enabled: [PodLifeTime]}}
`
	_, _, err := Load([]byte(text), testRegistry(t), Options{Defaults: testDefaults})
	assert.ErrorContains(t, err, "has 4 errors")
	_, warnings, err := Load([]byte(text), testRegistry(t), Options{Defaults: testDefaults, Lenient: true})
	assert.NilError(t, err)
	assert.Equal(t, len(warnings), 4)
	want := "p.yaml:3:1: maxNoOfPodsToEvict: unknown key, known here: apiVersion, kind, profiles, "
	assert.Assert(t, strings.HasPrefix(warnings[0].Format("p.yaml"), want), warnings[0].Format("p.yaml"))
	_, _, err = Load([]byte(strings.Replace(text, "states", "state", 1)), testRegistry(t), Options{Defaults: testDefaults, Lenient: true})
	assert.ErrorContains(t, err, "line 7:45: profiles[0].pluginConfig[0].args.state: unknown key, did you mean states?")
}
