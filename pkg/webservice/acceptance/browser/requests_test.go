package browser

import (
	"testing"

	"gotest.tools/v3/assert"
)

// requestsMax is the most requests that one refresh of a panel sends.
const requestsMax = 4

// requestsOfRefresh is the requests that one refresh sends. The list of partitions is left out,
// which is read twice a minute. A refresh that succeeds hides the notice: what was sent between
// two of these moments is one refresh.
func (p *page) requestsOfRefresh() []string {
	p.t.Helper()
	return evaluate[[]string](p, `
		const real = window.fetch, refreshes = [];
		let sent = [];
		window.fetch = (...call) => { sent.push(String(call[0])); return real(...call); };
		Object.defineProperty(document.getElementById("notice"), "hidden", { configurable: true, set() { refreshes.push(sent); sent = []; } });
		for (const ended of [1, 2]) {
			document.getElementById("freshness").click();
			await t.until(() => refreshes.length >= ended, "a refresh", 20000);
		}
		return refreshes[1].map((url) => url.slice(url.indexOf("/ws/v1/") + 7)).filter((url) => url !== "partitions?fields=clusterId%2Cname")`)
}

// TestFewRequests: one refresh of any panel, also of one with a filter, sends a few requests.
func TestFewRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, panel, hash string }{
		{"pending of a queue", "applications", "#/applications?view=pending&class=regular&guaranteeState=over"},
		{"pending for a reason", "applications", "#/applications?view=pending&why=no+node+has+room&user=a"},
		{"applications of a user", "applications", "#/applications?user=a&text=b"},
		{"preemption by priority", "preemption", "#/preemption?trigger=priority&class=regular&user=a"},
		{"queues over their guarantee", "queues", "#/queues?view=guarantees&guaranteeState=over"},
	} {
		seenFew(t, c.name, c.panel, c.hash, requestsMax)
	}
	for _, at := range seenAt {
		if at.panel == "overview" {
			seenFew(t, at.name, at.panel, at.hash, 2) // counts and health: it stays open all day
			continue
		}
		seenFew(t, at.name, at.panel, at.hash, requestsMax)
	}
}

func seenFew(t *testing.T, name, panel, hash string, most int) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		s := k8s.on(t).serve(t)
		p := s.open(t, s.addressed(t, hash), look{})
		p.arrives(panel)
		asked := p.requestsOfRefresh()
		t.Logf("%d requests: %q", len(asked), asked)
		assert.Assert(t, len(asked) <= most, "%q", asked)
		assert.Assert(t, len(asked) > 0 || panel == "events" || panel == "whatif") // which come by themselves, or when asked
	})
}
