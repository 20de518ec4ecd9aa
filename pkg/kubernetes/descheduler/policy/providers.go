package policy

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
)

// sources are the sources of measured use.
var sources = []string{string(KubernetesMetrics), string(Prometheus)}

// Measuring is what arguments of plugins implement that may need measured use.
type Measuring interface {
	// Measures is the source that is needed, and the argument that asks for it; both are empty
	// where the arguments need none, and the argument is where all of them do. The arguments are valid.
	Measures() (source, argument string)
}

// A need is a source of measured use that a plugin asks for.
type need struct {
	at     cursor
	plugin string
	source Source
}

// measure notes what an enabled plugin needs. The sources may be named further below.
func (l *loader) measure(config pluginConfig) {
	asks, ok := config.values.(Measuring)
	if !ok {
		return
	}
	if source, argument := asks.Measures(); source != "" {
		at := config.at
		if argument != "" {
			at, _ = config.args.follow(argument)
		}
		l.needs = append(l.needs, need{at.atKey(), config.name, Source(source)})
	}
}

// assumeMetrics adds the metrics API where a plugin of a DeschedulerConfiguration needs it: the descheduler
// of Koordinator measures itself, so its users name no source.
func (l *loader) assumeMetrics(p *Policy) {
	needed := slices.ContainsFunc(l.needs, func(n need) bool { return n.source == KubernetesMetrics })
	named := slices.ContainsFunc(p.Metrics, func(m MetricsProvider) bool { return m.Source == "" || m.Source == KubernetesMetrics })
	if l.configuration && needed && !named {
		p.Metrics = append(p.Metrics, MetricsProvider{Source: KubernetesMetrics})
	}
}

// checkNeeds refuses plugins that would find no measured use, unless metricsProviders cannot be read.
func (l *loader) checkNeeds(have []MetricsProvider) {
	for _, n := range l.needs {
		if slices.ContainsFunc(have, func(m MetricsProvider) bool { return m.Source == "" || m.Source == n.source }) {
			continue
		}
		entry := fmt.Sprintf("{source: %s}", n.source)
		if n.source == Prometheus {
			entry = fmt.Sprintf("{source: %s, prometheus: {url: http://HOST:9090}}", n.source)
		}
		n.at.fail("%s needs measured use of the source %s, which the policy does not name; write at its top metricsProviders: [%s]", n.plugin, n.source, entry)
	}
}

// collector reads the old way to ask for measured use by the metrics API.
func (p *Policy) collector(c cursor) {
	c.fields(field{"enabled", func(c cursor) {
		if yes, _ := c.boolean(); yes {
			c.atKey().warn("is deprecated; write metricsProviders: [{source: %s}]", KubernetesMetrics)
			p.Metrics = append(p.Metrics, MetricsProvider{Source: KubernetesMetrics})
		}
	}})
}

// checkCollector refuses the metrics API twice.
func (p *Policy) checkCollector(c cursor) {
	named := 0
	for _, m := range p.Metrics {
		if m.Source == KubernetesMetrics {
			named++
		}
	}
	if named > 1 {
		c.fail("asks for %s, which metricsProviders does too; leave this one out", KubernetesMetrics)
	}
}

// providers reads the list of sources.
func (p *Policy) providers(c cursor) {
	var seen []Source
	for _, item := range c.items() {
		var m MetricsProvider
		section := false
		source := item
		item.fields(
			field{"source", func(c cursor) { m.Source, source = c.source(), c }},
			field{"prometheus", func(c cursor) {
				section = true
				m.prometheus(c)
			}},
		)
		switch {
		case !item.IsMapping():
			continue
		case m.Source == "" && source.Line == item.Line && source.Path == item.Path:
			item.fail("source is missing: %s or %s", KubernetesMetrics, Prometheus)
		case m.Source != "" && slices.Contains(seen, m.Source):
			source.fail("%s is there twice", m.Source)
		case m.Source == Prometheus && !section:
			item.fail("prometheus is missing: {url: http://HOST:9090}")
		case m.Source == KubernetesMetrics && section:
			item.fail("prometheus does not go with the source %s", KubernetesMetrics)
		}
		seen = append(seen, m.Source)
		p.Metrics = append(p.Metrics, m)
	}
}

func (c cursor) source() Source {
	text, ok := c.text()
	if ok && !slices.Contains(sources, text) {
		c.fail("%s is no source of measured use, %s", c.Describe(), yamltree.Instead(text, sources))
		return ""
	}
	return Source(text)
}

// prometheus reads how Prometheus is reached.
func (m *MetricsProvider) prometheus(c cursor) {
	c.fields(
		field{"url", func(c cursor) { m.URL = c.url() }},
		field{"authToken", func(c cursor) {
			c.fields(field{"secretReference", m.secret})
			if m.SecretName == "" && c.IsMapping() {
				c.fail("secretReference is missing: {namespace: NAMESPACE, name: NAME}")
			}
		}},
	)
	if _, ok := c.Find("url"); c.IsMapping() && !ok {
		c.fail("url is missing, such as http://prometheus.monitoring:9090")
	}
}

// url is an address that a client can call.
func (c cursor) url() string {
	text, ok := c.text()
	if !ok {
		return ""
	}
	parsed, err := url.Parse(text)
	switch {
	case err != nil:
		c.fail("is no URL: %s", err)
	case parsed.Port() != "" && !isPort(parsed.Port()):
		c.fail("must have a port from 0 to 65535, not %q", parsed.Port())
	case parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "":
		c.fail("%s is no URL such as http://prometheus.monitoring:9090", c.Describe())
	}
	return text
}

// secret reads which secret has the token; both of its names must be there.
func (m *MetricsProvider) secret(c cursor) {
	for _, name := range []struct {
		key  string
		into *string
	}{{"namespace", &m.SecretNamespace}, {"name", &m.SecretName}} {
		if value, ok := c.Find(name.key); ok {
			*name.into, _ = c.moved(value).text()
		}
		if *name.into == "" && c.IsMapping() {
			c.fail("%s is missing; a secret has a namespace and a name", name.key)
		}
	}
	c.fields(field{"namespace", func(cursor) {}}, field{"name", func(cursor) {}})
}
