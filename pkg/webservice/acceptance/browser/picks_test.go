package browser

import (
	"testing"

	"gotest.tools/v3/assert"
)

// choose picks an option of a field as people do.
func (p *page) choose(field, value string) {
	p.t.Helper()
	p.sees("main select[name="+field+"]", "")
	evaluate[any](p, `
		const select = t.one("main select[name=" + args[0] + "]");
		select.value = args[1];
		select.dispatchEvent(new Event("change", { bubbles: true }));
		return true`, field, value)
}

// TestPickAsks: asks are picked by what they are.
func TestPickAsks(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	all := s.read(t, "partition/default/asks?limit=1", &[]pod{})
	counted := 0
	p := s.page(t, "#/applications?view=pending")
	p.arrives("applications")
	for _, class := range []string{"regular", "daemonset", "placeholder", "owner", "opted out"} {
		n := s.read(t, "partition/default/asks?limit=1&class="+escaped(class), &[]pod{})
		counted += n
		p.choose("class", class)
		p.until(`new URLSearchParams(location.hash.split("?")[1]).get("class") === args[0]`, class)
		if n == 0 {
			p.sees("main", "No ask waits like that")
			continue
		}
		p.sees("main .pager", count(n)+" ask")
	}
	assert.Equal(t, counted, all)
}

// TestPickPlans: plans are picked by user and by the class of their victims.
func TestPickPlans(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	var plans []struct {
		User    string
		Victims []struct{ Class, User string }
	}
	all := s.read(t, "partition/default/preemptions?victims=true", &plans)
	user := plans[0].Victims[0].User
	picked := 0
	for _, one := range plans {
		if one.User == user || one.Victims[0].User == user {
			picked++
		}
	}
	p := s.page(t, "#/preemption?victims=true")
	p.arrives("preemption")
	p.sees("main .pager", count(all)+" plans")
	p.click("main input[name=user]", "")
	p.press(user, "\r")
	n := s.read(t, "partition/default/preemptions?victims=true&user="+escaped(user)+"*", &plans)
	assert.Assert(t, 0 < picked && picked <= n && n <= all, "%d, %d, %d", picked, n, all)
	p.sees("main .pager", count(n)+" plans")
	regular := s.read(t, "partition/default/preemptions?class=regular&victims=true&user="+escaped(user)+"*", &plans)
	p.choose("class", "regular")
	p.until(`location.hash.includes("class=regular")`)
	p.sees("main .pager", count(regular)+" plans")
	p.choose("class", "foreign")
	p.sees("main", "No plan is like that")
}
