package browser

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestParts: the parts that panels are made of, given what the stages do not have. Each is a body
// that returns a text.
func TestParts(t *testing.T) {
	t.Parallel()
	p := limits.site(t).page(t, "#/users")
	p.arrives("users")
	const queue = `
		const parts = await import("./js/parts/queuerow.js");
		const queue = { queuename: "root.a", isLeaf: true, status: "Draining", guaranteeState: "over", overMaxSince: 1, runningApps: 3,
			allocatedResource: { pods: 30 }, preemptingResource: { pods: 10 }, nominatedResource: { pods: 5 }, pendingResource: { pods: 7 },
			guaranteedResource: { pods: 8 }, maxResource: { pods: 20 } };
		const m = parts.measure(queue, {}, "pods");`
	const outcome = `
		const parts = await import("./js/parts/outcome.js"), { effectOf } = await import("./js/parts/effect.js");
		const ctx = { link: () => "#", now: () => 0, partition: () => "default" };
		const without = { victims: [], others: [], overUse: [], overLimits: [{ queueName: "root", user: "bob", by: { vcore: 7 } }] };
		const outcome = { ...without, asks: [["a1", "n1"], ["a2", "n1"], ["a3", "n2"]].map(([allocationKey, nodeId]) => ({ allocationKey, nodeId })),
			overLimits: [...without.overLimits, { queueName: "root.ml", user: "ann", by: { vcore: 1500 } }, { queueName: "root", group: "research", by: { vcore: 500 }, applications: 2 }] };
		const result = { outcome, effect: effectOf(outcome, without), body: {}, at: 0, page: 0, chosen: null };`
	const nodes = `const list = await import("./js/parts/nodelist.js");`
	for _, c := range []struct{ name, script, want string }{
		{"bar of a queue", queue + `return m.parts.map((one) => one.tone + " " + Math.round(one.part * 35)).join(", ")`, "own 8, over 12, evicting 10, nominated 5, lacking 0"},
		{"words of a queue", queue + `return parts.words(m, "pods")`, "pods: 30 used, 8 guaranteed, 20 max, 10 evicting, 5 nominated, 7 pending"},
		{"badges of a queue", queue + `return parts.badges(queue).filter(Boolean).map((e) => e.className.replace("badge badge-", "") + " " + e.textContent).join(", ")`, "warn draining, warn over, bad over max, warn evicting, info nominated"},
		{"row of a queue", queue + `
			const row = parts.queueRow({ queue, fair: {}, kinds: ["pods"], place: { depth: 1, size: 1, at: 0 }, id: "x" });
			return [...row.querySelectorAll(".bad-text")].map((e) => e.textContent).join(", ")`, "30guar. 8 · max 20"},
		{"states of a node", nodes + `return list.stateWords({ schedulable: false, evictions: [1, 2], isReserved: true, nominations: [1] }).join(", ")`, "drained, 2 evictions, reserved, room is being made"},
		{"groups by state", nodes + `
			const entry = (id, node) => ({ id, sort: id, node: { schedulable: true, ...node }, m: { use: 0 }, attributes: {} });
			const all = [entry("a", {}), entry("b", { isReserved: true }), entry("c", { evictions: [1], isReserved: true }), entry("d", { schedulable: false, evictions: [1] })];
			return list.grouped(all, "", "state").map((g) => g.label + " " + g.entries.map((e) => e.id)).join(", ")`, "drained d, with evictions c, reserved b, schedulable a"},
		{"groups by use", nodes + `
			const all = [1.2, 1, 0.9, 0.6, 0.2, 0].map((use, i) => ({ id: String(i), sort: String(i), node: {}, m: { use }, attributes: {} }));
			return list.grouped(all, "", "use").map((g) => g.label).join(", ")`, "over 100 %, 95 to 100 %, 80 to 95 %, 50 to 80 %, below 50 %, not used"},
		{"a search in a panel that was left", `
			const { createFilters } = await import("./js/parts/filters.js"), went = [];
			await new Promise((done) => {
				for (const panel of ["queues", "nodes"]) { // where the page is by then
					const ctx = { route: () => ({ panel, query: new URLSearchParams() }), link: (to) => to, go() { went.push(panel); if (panel === "nodes") done(); } };
					const [field] = createFilters(ctx, "nodes").fields({ name: "search", label: "Search", kind: "search" });
					field.value = "x"; field.dispatchEvent(new Event("input"));
				}
			});
			return went.join(", ")`, "nodes"},
		{"percent", `const { percent } = await import("./js/format.js"); return [0, 0.004, 0.434, 0.996, 1, 4.8].map(percent).join(", ")`, "0 %, < 1 %, 43 %, > 99 %, 100 %, 480 %"},
		{"durations", `const { duration } = await import("./js/format.js"); return [2e4, 15e6, 3.27e9, 61e9, 7200e9, 7500e9, 90000e9].map(duration).join(", ")`, "20µs, 15ms, 3.2s, 1m 1s, 2h, 2h 5m, 1d 1h"},
		{"few amounts", `const { fewAmounts } = await import("./js/parts/kindchoice.js"); return fewAmounts({ vcore: 1500, memory: 1 << 30, "nvidia.com/gpu": 2, pods: 1, other: 1 }).textContent`, "vcore 1.5 · memory 1.0 GiB · pods 1 +2 more"},
		{"victims of a plan", `
			const { planDetails } = await import("./js/parts/plandetails.js");
			const ctx = { link: () => "#", now: () => 0 };
			const victims = ["releasing", "overdue", "ended"].map((state) => ({ allocationKey: state, applicationId: "a", state, nodeId: "n" }));
			const pane = planDetails(ctx, { time: 1, allocationKey: "k", applicationId: "a", nodeId: "n", outcome: "placed", trigger: "priority", lines: [], victims }, () => {});
			return [...pane.querySelectorAll("tbody .badge")].map((e) => e.className.replace("badge badge-", "") + " " + e.textContent).join(", ")`, "info releasing, bad overdue, plain ended"},
		{"outcome", outcome + `
			const summary = parts.summary(result), view = parts.outcomeView(ctx, result, { stale: false, choose() {} }).flat(9).filter(Boolean).map((e) => e.textContent);
			return [summary, ...view.filter((text) => /^Which|at most|are all/.test(text) || text.startsWith("The 3"))].join(" | ")`, "All 3 would run at once, nothing would be evicted, and 2 limits of users and groups would be exceeded. | " +
			"The 3 asksOn 2 nodes, at most 2 on one, such as n1.AskWhat becomes of itWhere, or why nota1runs at onceon n1a2runs at onceon n1a3runs at onceon n2 | " +
			"Which users and groups would use more than their limitsOfIn queueOver byUser annroot.mlvcore 1.5Group researchrootvcore 0.5 · 2 applications"},
	} {
		assert.Equal(t, evaluate[string](p, c.script), c.want, c.name)
	}
}
