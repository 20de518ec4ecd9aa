package profile

import (
	"errors"
	"fmt"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"sigs.k8s.io/yaml"
)

// LoadAware is the name of a score plugin that kube-scheduler does not have: nodes count by their measured use.
const LoadAware = "LoadAware"

// LoadAwareArgs are its arguments. Those that Koordinator's plugin has too have its names and defaults.
type LoadAwareArgs struct {
	// ResourceWeights say how much CPU and memory count, from 0 to 100. Zero for both is 1 for both.
	ResourceWeights Shares `json:"resourceWeights"`
	// UsageThresholds are percent of what a node has. One that is measured to use more has no points; 0 is no threshold.
	UsageThresholds Shares `json:"usageThresholds"`
	// NodeMetricExpirationSeconds is the age from which on a measurement does not count.
	NodeMetricExpirationSeconds int64 `json:"nodeMetricExpirationSeconds"`
	// Prometheus is asked in place of the metrics API; nil is not.
	Prometheus *PrometheusArgs `json:"prometheus,omitempty"`
}

// Shares are a number for CPU and one for memory.
type Shares struct {
	CPU    int64 `json:"cpu"`
	Memory int64 `json:"memory"`
}

// PrometheusArgs are an address and a query. The answer says of each node, by the label instance, which part of it is used,
// from 0 to 1. It stands for CPU and for memory.
type PrometheusArgs struct {
	URL   string `json:"url"`
	Query string `json:"query"`
	// AuthToken names what is sent as a bearer token, as in metricsProviders of a policy of the descheduler; nil is the token of the
	// account of the pod.
	AuthToken *AuthToken `json:"authToken,omitempty"`
}

// An AuthToken is a key of a secret, prometheusAuthToken.
type AuthToken struct {
	SecretReference SecretReference `json:"secretReference"`
}

// A SecretReference names a secret.
type SecretReference struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// LoadAwareOf are the arguments of LoadAware in a profile, with defaults filled in. The error says everything that is wrong.
func LoadAwareOf(of *config.KubeSchedulerProfile) (*LoadAwareArgs, error) {
	args := &LoadAwareArgs{UsageThresholds: Shares{CPU: 65, Memory: 95}, NodeMetricExpirationSeconds: 180}
	for i := range of.PluginConfig {
		if of.PluginConfig[i].Name != LoadAware {
			continue
		}
		raw, ok := of.PluginConfig[i].Args.(*runtime.Unknown)
		if !ok {
			continue
		}
		read := struct { // files of Koordinator say a kind, too
			metav1.TypeMeta `json:",inline"`
			*LoadAwareArgs  `json:",inline"`
		}{LoadAwareArgs: args}
		if err := yaml.UnmarshalStrict(raw.Raw, &read); err != nil {
			return nil, fmt.Errorf("pluginConfig: %s: %w", LoadAware, err)
		}
	}
	if args.ResourceWeights == (Shares{}) {
		args.ResourceWeights = Shares{CPU: 1, Memory: 1}
	}
	return args, args.validate()
}

func (a *LoadAwareArgs) validate() error {
	var problems []error
	percent := func(name string, value int64) {
		if value < 0 || value > 100 {
			problems = append(problems, fmt.Errorf("pluginConfig: %s: %s: %d is not from 0 to 100", LoadAware, name, value))
		}
	}
	percent("resourceWeights.cpu", a.ResourceWeights.CPU)
	percent("resourceWeights.memory", a.ResourceWeights.Memory)
	percent("usageThresholds.cpu", a.UsageThresholds.CPU)
	percent("usageThresholds.memory", a.UsageThresholds.Memory)
	if a.NodeMetricExpirationSeconds < 1 || a.NodeMetricExpirationSeconds > 86400 {
		problems = append(problems, fmt.Errorf("pluginConfig: %s: nodeMetricExpirationSeconds: %d is not from 1 to 86400", LoadAware, a.NodeMetricExpirationSeconds))
	}
	if p := a.Prometheus; p != nil {
		if at, err := url.Parse(p.URL); err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
			problems = append(problems, fmt.Errorf("pluginConfig: %s: prometheus.url: %q is no URL of Prometheus", LoadAware, p.URL))
		}
		if p.Query == "" {
			problems = append(problems, fmt.Errorf("pluginConfig: %s: prometheus.query is missing", LoadAware))
		}
		if token := p.AuthToken; token != nil && (token.SecretReference.Namespace == "" || token.SecretReference.Name == "") {
			problems = append(problems, fmt.Errorf("pluginConfig: %s: prometheus.authToken.secretReference: namespace and name must be there", LoadAware))
		}
	}
	return errors.Join(problems...)
}
