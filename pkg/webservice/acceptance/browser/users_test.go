package browser

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// lowered is the stage of limits after the limit of ann and bob in root.ml was made a third.
func lowered(t *testing.T) *stage {
	t.Helper()
	s := limits.on(t).apart()
	after := *s.view.Load()
	root := after.Config.Root
	root.Queues = slices.Clone(root.Queues)
	i := slices.IndexFunc(root.Queues, func(q api.QueueConfig) bool { return q.Name == "ml" })
	few, err := s.kinds.Limits(map[string]int64{"vcore": 4000})
	assert.NilError(t, err)
	root.Queues[i].Limits = []api.Limit{{Users: []string{"ann", "bob"}, Max: few, ApplicationsMax: 4}}
	after.Config.Root = root
	s.view.Store(&after)
	return s
}

// lines are the texts of the cells of each line of the table of the panel.
func (p *page) lines() [][]string {
	p.t.Helper()
	return evaluate[[][]string](p, `return t.all("main tbody tr").map((r) => [...r.cells].map((c) => c.textContent.trim()))`)
}

// TestUsers: what is over a limit comes first, and each line says what REST says of the user in
// that queue.
func TestUsers(t *testing.T) {
	t.Parallel()
	s := lowered(t).serve(t)
	p := s.page(t, "#/users")
	p.arrives("users")
	lines := p.lines()
	for i, line := range lines {
		assert.Equal(t, line[6] == "", line[5] == "0", "%v: the oldest ask is as old as it is, and there is one if any waits", line)
		lines[i] = slices.Delete(line, 6, 7)
	}
	assert.DeepEqual(t, lines[0], []string{"ann", "root.ml", "vcore 12 · memory 24.0 GiB · pods 6", "vcore 4", "2 of 4", "6", "0", "over300 % vcore"})
	assert.DeepEqual(t, lines[1][:2], []string{"ann", "root"})
	i := slices.IndexFunc(lines, func(line []string) bool { return line[0] == "bob" })
	assert.DeepEqual(t, lines[i], []string{"bob", "root.ml", "vcore 12 · memory 24.0 GiB · pods 6", "vcore 4", "2 of 4", "6", "0", "over300 % vcore"})
	i = slices.IndexFunc(lines, func(line []string) bool { return line[0] == "frank" && line[1] == "root.web" })
	assert.DeepEqual(t, lines[i][3:], []string{"none", "3", "0", "0", "no limit"})
	var users []struct{ UserName string }
	total := s.read(t, "partition/default/usage/users", &users)
	p.sees("main .pager", count(total)+" users")

	p.press("/", "ca")
	p.until(`t.all("main tbody tr").length === 2 && location.hash.includes("text=ca")`)
	assert.Equal(t, p.lines()[0][0], "carol")
	p.press("zz")
	p.sees("main .state-empty", "No name begins so")
	p.click("main .state-empty a", "Show all")
	p.click("main thead button", "User")
	p.until(`location.hash.includes("sort=userName") && t.one("main th[aria-sort=ascending]")`)
	p.click("main tbody a", "bob")
	p.arrives("applications")
	p.until(`location.hash.includes("user=bob")`)
	p.do(back)
	p.arrives("users")
	p.click("main thead button", "Waits")
	p.until(`location.hash.includes("sort=-pendingAsks") && t.one("main th[aria-sort=descending]")`)
	p.click("main tbody a", "6")
	p.arrives("applications")
	p.until(`location.hash.includes("view=pending") && location.hash.includes("queue=root") && t.all("main tbody tr").length > 0`)
}

// TestGroupsOfUsers: what counts for a group, with its limits.
func TestGroupsOfUsers(t *testing.T) {
	t.Parallel()
	p := limits.site(t).page(t, "#/users")
	p.arrives("users")
	p.click("main .subtabs a", "Groups")
	p.sees("main tbody", "research")
	assert.DeepEqual(t, p.lines()[0][:2], []string{"research", "root"})
	assert.Equal(t, p.lines()[0][3], "vcore 60")
	p.sees("main .pager", "1 group")
}

// TestLimitsInQueueDetails: the limits of users and groups of a queue, which lead to what those
// have.
func TestLimitsInQueueDetails(t *testing.T) {
	t.Parallel()
	p := limits.site(t).page(t, "#/queues/root")
	p.arrives("queues")
	p.sees("main .details", "Limits of users and groups")
	p.sees("main .details", "any other user")
	p.click("main .details a", "research")
	p.arrives("users")
	p.sees("main tbody", "research")
	p.do(back)
	p.arrives("queues")
	p.click("main [role=treeitem]", "web")
	p.sees("main .details h2", "root.web")
	p.until(`!t.one("main .details").textContent.includes("Limits of users and groups")`)
}

// TestManyUsers: a page has a bounded number of lines however many users and queues there are.
func TestManyUsers(t *testing.T) {
	t.Parallel()
	s := limits.on(t).apart()
	after := *s.view.Load()
	after.Applications = manyUsers(2000, 30)
	s.view.Store(&after)
	p := s.serve(t).open(t, "#/users", look{})
	p.arrives("users")
	p.sees("main .pager", "2,000 users")
	assert.Equal(t, len(p.lines()), 50*10)
	p.sees("main tbody", "and 22 more queues")
}

// manyUsers are applications of so many users, each in so many queues.
func manyUsers(users, queues int) (out []*api.ApplicationView) {
	for u := range users {
		for q := range queues {
			key := api.ApplicationID(string(rune('a'+q)) + "-" + count(u))
			out = append(out, &api.ApplicationView{
				ID: key, User: "user-" + count(u), Queue: api.QueuePath("root.web.q" + count(q)), Used: resources.Amounts{1000},
				Allocations: []*api.Allocation{{Key: api.AllocationKey(key), Amounts: resources.Amounts{1000}}},
			})
		}
	}
	return out
}
