package placement

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/access"
)

// An oracle is placement as the documents tell it, written without looking at the code: a
// table of queues by path, and one sentence after the other. The differences that
// docs/yunikorn.md names are marked.
type oracle struct {
	tree    oracleTree
	request Request
}

// An oracleTree is queues by path: what they are, and their users, which may submit below
// them too.
type oracleTree map[string]oracleQueue

type oracleQueue struct {
	Queue
	users []string
}

func (t oracleTree) Queue(path string) Queue { return t[path].Queue }

func (t oracleTree) MaySubmit(path string, user access.User) bool {
	elements := strings.Split(path, ".")
	for n := len(elements); n > 0; n-- {
		for _, name := range t[strings.Join(elements[:n], ".")].users {
			if name == user.Name || name == "*" {
				return true
			}
		}
	}
	return false
}

// place is the path, and whether it is made; an empty path is none. Difference: what runs
// already is placed as if it came anew before access lists are left aside for it, and goes
// to the default queue before the recovery queue unless it asks for a queue that is gone.
func (o oracle) place(rules []Rule) (path string, made bool) {
	wish := strings.ToLower(strings.Trim(o.request.Queue, " "))
	if wish != "" && wish != "root" && !strings.HasPrefix(wish, "root.") {
		wish = "root." + wish
	}
	gone := o.request.Forced && wish != "" && !o.tree[wish].Exists
	for _, open := range []bool{false, true} {
		if open && !o.request.Forced {
			return "", false
		}
		for _, rule := range rules {
			if path := o.resolve(rule); path != "" {
				if made, ok := o.usable(path, rule.Create, open); ok {
					return path, made
				}
			}
		}
		if _, ok := o.usable("root.default", false, open); ok && !gone {
			return "root.default", false
		}
	}
	return "root.@recovery@", !o.tree["root.@recovery@"].Exists
}

// usable reports whether the application may go to a path. Difference: a path that cannot be
// made counts as none, and the next rule is tried.
func (o oracle) usable(path string, create, open bool) (made, ok bool) {
	if strings.HasPrefix(path+".", "root.@recovery@.") {
		return false, false // no application goes there by name
	}
	if q := o.tree[path]; q.Exists {
		return false, q.Leaf && (o.request.Forced || !q.Draining) && (open || o.tree.MaySubmit(path, o.request.User))
	}
	elements := strings.Split(path, ".")
	if !create || len(elements) > 32 {
		return false, false
	}
	for n := len(elements) - 1; n > 0; n-- {
		above := strings.Join(elements[:n], ".")
		if q := o.tree[above]; q.Exists {
			return true, !q.Leaf && !q.Draining && (open || o.tree.MaySubmit(above, o.request.User))
		}
	}
	return false, false
}

// resolve is the path that a rule leads to, empty if none. Difference: an error of a rule is
// no match of that rule, and the application is not rejected for it.
func (o oracle) resolve(rule Rule) string {
	name, own := "", true
	switch rule.Kind {
	case Provided:
		name = o.request.Queue
	case User:
		name, own = strings.ReplaceAll(o.request.User.Name, ".", "_dot_"), false
	case Tag:
		for key, value := range o.request.Tags {
			if strings.ToLower(key) == rule.Value {
				name = value
			}
		}
	case Fixed:
		name = rule.Value
	}
	name = strings.ToLower(strings.Trim(name, " "))
	if name == "" || !o.filtered(rule.Filter) {
		return ""
	}
	full := own && (name == "root" || strings.HasPrefix(name, "root."))
	if !full && rule.Kind != Fixed {
		name = strings.ReplaceAll(name, ".", "_dot_")
	}
	for element := range strings.SplitSeq(name, ".") {
		if !oracleName.MatchString(element) {
			return ""
		}
	}
	if full {
		return name
	}
	if rule.Parent == nil {
		return "root." + name
	}
	above := o.resolve(*rule.Parent)
	if q := o.tree[above]; above == "" || q.Leaf || !q.Exists && !rule.Parent.Create {
		return ""
	}
	return above + "." + name
}

// filtered reports whether a filter lets the user pass. The lists of the test are names.
func (o oracle) filtered(f Filter) bool {
	named := false
	for _, name := range f.Users.names {
		named = named || name == o.request.User.Name
	}
	for _, name := range f.Groups.names {
		for _, group := range o.request.User.Groups {
			named = named || name == group
		}
	}
	if len(f.Users.names)+len(f.Groups.names) == 0 {
		named = true
	}
	return named != f.Deny
}

var oracleName = regexp.MustCompile("^[a-z0-9_:#/@-]{1,64}$")

// A maker draws random trees, rules and requests.
type maker struct{ *rand.Rand }

func (m maker) pick(texts ...string) string { return texts[m.IntN(len(texts))] }

func (m maker) tree() oracleTree {
	t := oracleTree{}
	m.queue(t, "root", 0)
	return t
}

func (m maker) queue(t oracleTree, path string, depth int) {
	q := oracleQueue{Queue: Queue{Exists: true, Leaf: depth > 0 && m.IntN(2) == 0, Draining: depth > 0 && m.IntN(6) == 0}}
	if m.IntN(3) == 0 {
		q.users = []string{m.pick("ann", "b.ob", "*")}
	}
	t[path] = q
	for range 4 - depth {
		if !q.Leaf {
			m.queue(t, path+"."+m.name(), depth+1)
		}
	}
	if depth == 0 {
		for path := range t { // a name may be drawn twice, and only the last counts
			for above := path; above != "root"; {
				above = above[:strings.LastIndexByte(above, '.')]
				if t[above].Leaf {
					delete(t, path)
				}
			}
		}
	}
}

func (m maker) name() string {
	return m.pick("a", "b", "ann", "b_dot_ob", "default", "@recovery@", "x")
}

func (m maker) wish() string {
	return m.pick("", " ", "a", "B", "root", "root.a", "Root.a.b", "root.b.x", "a.b", "root.@recovery@", "@RECOVERY@", "root.default",
		"rootjobs", "root.", ".", "ä", strings.Repeat("n", 65), "root."+strings.Repeat("d.", 40)+"d", "root.@recovery@.a", "b ob", "\x00")
}

func (m maker) rule(depth int) Rule {
	r := Rule{Kind: Kind(m.IntN(4)), Create: m.IntN(2) == 0}
	switch r.Kind {
	case Tag:
		r.Value = m.pick("namespace", "team")
	case Fixed:
		r.Value = m.pick("a", "b", "a.b", "root.a", "root.b.x", "rootjobs", "root", "default", "@recovery@")
	}
	if m.IntN(3) == 0 {
		r.Filter = Filter{Deny: m.IntN(2) == 0}
		if m.IntN(3) > 0 {
			r.Filter.Users.names = []string{m.pick("ann", "b.ob"), "eve"}
		}
		if m.IntN(3) == 0 {
			r.Filter.Groups.names = []string{m.pick("dev", "ops")}
		}
	}
	if depth < 3 && m.IntN(2) == 0 {
		above := m.rule(depth + 1)
		r.Parent = &above
	}
	return r
}

func (m maker) request() Request {
	r := Request{Queue: m.wish(), User: access.User{Name: m.pick("ann", "b.ob", "eve", "Ann", "m$", "")}, Forced: m.IntN(5) == 0}
	if m.IntN(2) == 0 {
		r.User.Groups = []string{m.pick("dev", "qa")}
	}
	r.Tags = map[string]string{}
	if m.IntN(2) == 0 {
		r.Tags[m.pick("namespace", "Namespace", "NAMESPACE")] = m.wish()
	}
	if m.IntN(2) == 0 {
		r.Tags["team"] = m.wish()
	}
	return r
}

// TestPlacesLikeTheOracle compares random trees, rules and requests with the oracle.
func TestPlacesLikeTheOracle(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range uint64(10_000) {
		m := maker{rand.New(rand.NewPCG(seed, 30))}
		tree, request := m.tree(), m.request()
		var rules []Rule
		for range 1 + m.IntN(4) {
			rules = append(rules, m.rule(0))
		}
		path, made := oracle{tree, request}.place(rules)
		got, err := Place(rules, request, tree)
		when := fmt.Sprintf("seed %d: %+v in %v: %v", seed, request, tree, err)
		assert.Equal(t, err == nil, path != "", when)
		assert.Equal(t, got.Path, path, when)
		assert.Equal(t, got.Create, made, when)
		if err != nil {
			assert.Assert(t, len(err.Error()) < 4000, when)
		}
		switch {
		case path == "":
			outcomes["none"]++
		case made:
			outcomes["made"]++
		case got.Rule == nil:
			outcomes[path]++
		default:
			outcomes["found"]++
		}
	}
	t.Logf("%v", outcomes)
	for _, outcome := range []string{"none", "made", "found", Default, Recovery} {
		assert.Assert(t, outcomes[outcome] > 50, outcome)
	}
}
