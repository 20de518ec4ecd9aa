package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"gotest.tools/v3/assert"
)

// What tests read of applications.
type application struct {
	ApplicationID, QueueName, User, ApplicationState string
	HeldResource, PendingResource                    map[string]int64
	Allocations                                      []pod
}

// TestApplications: the list is what REST says, page by page.
func TestApplications(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	var list []application
	total := s.read(t, "partition/default/applications/active?limit=50", &list)
	p := s.page(t, "#/applications")
	p.arrives("applications")
	check := func(list []application) {
		t.Helper()
		p.until(`t.one("main .table tbody a").textContent === args[0]`, list[0].ApplicationID)
		rows := p.rows("Applications")[1:]
		assert.Equal(t, len(rows), len(list))
		for i, a := range list {
			want := []string{a.ApplicationID, a.ApplicationState, a.QueueName, a.User, orDash(amounts(a.HeldResource)), orDash(amounts(a.PendingResource))}
			assert.DeepEqual(t, rows[i][:len(want)], want)
		}
	}
	check(list)
	p.sees("main .pager", fmt.Sprintf("1–50 of %s applications", count(total)))
	p.click("[aria-label='Next page']", "")
	s.read(t, "partition/default/applications/active?limit=50&offset=50", &list)
	check(list)
	assert.Equal(t, evaluate[string](p, `return location.hash`), "#/applications?offset=50")
	p.click("[aria-label='Last page']", "")
	s.read(t, fmt.Sprintf("partition/default/applications/active?limit=50&offset=%d", (total-1)/50*50), &list)
	check(list)
	p.until(`document.querySelector("[aria-label='Next page']").disabled`)
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// TestApplicationFilters: fields pick, and stand in the address, which another
// reader can open.
func TestApplicationFilters(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	p := s.page(t, "#/applications")
	p.arrives("applications")
	p.press("/")
	p.press("night", kb.Enter)
	var list []application
	total := s.read(t, "partition/default/applications/active?application=night*", &list)
	p.sees("main .pager", count(total)+" applications")
	p.until(`t.all("main tbody tr").every((row) => row.cells[0].textContent.startsWith("night"))`)
	hash := evaluate[string](p, `return location.hash`)
	assert.Equal(t, hash, "#/applications?text=night")

	other := s.page(t, hash+"&queue=root.data.reports&status=running")
	other.arrives("applications")
	total = s.read(t, "partition/default/applications/active?application=night*&queue=root.data.reports&status=running", &list)
	other.sees("main .pager", count(total)+" applications")
	assert.Equal(t, evaluate[string](other, `return t.one("main select[name=queue]").value`), "root.data.reports")

	p.press("zzz", kb.Enter)
	p.sees("main .state-empty", "No application is like that")
	p.click("main .state-empty a", "Show all")
	p.until(`location.hash === "#/applications" && t.one("main tbody tr")`)
}

// TestEndedApplications: those that ended are there, with what they used.
func TestEndedApplications(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	p := s.page(t, "#/applications")
	p.arrives("applications")
	p.click("main nav[aria-label=Lists] a", "Ended")
	var list []application
	total := s.read(t, "partition/default/applications/completed?limit=50", &list)
	assert.Assert(t, total > 0)
	p.until(`t.one("main .table tbody a").textContent === args[0]`, list[0].ApplicationID)
	assert.Equal(t, p.rows("Applications")[1][1], list[0].ApplicationState)
	p.click("main tbody a", list[0].ApplicationID)
	p.sees("main h1", list[0].ApplicationID)
	p.sees("main", list[0].QueueName)
	p.click("main .crumbs a", "Applications")
	p.click("main nav[aria-label=Lists] a", "Rejected")
	p.sees("main", "No application was rejected")
}

// TestApplication: what it is, what waits and what runs, and a way to each.
func TestApplication(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	id := s.nominated(t).ApplicationID
	var app application
	s.read(t, "partition/default/application/"+id, &app)
	p := s.page(t, "#/applications/"+id)
	p.arrives("applications")
	p.sees("main h1", id)
	assert.Equal(t, p.pair("Queue"), app.QueueName)
	assert.Equal(t, p.pair("User"), app.User)
	assert.Equal(t, p.pair("Uses"), amounts(app.HeldResource))
	p.sees("main h2", fmt.Sprintf("Allocations (%s)", count(len(app.Allocations))))
	total := s.read(t, "partition/default/asks?limit=1&application="+id, &[]pod{})
	p.sees("main h2", fmt.Sprintf("Pending asks (%s)", count(total)))
	keys := p.column("Allocations", "Allocation")
	for _, key := range keys {
		assert.Assert(t, slices.ContainsFunc(app.Allocations, func(a pod) bool { return a.AllocationKey == key }), key)
	}
	p.press(kb.Escape)
	p.until(`location.hash === "#/applications"`)
}

// TestTaskGroups: the details of a gang count its placeholders.
func TestTaskGroups(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	var list []struct {
		ApplicationID   string
		PlaceholderData []struct {
			TaskGroupName             string
			Count, Replaced, TimedOut int64
		}
	}
	s.read(t, "partition/default/applications/active?application=model*", &list)
	assert.Assert(t, len(list) > 0)
	group := list[0].PlaceholderData[0]
	p := s.page(t, "#/applications/"+list[0].ApplicationID)
	p.arrives("applications")
	p.sees("main h2", "Task groups")
	assert.DeepEqual(t, p.column("Task groups", "Placeholders"), []string{fmt.Sprint(group.Count)})
	assert.DeepEqual(t, p.column("Task groups", "Replaced"), []string{fmt.Sprint(group.Replaced)})
	assert.DeepEqual(t, p.column("Task groups", "Timed out"), []string{fmt.Sprint(group.TimedOut)})
}

// TestPending: all that waits, how many for each reason, and why, one click away.
func TestPending(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	var asks []pod
	total := s.read(t, "partition/default/asks?limit=50&sort=requestTime", &asks)
	p := s.page(t, "#/applications")
	p.arrives("applications")
	p.click("main nav[aria-label=Lists] a", "Pending asks")
	p.sees("main .pager", "of "+count(total)+" asks")
	rows := p.rows("Pending asks")[1:]
	assert.Equal(t, len(rows), len(asks))
	for i, a := range asks {
		assert.Equal(t, rows[i][0], a.AllocationKey)
		assert.Assert(t, strings.HasPrefix(rows[i][1], capital(a.Why)), rows[i][1])
		assert.Equal(t, rows[i][2], amounts(a.Resource))
		assert.Equal(t, rows[i][3], a.Priority)
	}
	p.sees("main .reason[aria-pressed=true]", count(total))
	made := s.read(t, "partition/default/asks?why=room+is+being+made&sort=requestTime", &asks)
	p.click("main .reason", "Room is being made")
	p.sees("main .pager", fmt.Sprintf("%d asks", made))
	p.sees("main .reason[aria-pressed=true]", count(made))
	p.click("main tbody a", "Room is being made")
	p.sees("main h1", asks[0].AllocationKey)
	assert.Equal(t, evaluate[string](p, `return location.hash`), asks[0].hash())
}

// What tests read of an explanation.
type explanation struct {
	Why, NominatedNode string
	Before             int
	Nodes              []struct {
		Why, Nearest string
		Nodes        int
		Lacking      map[string]int64
	}
	Quota []struct {
		QueueName     string
		Lacking, Used map[string]int64
		Max           map[string]int64
	}
	Plan  *struct{ Summary string }
	Lines []string
}

// TestWhy: all nodes are there by what keeps the ask away, and the quota up to the
// root; the same as text can be read and copied.
func TestWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		play *play
		why  string
	}{{teams, "room is being made"}, {teams, "no node has room"}, {fairness, "queue quota exceeded"}, {limits, "user limit exceeded"}} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			s := c.play.site(t)
			ask := s.asks(t, "limit=1&why="+strings.ReplaceAll(c.why, " ", "+"))[0]
			var e explanation
			s.read(t, ask.explain(), &e)
			p := s.page(t, ask.hash())
			p.arrives("applications")
			p.sees("main .lead", capital(c.why))
			var sum int
			nodes := p.column("Nodes by reason", "Nodes")
			nearest := p.column("Nodes by reason", "Nearest")
			for i, group := range e.Nodes {
				assert.Equal(t, nodes[i], count(group.Nodes))
				assert.Equal(t, nearest[i], group.Nearest)
				sum += group.Nodes
			}
			assert.Equal(t, sum, len(s.stage.view.Load().Nodes), "every node has a reason")
			p.sees("main h2", fmt.Sprintf("All %s nodes", count(sum)))
			chain := evaluate[[]string](p, `return t.all("main .chain a").map((a) => a.textContent)`)
			assert.Equal(t, len(chain), len(e.Quota))
			for i, level := range e.Quota {
				assert.Equal(t, chain[i], level.QueueName)
				lacks := evaluate[bool](p, `return t.all("main .chain li")[args[0]].textContent.includes("lacks")`, i)
				assert.Equal(t, lacks, len(level.Lacking) > 0)
			}
			p.click("main summary", "The same as text")
			p.sees("main .raw pre", "")
			assert.Equal(t, evaluate[string](p, `return t.one("main .raw pre").textContent`), strings.Join(e.Lines, "\n"))
			p.click("main button", "Copy as text")
			p.until(`document.getElementById("announcer").textContent === "Copied"`)
			p.press(kb.Escape)
			p.until(`location.hash === args[0]`, "#/applications/"+ask.ApplicationID)
		})
	}
}

// TestVictim: an evicted allocation shows for which ask, with the plan.
func TestVictim(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	victim := s.victim(t)
	var e struct {
		Eviction struct{ For, Trigger string }
	}
	s.read(t, victim.explain(), &e)
	p := s.page(t, victim.hash())
	p.arrives("applications")
	p.sees("main .badge", "evicted")
	p.sees("main .lead", "to make room for "+e.Eviction.For)
	assert.Equal(t, p.pair("Needed by"), e.Eviction.For)
	assert.Equal(t, p.pair("Trigger"), capital(e.Eviction.Trigger))
	p.sees("main .plan", "")
	p.click("main .lead a", e.Eviction.For)
	p.sees("main h1", e.Eviction.For)
}

// TestUnknownPod: a link to what has gone long ago says so.
func TestUnknownPod(t *testing.T) {
	t.Parallel()
	p := teams.site(t).page(t, "#/applications/none/nothing%2F1")
	p.allow("404 (Not Found)")
	p.arrives("applications")
	p.sees("main .state-empty", "neither waiting nor running")
	p.click("main .state-empty a", "Its application")
	p.sees("main .state-empty", "There is no such application")
}
