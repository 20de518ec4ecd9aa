package policy

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// Print writes a policy as a text of kind DeschedulerPolicy that says everything, also what
// is a default. Load reads the same policy from it with the same registry and options.
// The descheduler of Kubernetes reads the parts that it knows.
func Print(p *Policy, registry *framework.Registry, options Options) []byte {
	top := mapping()
	put(top, "apiVersion", scalar(APIVersion))
	put(top, "kind", scalar(Kind))
	putSelector(top, p.NodeSelector)
	p.Limits.print(top)
	if p.NodeOrder != "" {
		put(top, "nodeOrder", scalar(string(p.NodeOrder)))
	}
	if p.GracePeriodSeconds != nil {
		put(top, "gracePeriodSeconds", scalar(*p.GracePeriodSeconds))
	}
	put(top, "evictionFailureEventNotification", scalar(p.FailureEvents))
	var providers []*yaml.Node
	for _, m := range p.Metrics {
		providers = append(providers, m.node())
	}
	put(top, "metricsProviders", sequence(providers))
	settings := encode(valueOf(&p.Settings))
	top.Content = append(top.Content, settings.Content...)
	var profiles []*yaml.Node
	for i := range p.Profiles {
		profiles = append(profiles, p.Profiles[i].node(registry, options.Defaults))
	}
	put(top, "profiles", sequence(profiles))
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(top); err != nil {
		panic("policy: " + err.Error()) // a buffer takes everything, and nodes are made here
	}
	return text.Bytes()
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

// sequence is a list; nil if it is empty.
func sequence(items []*yaml.Node) *yaml.Node {
	if len(items) == 0 {
		return nil
	}
	return &yaml.Node{Kind: yaml.SequenceNode, Content: items}
}

// inline is a list of names in one line; nil if it is empty.
func inline(names ...string) *yaml.Node {
	var items []*yaml.Node
	for _, name := range names {
		items = append(items, scalar(name))
	}
	list := sequence(items)
	if list != nil {
		list.Style = yaml.FlowStyle
	}
	return list
}

// putSelector writes a selector, unless it selects everything.
func putSelector(mapping *yaml.Node, selector labels.Selector) {
	if selector != nil && !selector.Empty() {
		put(mapping, "nodeSelector", scalar(selector.String()))
	}
}

// putCount writes a limit, unless there is none.
func putCount(mapping *yaml.Node, key string, limit *int) {
	if limit != nil {
		put(mapping, key, scalar(*limit))
	}
}

// print writes the limits into the top level.
func (l *Limits) print(top *yaml.Node) {
	putCount(top, "maxNoOfPodsToEvictPerNode", l.PerNode)
	putCount(top, "maxNoOfPodsToEvictPerNamespace", l.PerNamespace)
	putCount(top, "maxNoOfPodsToEvictPerWorkload", l.PerWorkload)
	putCount(top, "maxNoOfPodsToEvictTotal", l.Total)
	further, flying := mapping(), mapping()
	putCount(flying, "perNode", l.InFlight.PerNode)
	putCount(flying, "perNamespace", l.InFlight.PerNamespace)
	putCount(flying, "perWorkload", l.InFlight.PerWorkload)
	putCount(flying, "total", l.InFlight.Total)
	if len(flying.Content) > 0 {
		put(further, "inFlight", flying)
	}
	if l.WorkloadRate.Max > 0 {
		rate := mapping()
		put(rate, "max", scalar(l.WorkloadRate.Max))
		put(rate, "window", scalar(l.WorkloadRate.Window.String()))
		put(further, "workloadRate", rate)
	}
	pause := mapping()
	put(pause, "initial", scalar(l.CoolDown.Initial.String()))
	put(pause, "max", scalar(l.CoolDown.Max.String()))
	put(further, "coolDown", pause)
	put(top, "limits", further)
}

func (m *MetricsProvider) node() *yaml.Node {
	node := mapping()
	put(node, "source", scalar(string(m.Source)))
	if m.Source != Prometheus {
		return node
	}
	server := mapping()
	put(server, "url", scalar(m.URL))
	if m.SecretName != "" {
		secret, reference := mapping(), mapping()
		put(secret, "namespace", scalar(m.SecretNamespace))
		put(secret, "name", scalar(m.SecretName))
		put(reference, "secretReference", secret)
		put(server, "authToken", reference)
	}
	put(node, "prometheus", server)
	return node
}

func (p *Profile) node(registry *framework.Registry, defaults map[framework.Point][]string) *yaml.Node {
	node := mapping()
	put(node, "name", scalar(p.Name))
	putSelector(node, p.NodeSelector)
	var configs []*yaml.Node
	for _, name := range p.Enabled() {
		config := mapping()
		put(config, "name", scalar(name))
		if values := p.Args[name]; values != nil {
			put(config, "args", encode(valueOf(values)))
		}
		if limit, ok := p.Limit[name]; ok {
			put(config, "maxNoOfPodsToEvict", scalar(limit))
		}
		if len(config.Content) > 2 {
			configs = append(configs, config)
		}
	}
	put(node, "pluginConfig", sequence(configs))
	plugins := mapping()
	for _, point := range framework.Points() {
		enabled := p.Plugins[point]
		unsaid := defaultsAt(point, defaults, p.Plugins[framework.Evict], registry)
		if len(enabled) == 0 && len(unsaid) == 0 {
			continue
		}
		set := mapping()
		put(set, "enabled", inline(enabled...))
		if !slices.Equal(enabled, merged(unsaid, nil, enabled)) {
			put(set, "disabled", inline(all))
		}
		put(plugins, string(point), set)
	}
	put(node, "plugins", plugins)
	return node
}
