package profile_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/preferences"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
)

// LoadAware is off unless a profile enables it. Its arguments have defaults, and may be those that Koordinator's plugin has too.
func TestLoadAware(t *testing.T) {
	for _, c := range []struct {
		text   string
		weight int64
		args   *profile.LoadAwareArgs
	}{
		{"", 0, nil},
		{"profiles: [{pluginConfig: [{name: LoadAware, args: {usageThresholds: {cpu: 50}}}]}]", 0, nil},
		{
			"profiles: [{plugins: {score: {enabled: [{name: LoadAware}]}}}]", 1,
			&profile.LoadAwareArgs{ResourceWeights: profile.Shares{CPU: 1, Memory: 1}, UsageThresholds: profile.Shares{CPU: 65, Memory: 95}, NodeMetricExpirationSeconds: 180},
		},
		{
			`
profiles:
- plugins: {multiPoint: {enabled: [{name: LoadAware, weight: 4}]}}
  pluginConfig:
  - name: LoadAware
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: LoadAwareSchedulingArgs
      resourceWeights: {cpu: 2}
      usageThresholds: {cpu: 50, memory: 0}
      nodeMetricExpirationSeconds: 60
      prometheus: {url: "http://prometheus:9090", query: instance_use, authToken: {secretReference: {namespace: monitoring, name: token}}}
`, 4,
			&profile.LoadAwareArgs{
				ResourceWeights: profile.Shares{CPU: 2}, UsageThresholds: profile.Shares{CPU: 50}, NodeMetricExpirationSeconds: 60,
				Prometheus: &profile.PrometheusArgs{
					URL: "http://prometheus:9090", Query: "instance_use",
					AuthToken: &profile.AuthToken{SecretReference: profile.SecretReference{Namespace: "monitoring", Name: "token"}},
				},
			},
		},
	} {
		read, ignored, err := profile.Read([]byte(head+c.text), nil)
		assert.NilError(t, err)
		assert.Equal(t, len(ignored), 0, "%v", ignored)
		of := preferences.ProfileOf(read)
		assert.Equal(t, of.Weights.Load, c.weight)
		assert.DeepEqual(t, of.Load, c.args)
	}
}

func TestLoadAwareRefuses(t *testing.T) {
	for _, c := range []struct{ text, problem string }{
		{"profiles: [{plugins: {filter: {enabled: [{name: LoadAware}]}}}]", "plugins: LoadAware is none of kube-scheduler's"},
		{withArgs("usageThreshold: {cpu: 1}"), `pluginConfig: LoadAware: error unmarshaling JSON: while decoding JSON: json: unknown field "usageThreshold"`},
		{withArgs("usageThresholds: {cpu: 101}"), "pluginConfig: LoadAware: usageThresholds.cpu: 101 is not from 0 to 100"},
		{withArgs("resourceWeights: {memory: -1}"), "pluginConfig: LoadAware: resourceWeights.memory: -1 is not from 0 to 100"},
		{withArgs("nodeMetricExpirationSeconds: 0"), "pluginConfig: LoadAware: nodeMetricExpirationSeconds: 0 is not from 1 to 86400"},
		{withArgs("prometheus: {url: prometheus}"), `pluginConfig: LoadAware: prometheus.url: "prometheus" is no URL of Prometheus`},
		{withArgs("prometheus: {url: 'http://a'}"), "pluginConfig: LoadAware: prometheus.query is missing"},
		{
			withArgs("prometheus: {url: 'http://a', query: q, authToken: {secretReference: {name: token}}}"),
			"pluginConfig: LoadAware: prometheus.authToken.secretReference: namespace and name must be there",
		},
	} {
		_, _, err := profile.Read([]byte(head+c.text), nil)
		assert.ErrorContains(t, err, c.problem)
	}
}

// withArgs is a profile with arguments of LoadAware.
func withArgs(text string) string {
	return "profiles: [{pluginConfig: [{name: LoadAware, args: {" + text + "}}]}]"
}
