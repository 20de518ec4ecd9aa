package policy

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestSettingsThatCannotWork are refused where they stand; none of them needs a cluster to be found.
func TestSettingsThatCannotWork(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`healthzBindAddress: ":99999"`, `line 3:21: healthzBindAddress: must have a port from 0 to 65535, not "99999"`},
		{`healthzBindAddress: ":65536"`, `must have a port from 0 to 65535, not "65536"`},
		{`healthzBindAddress: ":http"`, `must have a port from 0 to 65535, not "http"`},
		{`metricsBindAddress: "0.0.0.0"`, `line 3:21: metricsBindAddress: must be an address with a port such as 127.0.0.1:10258, or 0 for nowhere, not "0.0.0.0"`},
		{`metricsBindAddress: "a b:1"`, `metricsBindAddress: must begin with an IP address or the name of a host, not "a b"`},
		{`metricsBindAddress: [1]`, `metricsBindAddress: must be a text, not a list`},
		{"deschedulingInterval: -5m", "deschedulingInterval: must be at least 0s, not -5m0s"},
		{"leaderElection: {leaseDuration: 10s, renewDeadline: 10s}", "line 3:33: leaderElection.leaseDuration: must be longer than renewDeadline (10s), not 10s"},
		{"leaderElection: {renewDeadline: 12s, retryPeriod: 10s}", "line 3:33: leaderElection.renewDeadline: must be longer than 1.2 times retryPeriod (10s), not 12s"},
		{"leaderElection: {leaseDuration: 500ms}", "leaderElection.leaseDuration: must be at least 1s, not 500ms"},
		{"leaderElection: {retryPeriod: 0s, renewDeadline: 1s}", "leaderElection.retryPeriod: must be at least 1ms, not 0s"},
		{"leaderElection: {resourceLock: endpoints}", `leaderElection.resourceLock: must be leases, the only lock there is, not "endpoints"`},
		{"clientConnection: {burst: -1}", "clientConnection.burst: must be at least 0, not -1"},
	} {
		problems := refused(t, header+c.text)
		assert.Equal(t, len(problems), 1, "%s", problems)
		assert.ErrorContains(t, problems, c.want)
	}
	for _, right := range []string{
		"healthzBindAddress: 0", "healthzBindAddress: '0'", "healthzBindAddress: '[::1]:1'", "metricsBindAddress: localhost:65535",
		"leaderElection: {leaseDuration: 11s, renewDeadline: 10s, retryPeriod: 8s, resourceLock: leases}",
		"leaderElection: {leaderElect: false, leaseDuration: 0s, renewDeadline: 1s, resourceLock: endpoints}",
	} {
		if right == "healthzBindAddress: 0" {
			assert.ErrorContains(t, refused(t, header+right), "must be a text, not 0; write it in quotes")
			continue
		}
		load(t, header+right)
	}
}

// TestNeededMeasurements: a plugin that needs measured use is refused where it asks for it, unless the
// policy names the source, above or below.
func TestNeededMeasurements(t *testing.T) {
	const asks = "profiles: [{pluginConfig: [{name: LowNodeUtilization, args: {resourceWeights: {prometheus: 1}}}], plugins: {balance: {enabled: [LowNodeUtilization]}}}]\n"
	const server = "metricsProviders: [{source: Prometheus, prometheus: {url: 'http://x:1'}}]\n"
	want := "line 3:80: profiles[0].pluginConfig[0].args.resourceWeights.prometheus: LowNodeUtilization needs measured use of the source Prometheus, " +
		"which the policy does not name; write at its top metricsProviders: [{source: Prometheus, prometheus: {url: http://HOST:9090}}]"
	for _, others := range []string{"", "metricsProviders: []\n", "metricsProviders: [{source: KubernetesMetrics}]\n", "metricsCollector: {enabled: true}\n"} {
		problems := refused(t, header+asks+others)
		assert.Equal(t, len(problems), 1, "%s", problems)
		assert.Equal(t, problems[0].String(), want)
	}
	load(t, header+server+asks)
	load(t, header+asks+server)
	load(t, header+strings.ReplaceAll(asks, "enabled: [Low", "disabled: [Low"))
	unread := refused(t, header+asks+"metricsProviders: [{source: Prometeus}]\n")
	assert.Equal(t, len(unread), 1, "%s", unread)
}

// TestConfigurationMeasuresByItself: a DeschedulerConfiguration that needs the metrics API and does not
// name it has it, since users of Koordinator name no source.
func TestConfigurationMeasuresByItself(t *testing.T) {
	const asks = "profiles: [{pluginConfig: [{name: LowNodeUtilization, args: {resourceWeights: {metrics: 1}}}], plugins: {balance: {enabled: [LowNodeUtilization]}}}]\n"
	metrics := []MetricsProvider{{Source: KubernetesMetrics}}
	for text, want := range map[string][]MetricsProvider{
		configurationHeader + asks: metrics,
		configurationHeader + asks + "metricsProviders: [{source: KubernetesMetrics}]\n":            metrics,
		configurationHeader + "profiles: [{plugins: {balance: {enabled: [LowNodeUtilization]}}}]\n": nil,
		header + asks + "metricsProviders: [{source: KubernetesMetrics}]\n":                         metrics,
	} {
		p, _ := load(t, text)
		assert.DeepEqual(t, p.Metrics, want)
	}
	refused(t, header+asks)
	refused(t, configurationHeader+strings.ReplaceAll(asks, "metrics:", "prometheus:"))
}

// TestNeedsOfWrongArguments are not asked for.
func TestNeedsOfWrongArguments(t *testing.T) {
	err := refused(t, header+"profiles: [{pluginConfig: [{name: LowNodeUtilization, args: {numberOfNodes: 13, resourceWeights: {prometheus: 1}}}], plugins: {balance: {enabled: [LowNodeUtilization]}}}]")
	assert.Equal(t, len(err), 1, "%s", err)
	assert.ErrorContains(t, err, "args.numberOfNodes: must not be 13")
}

// TestProblemsOfItems stand at the item that the plugin names.
func TestProblemsOfItems(t *testing.T) {
	err := refused(t, header+"profiles: [{pluginConfig: [{name: PodLifeTime, args: {states: [a, Asleep]}}], plugins: {deschedule: {enabled: [PodLifeTime]}}}]")
	assert.Equal(t, err.Error(), "the policy has 1 error\n  line 3:67: profiles[0].pluginConfig[0].args.states[1]: is no state")
}
