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
		const real = window.fetch, refreshes = [], notice = document.getElementById("notice");
		let sent = [];
		window.fetch = (...call) => { sent.push(String(call[0])); return real(...call); };
		Object.defineProperty(notice, "hidden", { configurable: true, set() { refreshes.push(sent); sent = []; } });
		for (const ended of [1, 2]) {
			document.getElementById("freshness").click();
			await t.until(() => refreshes.length >= ended, "a refresh", 20000);
		}
		window.fetch = real;
		delete notice.hidden;
		return refreshes[1].map((url) => url.slice(url.indexOf("/ws/v1/") + 7)).filter((url) => url !== "partitions?fields=clusterId%2Cname")`)
}

// TestFewRequests: one refresh of any panel, also of one with a filter, sends a few requests.
func TestFewRequests(t *testing.T) {
	t.Parallel()
	filtered := []scene{
		{name: "pending of a queue", panel: "applications", at: fixed("#/applications?view=pending&class=regular&guaranteeState=over")},
		{name: "pending for a reason", panel: "applications", at: fixed("#/applications?view=pending&why=no+node+has+room&user=a")},
		{name: "applications of a user", panel: "applications", at: fixed("#/applications?user=a&text=b")},
		{name: "preemption by priority", panel: "preemption", at: fixed("#/preemption?trigger=priority&class=regular&user=a")},
		{name: "queues over their guarantee", panel: "queues", at: fixed("#/queues?view=guarantees&guaranteeState=over")},
	}
	k8s.site(t).tour(t, append(filtered, everywhere(k8s)...), look{}, func(p *page, c scene) {
		asked := p.requestsOfRefresh()
		p.t.Logf("%d requests: %q", len(asked), asked)
		most := requestsMax
		if c.panel == "overview" {
			most = 2 // counts and health: it stays open all day
		}
		assert.Assert(p.t, len(asked) <= most, "%q", asked)
		assert.Assert(p.t, len(asked) > 0 || c.panel == "events" || c.panel == "whatif") // which come by themselves, or when asked
	})
}
