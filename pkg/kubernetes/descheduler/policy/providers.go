package policy

import (
	"net/url"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
)

// sources are the sources of measured use.
var sources = []string{string(KubernetesMetrics), string(Prometheus)}

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
