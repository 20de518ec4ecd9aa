package policy

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// refused loads a text that is wrong, and returns all that is said of it.
func refused(t *testing.T, text string) Problems {
	t.Helper()
	_, _, err := Load([]byte(text), testRegistry(t), Options{Defaults: testDefaults})
	problems, ok := errors.AsType[Problems](err)
	assert.Assert(t, ok, "%s: %v", text, err)
	return problems
}

// All errors come at once, each with its place. D-CFG-2, D-CFG-3, D-CFG-9, D-CFG-10, D-CFG-11.
func TestAllProblemsAtOnce(t *testing.T) {
	err := refused(t, header+`maxNoOfPodsToEvictPerNod: 5
maxNoOfPodsToEvictTotal: -1
nodeSelector: "a in"
profiles:
- name: a
  pluginConfig:
  - name: PodLifeTime
    args: {maxPodLifeTimeSecond: 1, states: Running}
  - name: podLifeTimes
  - name: LowNodeUtilization
    args: {thresholds: {cpu: much}}
  - name: LowNodeUtilization
  plugins:
    balance:
      enabled: [PodLifeTime, LowNodeUtilisation]
    evict: {enabled: [Delete, Eviction]}
- name: a
`)
	assert.Equal(t, err.Error(), `the policy has 12 errors
  line 3:1: maxNoOfPodsToEvictPerNod: unknown key, did you mean maxNoOfPodsToEvictPerNode?
  line 4:26: maxNoOfPodsToEvictTotal: must be at least 0, not -1
  line 5:15: nodeSelector: is no label selector, such as pool=general,zone in (a,b): unable to parse requirement: found '' expected: '('
  line 10:12: profiles[0].pluginConfig[0].args.maxPodLifeTimeSecond: unknown key, did you mean maxPodLifeTimeSeconds?
  line 10:45: profiles[0].pluginConfig[0].args.states: must be a list, not "Running"; write [Running]
  line 11:11: profiles[0].pluginConfig[1].name: there is no plugin podLifeTimes, did you mean PodLifeTime?
  line 13:30: profiles[0].pluginConfig[2].args.thresholds.cpu: must be a number such as 1.5, not "much"
  line 14:11: profiles[0].pluginConfig[3].name: arguments of LowNodeUtilization are in line 12 already
  line 17:17: profiles[0].plugins.balance.enabled[0]: PodLifeTime does not work at balance, but at deschedule
  line 17:30: profiles[0].plugins.balance.enabled[1]: there is no plugin LowNodeUtilisation, did you mean LowNodeUtilization?
  line 18:12: profiles[0].plugins.evict: 2 plugins are enabled at evict, where one can be: Delete, Eviction
  line 19:9: profiles[1].name: a profile with this name is in line 7 already`)
}

// Each mistake is told in words, where it stands.
func TestProblems(t *testing.T) {
	profile := func(text string) string { return header + "profiles: [{" + text + "}]" }
	evictor := func(args string) string {
		return profile("pluginConfig: [{name: DefaultEvictor, args: {" + args + "}}]")
	}
	for _, c := range []struct{ text, want string }{
		{"", "line 1:1: the text has nothing but blanks and comments; a policy begins with apiVersion: descheduler/v1alpha2"},
		{"a: [", "line 1:1: not YAML: "},
		{header + "profiles:\n\t- name: a", "line 4:1: not YAML: found character that cannot start any token; the line begins with a tab, and YAML wants blanks"},
		{profile("plugins: {sort: {enabled: [AgeSort]}}, pluginConfig: [{name: AgeSort, args: {x: 1}}]"), "args.x: unknown key; none is known here"},
		{"- a", "line 1:1: must be a policy with apiVersion: descheduler/v1alpha2 and kind: DeschedulerPolicy, not a list"},
		{"kind: DeschedulerPolicy", "line 1:1: apiVersion is missing"},
		{"apiVersion: descheduler/v1alpha2", "line 1:1: kind is missing"},
		{"apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy", `line 1:13: apiVersion: "descheduler/v1alpha1" cannot be read; write descheduler/v1alpha2`},
		{"apiVersion: descheduler/v1alpha2\nkind: Policy", `line 2:7: kind: "Policy" is no kind of policies; write DeschedulerPolicy or DeschedulerConfiguration`},
		{header + "---\na: 1", "line 3:1: a second YAML document"},
		{header + "dryRun: 3", `line 3:9: dryRun: must be true or false, not 3`},
		{header + "dryRun: true\ndryRun: false", "line 4:1: dryRun: given twice, first in line 3"},
		{header + "deschedulingInterval: 5", "line 3:23: deschedulingInterval: must be a duration such as 90s, 5m or 1h30m, not 5, which has no unit"},
		{header + "nodeSelector: {matchLabel: {}}", "nodeSelector.matchLabel: unknown key, did you mean matchLabels?"},
		{header + "nodeSelector: {matchExpressions: [{key: a, operator: Is}]}", `nodeSelector: is no label selector: "Is" is not a valid label selector operator`},
		{header + "profiles: {}", "line 3:11: profiles: must be a list, not a mapping"},
		{header + "profiles: [{}, {name: b}]", "profiles[0]: a profile of several needs a name"},
		{header + "metricsProviders: [{}]", "metricsProviders[0]: source is missing: KubernetesMetrics or Prometheus"},
		{header + "metricsProviders: [{source: prometheus}]", `metricsProviders[0].source: "prometheus" is no source of measured use, did you mean Prometheus?`},
		{header + "metricsProviders: [{source: Prometheus}]", "metricsProviders[0]: prometheus is missing: {url: "},
		{header + "metricsProviders: [{source: KubernetesMetrics}, {source: KubernetesMetrics}]", "metricsProviders[1].source: KubernetesMetrics is there twice"},
		{header + "metricsProviders: [{source: KubernetesMetrics, prometheus: {url: 'http://x'}}]", "does not go with the source KubernetesMetrics"},
		{header + "metricsProviders: [{source: Prometheus, prometheus: {}}]", "prometheus: url is missing"},
		{header + "metricsProviders: [{source: Prometheus, prometheus: {url: 'x:y z'}}]", "prometheus.url: "},
		{header + "metricsProviders: [{source: Prometheus, prometheus: {url: 'http://x', authToken: {}}}]", "authToken: secretReference is missing"},
		{header + "metricsProviders: [{source: Prometheus, prometheus: {url: 'http://x', authToken: {secretReference: {name: a}}}}]", "secretReference: namespace is missing"},
		{header + "metricsCollector: {enabled: true}\nmetricsProviders: [{source: KubernetesMetrics}]", "line 3:1: metricsCollector: asks for KubernetesMetrics, which metricsProviders does too"},
		{header + "limits: {inFlight: {perPod: 1}}", "limits.inFlight.perPod: unknown key"},
		{header + "limits: {workloadRate: {max: 3}}", "limits.workloadRate: window is missing"},
		{header + "limits: {workloadRate: {window: 3m}}", "limits.workloadRate: max is missing"},
		{header + "limits: {coolDown: {initial: 1h, max: 1m}}", "limits.coolDown: max is 1m0s, less than initial, 1h0m0s"},
		{header + "limits: {coolDown: {initial: -1h}}", "limits.coolDown.initial: must be at least 0s, not -1h0m0s"},
		{profile("plugins: {evict: {disabled: ['*']}}"), "profiles[0].plugins.evict: no plugin is enabled at evict, where one must be; Delete or Eviction or Moving can"},
		{profile("plugins: {sort: {enabled: [PrioritySort, AgeSort]}}"), "profiles[0].plugins.sort: 2 plugins are enabled at sort, where one can be: PrioritySort, AgeSort"},
		{profile("plugins: {preEvictionFilter: {}, preevictionfilter: {}}"), "profiles[0].plugins.preevictionfilter: is preevictionfilter, which is in line 3 already"},
		{profile("plugins: {balance: {enabled: [Both, Both]}}"), "profiles[0].plugins.balance.enabled[1]: Both is in line 3 already"},
		{profile("plugins: {balance: {enabled: [{}]}}"), "balance.enabled[0]: name is missing"},
		{profile("plugins: {balance: {enabled: [7]}}"), "balance.enabled[0]: must be a text, not 7; write it in quotes"},
		{profile("plugins: {balance: {enabled: ['']}}"), "balance.enabled[0]: must be the name of a plugin"},
		{profile("plugins: {balance: {disabled: [None]}}"), "balance.disabled[0]: there is no plugin None"},
		{profile("plugins: {deschedule: {enabled: [PodLifeTime]}}"), "deschedule.enabled[0]: PodLifeTime needs arguments in pluginConfig: one of maxPodLifeTimeSeconds and states has to be given"},
		{profile("pluginConfig: [{args: {}}]"), "pluginConfig[0]: name is missing"},
		{profile("pluginConfig: [{name: Both, args: {a: 1}}]"), "pluginConfig[0].args.a: unknown key"},
		{profile("pluginConfig: [{name: PodLifeTime, args: {states: [a], namespaces: {include: [a], exclude: [b]}}}], plugins: {deschedule: {enabled: [PodLifeTime]}}"), "line 3:104: profiles[0].pluginConfig[0].args.namespaces.exclude: does not go with include"},
		{evictor("minReplicas: -1"), `args.minReplicas: must be at least 0, not -1`},
		{evictor("minReplicas: 1.5"), `args.minReplicas: must be a whole number of at least 0, not 1.5`},
		{evictor("minReplicas: '1'"), `args.minReplicas: must be a whole number of at least 0, not the text "1"; remove its quotes`},
		{evictor("share: 1.5"), `args.share: must be a whole number or a percentage, such as 2 or 10%, not 1.5`},
		{profile("pluginConfig: [{name: DefaultEvictor, minReplicas: 2}]"), "pluginConfig[0].minReplicas: unknown key; it is an argument of DefaultEvictor, so it belongs below args"},
		{profile("pluginConfig: [{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 24h}}]"), `maxPodLifeTimeSeconds: must be a whole number of at least 0, not "24h"; write 86400`},
		{header + "metricsProviders: [{source: Prometheus, prometheus: {url: 'http://x:99999'}}]", `prometheus.url: must have a port from 0 to 65535, not "99999"`},
		{header + "leaderElection: true", "leaderElection: must be a mapping of keys and values, not true"},
		{evictor("minReplicas: two"), `args.minReplicas: must be a whole number of at least 0, not "two"`},
		{evictor("minReplicas: true"), `args.minReplicas: must be a whole number of at least 0, not true`},
		{header + "dryRun: 'false'", `dryRun: must be true or false, not the text "false"; remove its quotes`},
		{header + "nodeOrder: Packed", `nodeOrder: must be LeastAllocated or MostAllocated, not "Packed"`},
		{header + "gracePeriodSeconds: 99999999999", `gracePeriodSeconds: must be at most 2147483647, not 99999999999`},
		{profile("pluginConfig: [{name: LowNodeUtilization, args: {thresholds: {cpu: '20.5'}}}]"), `thresholds.cpu: must be a number such as 1.5, not the text "20.5"; remove its quotes`},
		{evictor("factor: 128"), `args.factor: must be at most 127, not 128`},
		{evictor("minPodAge: 5"), `args.minPodAge: must be a duration`},
		{evictor("room: much"), `args.room: "much" does not fit here: quantities must match`},
		{evictor("share: {a: b}"), `args.share: must be a whole number or a percentage, such as 2 or 10%, not a mapping`},
		{evictor("rows: [{timeout: 1m}, ~]"), `args.rows[1]: must not be empty`},
		{evictor("hidden: 3"), `args.hidden: unknown key`},
		{evictor("MinReplicas: 3"), `args.MinReplicas: unknown key, did you mean minReplicas?`},
	} {
		assert.ErrorContains(t, refused(t, c.text), c.want)
		assert.Assert(t, len(refused(t, c.text)) <= 2, "%v", refused(t, c.text))
	}
}

// Of several unknown keys the first one says which keys there are, and keys of v1alpha1 say where they
// are now.
func TestUnknownKeys(t *testing.T) {
	err := refused(t, strings.Replace(header, "v1alpha2", "v1alpha1", 1)+`evictLocalStoragePods: true
colour: red
ignorePvcPods: true
sound: loud
strategies: {RemoveDuplicates: {enabled: true}}
profiles: [{pluginConfig: [{name: DefaultEvictor, args: {colour: red, sound: loud}}], strategies: {}}]
`)
	for i, want := range []string{
		`line 1:13: apiVersion: "descheduler/v1alpha1" cannot be read; write descheduler/v1alpha2, which has profiles`,
		"line 3:1: evictLocalStoragePods: unknown key; it is an argument of DefaultEvictor, in profiles[].pluginConfig[].args",
		"line 4:1: colour: unknown key, known here: apiVersion, kind, profiles, ",
		"line 5:1: ignorePvcPods: unknown key; it is an argument of DefaultEvictor",
		"line 6:1: sound: unknown key",
		"line 7:1: strategies: unknown key; profiles[].plugins says which plugins are enabled, and profiles[].pluginConfig has their arguments",
		"args.colour: unknown key, known here: minReplicas, ",
		"args.sound: unknown key",
		"profiles[0].strategies: unknown key, known here: name, ",
	} {
		text := err[i].String()
		assert.Assert(t, strings.Contains(text, want), "%s\nis not\n%s", text, want)
		assert.Equal(t, strings.Contains(text, "known here: "), strings.Contains(want, "known here: "), text)
	}
	assert.Equal(t, len(err), 9)
}

// What has no effect is told, and does not refuse the policy.
func TestWarnings(t *testing.T) {
	for text, want := range map[string]string{
		header + "profiles: []": "line 1:1: the policy has no profile, so nothing is ever evicted",
		header + "metricsCollector: {enabled: true}\nprofiles: [{name: a}]": "line 3:20: metricsCollector.enabled: is deprecated; write metricsProviders: [{source: KubernetesMetrics}]",
		header + "profiles: [{pluginConfig: [{name: Both}]}]":               "pluginConfig[0].name: Both is enabled at no point of this profile, so this has no effect",
	} {
		_, warnings := load(t, text)
		assert.Equal(t, len(warnings), 1, "%v", warnings)
		assert.Assert(t, strings.Contains(warnings[0].String(), want), warnings[0])
	}
}

// A default that is not registered is told too, since it is the mistake of a program.
func TestDefaultIsRegistered(t *testing.T) {
	_, _, err := Load([]byte(header+"profiles: [{}]"), testRegistry(t), Options{Defaults: map[framework.Point][]string{framework.Evict: {"Evict"}}})
	assert.ErrorContains(t, err, "profiles[0]: the default plugin Evict is not registered")
}

// Bounds hold at ten times their size.
func TestBounds(t *testing.T) {
	long := refused(t, header+"#"+strings.Repeat("x", 10*TextMax))
	assert.Equal(t, len(long), 1)
	assert.ErrorContains(t, long, "which are the most") // ten megabytes

	profiles := func(n int) string {
		var b strings.Builder
		b.WriteString(header + "profiles:\n")
		for i := range n {
			fmt.Fprintf(&b, "- name: p%d\n", i)
		}
		return b.String()
	}
	p, _ := load(t, profiles(ProfilesMax))
	assert.Equal(t, len(p.Profiles), ProfilesMax)
	for _, n := range []int{ProfilesMax + 1, 10 * ProfilesMax} {
		many := refused(t, profiles(n))
		assert.Equal(t, len(many), 1)
		assert.ErrorContains(t, many, "line 104:3: profiles[100]: more than 100 profiles")
	}

	wrong := refused(t, header+strings.Repeat("a: 1\n", 10*problemsMax))
	assert.Equal(t, len(wrong), problemsMax+1)
	assert.ErrorContains(t, wrong, "more than 1000 errors, the others are not shown")

	unknown := header
	for i := range 10 * problemsMax {
		unknown += fmt.Sprintf("a%d: 1\n", i)
	}
	_, warnings, err := Load([]byte(unknown), testRegistry(t), Options{Lenient: true})
	assert.NilError(t, err)
	assert.Equal(t, len(warnings), problemsMax+1)
	assert.ErrorContains(t, errors.New(warnings[problemsMax].String()), "more than 1000 warnings, the others are not shown")

	aliases := header + "x0: &x0 [1, 2]\n"
	for i := range 30 {
		aliases += fmt.Sprintf("x%d: &x%d [*x%d, *x%d]\n", i+1, i+1, i, i)
	}
	aliases += "profiles: [{pluginConfig: [{name: DefaultEvictor, args: {extra: {a: *x30}}}]}]"
	assert.ErrorContains(t, refused(t, aliases), "the text stands for more than 100000 values")
}
