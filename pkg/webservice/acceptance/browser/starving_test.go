package browser

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// A starving cluster has a queue that lacks one kind of what is guaranteed to it and uses more
// of another, and pods that wait for it. Another pod waits for a node that it may not use, or
// for a limit.
type starving struct {
	*play
	queue   string
	over    []string // what is said beside that it waits
	kind    string   // that it lacks
	lacking string   // in metrics
	row     string   // of "narwhal queues", without spaces between cells
	under   string   // how many queues are under and wait

	starves, lacks, why string // the pod that waits for the guarantee, and what is said of it
	astray, fits        string // the other pod, and what would make it run, or is not enough
}

func played(example string) *play {
	return &play{example: example, after: 2 * time.Minute, until: func(*api.View) bool { return true }, asked: true}
}

var starvings = []starving{
	{
		play: played("starving.yaml"), queue: "vision", over: []string{"over in vcore"}, kind: "nvidia.com/gpu", lacking: "4", under: "1",
		row:     "nvidia.com/gpu 0 4 - 4 under its guarantee, waits",
		starves: "train/1", lacks: "root.vision lacks gpu 4 of what is guaranteed to it",
		why:    "Nothing is evicted by guarantee: with it queue root.vision would use vcore 14, where vcore 8 is guaranteed.",
		astray: "measure/1", fits: "What would make it run|This|Queue root.lab uses vcore 3 less, or its max is raised by that|And one of these" +
			"|The resource manager accepts it on west|Vcore 1 more becomes free on east",
	},
	{
		play: played("starving-below.yaml"), queue: "radio", over: []string{"over in memory", "over in vcore"}, kind: "xilinx.com/fpga", lacking: "2", under: "1",
		row:     "xilinx.com/fpga 0 2 - 2 under its guarantee, waits",
		starves: "decode/1", lacks: "root.radio lacks xilinx.com/fpga 2 of what is guaranteed to it",
		why:    "Nothing is evicted by guarantee: with it queue root.radio would use vcore 7 · memory 13.0 GiB, where vcore 4 · memory 8.0 GiB is guaranteed.",
		astray: "tune/1", fits: "What would make it run|Vcore 5 more becomes free on board",
	},
	{
		play: played("starving-memory.yaml"), queue: "graph", over: []string{"over in vcore"}, kind: "memory", lacking: "4.294967296e+10", under: "2",
		row:     "memory 6Gi 64Gi 1000Gi 40Gi under its guarantee, waits",
		starves: "load/1", lacks: "root.graph lacks memory 40.0 GiB of what is guaranteed to it",
		why:    "Nothing is evicted by guarantee: at 2026-11-21T08:01:05Z nothing was found whose eviction would make room: of what runs on node-1, the nearest, 3 same queue, 5 guaranteed to its queue.",
		astray: "more/1", fits: "What would make it run|This|The limit of user bob in queue root is raised to vcore 11|And this|Memory 44.0 GiB more becomes free on node-2",
	},
}

// TestAKindThatLacksIsNotHidden: a queue that lacks a kind of what is guaranteed to it is red in
// every panel, in the command and in the metric of the alert, whatever it uses of other kinds. The pod that
// waits for it says what is lacking, and why nothing is evicted.
func TestAKindThatLacksIsNotHidden(t *testing.T) {
	t.Parallel()
	for _, c := range starvings {
		t.Run(c.example, func(t *testing.T) {
			t.Parallel()
			s := c.site(t)
			p := s.page(t, "#/overview")
			p.arrives("overview")
			p.sees("main .tile-bad", "Under and waiting")
			value, _ := p.tile("Under and waiting")
			assert.Equal(t, value, c.under)
			for _, panel := range []struct{ id, hash, row string }{
				{"overview", "#/overview", "main .card tr:has(a[href*='queues/root." + c.queue + "'])"},
				{"queues", "#/queues?view=guarantees", "main .table tbody tr:has(a[href*='queues/root." + c.queue + "'])"},
				{"queues", "#/queues/root." + c.queue, "main .details"},
			} {
				p.goes(panel.hash)
				p.arrives(panel.id)
				p.sees(panel.row, "under, waiting")
				for _, over := range c.over {
					p.sees(panel.row, over)
				}
				for _, width := range []int64{1440, 1400} {
					p.becomes(look{width: width})
					p.audits("wide", "cut", "overlapping")
				}
			}

			p.until(`t.all("main [role=treeitem] .queue-label").some((e) => e.textContent === args[0] && e.clientWidth > 10 && e.scrollWidth <= e.clientWidth + 1)`, c.queue)

			w := httptest.NewRecorder()
			s.rest.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ws/v1/metrics", nil))
			assert.Assert(t, cmp.Contains(w.Body.String(), `narwhal_queue_guarantee_lacking{partition="`+partition+`",queue="root.`+c.queue+`",resource="`+c.kind+`"} `+c.lacking+"\n"))
			var root client.Queue
			s.read(t, "partition/default/queues", &root)
			var table bytes.Buffer
			assert.NilError(t, client.QueuesTable(&root).WriteIn(&table, client.Layout{}))
			assert.Assert(t, cmp.Contains(strings.Join(strings.Fields(table.String()), " "), c.row), table.String())

			p.goes("#/applications/" + strings.Split(c.starves, "/")[0] + "/" + strings.ReplaceAll(c.starves, "/", "%2F"))
			p.arrives("applications")
			p.sees("main .card", c.lacks)
			p.sees("main .card", c.why)
		})
	}
}

// TestRemediesWereTried: a node that the resource manager refuses is no remedy, and what is not
// enough is told as such, with what remains.
func TestRemediesWereTried(t *testing.T) {
	t.Parallel()
	for _, c := range starvings {
		t.Run(c.example, func(t *testing.T) {
			t.Parallel()
			p := c.site(t).page(t, "#/applications/"+strings.Split(c.astray, "/")[0]+"/"+strings.ReplaceAll(c.astray, "/", "%2F"))
			p.arrives("applications")
			p.sees("main .card .remedies", "")
			told := evaluate[string](p, `
				const card = document.querySelector("main .remedies").closest(".card");
				return [...card.querySelectorAll("h2, p, li")].map((e) => e.textContent.trim()).join("|")`)
			assert.Equal(t, told, c.fits)
		})
	}
}
