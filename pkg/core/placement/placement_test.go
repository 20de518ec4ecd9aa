package placement

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/access"
)

// tree is queues by path: what they are, and the only user that may use them and what is
// below; empty is every user.
type tree map[string]node

type node struct {
	Queue
	user string
}

func (t tree) Queue(path string) Queue { return t[path].Queue }

func (t tree) MaySubmit(path string, user access.User) bool {
	for ; path != ""; path = path[:max(strings.LastIndexByte(path, '.'), 0)] {
		if q := t[path]; q.user != "" {
			return q.user == user.Name || q.user == "*"
		}
	}
	return false
}

var (
	parent   = node{Queue: Queue{Exists: true}}
	leaf     = node{Queue: Queue{Exists: true, Leaf: true}}
	draining = node{Queue: Queue{Exists: true, Leaf: true, Draining: true}}
)

// some is a tree with some of everything.
func some() tree {
	top := parent
	top.user = "*"
	own := leaf
	own.user = "bob"
	gone := parent
	gone.Draining = true
	return tree{
		"root": top, "root.default": leaf, "root.a": parent, "root.a.b": leaf, "root.old": draining, "root.bobs": own, "root.gone": gone,
	}
}

func fixed(value string, create bool) Rule { return Rule{Kind: Fixed, Value: value, Create: create} }

// under gives a rule a parent.
func under(r, above Rule) Rule {
	r.Parent = &above
	return r
}

func TestRules(t *testing.T) {
	made := true
	provided, user, namespace := Rule{}, Rule{Kind: User, Create: made}, Rule{Kind: Tag, Value: "namespace", Create: made}
	for _, c := range []struct {
		name   string
		rule   Rule
		queue  string
		want   string // the path, with a + if it is made; or part of an error
		tags   map[string]string
		forced bool
		asUser string
	}{
		{name: "a full path", rule: provided, queue: "root.a.b", want: "root.a.b"},
		{name: "in any case", rule: provided, queue: "Root.A.B", want: "root.a.b"},
		{name: "a name below root", rule: provided, queue: "bobs", asUser: "bob", want: "root.bobs"},
		{name: "a name with dots", rule: Rule{Create: made}, queue: "x.y", want: "root.x_dot_y+"},
		{name: "a full path needs no parent", rule: under(provided, fixed("nope", false)), queue: "root.a.b", want: "root.a.b"},
		{name: "a name below a parent", rule: under(provided, fixed("a", false)), queue: "b", want: "root.a.b"},
		{name: "no wish", rule: provided, want: "rule provided: the application has no queue"},
		{name: "no such queue", rule: provided, queue: "root.x", want: "queue root.x does not exist"},
		{name: "not a leaf", rule: provided, queue: "root.a", want: "queue root.a is not a leaf"},
		{name: "drains", rule: provided, queue: "root.old", want: "queue root.old is draining"},
		{name: "drains, and its pods run", rule: provided, queue: "root.old", forced: true, want: "root.old"},
		{name: "not allowed", rule: provided, queue: "root.bobs", want: "user ann may not submit to queue root.bobs"},
		{name: "not allowed, and its pods run", rule: provided, queue: "root.bobs", forced: true, want: "root.bobs"},
		{name: "user", rule: user, want: "root.ann+"},
		{name: "user with dots", rule: user, asUser: "Ann.Lee", want: "root.ann_dot_lee+"},
		{name: "user that is no name", rule: user, asUser: "ann$", want: `"ann$" is no name of a queue`},
		{name: "tag", rule: namespace, tags: map[string]string{"Namespace": "Prod"}, want: "root.prod+"},
		{name: "tag with a full path", rule: namespace, tags: map[string]string{"namespace": "root.a.b"}, want: "root.a.b"},
		{name: "no tag", rule: namespace, tags: map[string]string{"namespace": ""}, want: "the application has no tag namespace"},
		{name: "fixed", rule: fixed("a.b", false), want: "root.a.b"},
		{name: "fixed at the root", rule: fixed("root.a.b", false), want: "root.a.b"},
		{name: "only looks like the root", rule: fixed("rootjobs", made), want: "root.rootjobs+"},
		{name: "user below a tag", rule: under(user, namespace), tags: map[string]string{"namespace": "a"}, want: "root.a.ann+"},
		{name: "below what is made too", rule: under(user, namespace), tags: map[string]string{"namespace": "new"}, want: "root.new.ann+"},
		{name: "below what is not made", rule: under(user, fixed("new", false)), want: "parent rule fixed new: queue root.new does not exist, and the rule makes none"},
		{name: "below a leaf", rule: under(user, fixed("a.b", made)), want: "parent rule fixed a.b: queue root.a.b is a leaf"},
		{name: "deep below a leaf", rule: fixed("root.a.b.x.y", made), want: "queue root.a.b.x.y cannot be made, because root.a.b is a leaf"},
		{name: "below what drains", rule: fixed("gone.x", made), want: "queue root.gone.x cannot be made, because root.gone is draining"},
		{name: "below what is not allowed", rule: fixed("no.x", made), asUser: "eve", want: "queue root.no.x cannot be made, because user eve may not submit to root.no"},
		{name: "recovery", rule: Rule{Create: made}, queue: "root.@recovery@", want: "queue root.@recovery@ takes only applications whose queue is gone"},
		{name: "below recovery", rule: Rule{Create: made}, queue: "root.@recovery@.x", want: "takes only applications whose queue is gone"},
		{name: "recovery as a name", rule: Rule{Create: made}, queue: "@Recovery@", want: "takes only applications whose queue is gone"},
		{name: "too deep", rule: Rule{Create: made}, queue: "root" + strings.Repeat(".x", DepthMax), want: "is deeper than 32 levels"},
		{name: "as deep as may be", rule: Rule{Create: made}, queue: "root" + strings.Repeat(".x", DepthMax-1), want: "root" + strings.Repeat(".x", DepthMax-1) + "+"},
		{name: "a hostile name", rule: Rule{Create: made}, queue: strings.Repeat("ü", 100_000), want: "is no name of a queue"},
		{name: "an empty element", rule: Rule{Create: made}, queue: "root..x", want: `"" is no name of a queue`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.asUser == "" {
				c.asUser = "ann"
			}
			queues := some()
			no := parent
			no.user = "ann"
			queues["root.no"] = no
			delete(queues, Default) // so that a failure is seen
			request := Request{Queue: c.queue, User: access.User{Name: c.asUser}, Tags: c.tags, Forced: c.forced}
			got, err := Place([]Rule{c.rule}, request, queues)
			if err != nil && !strings.Contains(c.want, "+") && strings.Contains(err.Error(), c.want) {
				assert.Assert(t, len(err.Error()) < 1000)
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, got.Path+map[bool]string{true: "+"}[got.Create], c.want)
		})
	}
}

func TestRulesAreTriedInTurn(t *testing.T) {
	rules := []Rule{{}, {Kind: Tag, Value: "namespace"}, fixed("old", false), fixed("a.b.x", true), fixed("a.b", false)}
	request := Request{Queue: "root.x", User: access.User{Name: "ann"}}
	got, err := Place(rules, request, some())
	assert.NilError(t, err)
	assert.Equal(t, got.Path, "root.a.b")
	assert.Equal(t, got.Rule, &rules[4])

	got, err = Place(rules[:4], request, some())
	assert.NilError(t, err)
	assert.Equal(t, got, Placement{Path: Default})

	request.Forced = true
	got, err = Place(rules[:2], request, some())
	assert.NilError(t, err)
	assert.Equal(t, got, Placement{Path: Recovery, Create: true})

	request.Forced = false
	empty := some()
	delete(empty, Default)
	_, err = Place(rules[:4], request, empty)
	assert.Error(t, err, strings.Join([]string{
		"rule provided: queue root.x does not exist",
		"rule tag namespace: the application has no tag namespace",
		"rule fixed old: queue root.old is draining",
		"rule fixed a.b.x: queue root.a.b.x cannot be made, because root.a.b is a leaf",
		"queue root.default does not exist",
	}, "; "))
}

func TestFilters(t *testing.T) {
	ann := access.User{Name: "ann", Groups: []string{"dev", "qa"}}
	for _, c := range []struct {
		users, groups []string
		allow         bool // of ann, without Deny
	}{
		{nil, nil, true},
		{[]string{"ann"}, nil, true},
		{[]string{"bob"}, nil, false},
		{[]string{"bob", "ann"}, nil, true},
		{[]string{"a.*"}, nil, true},
		{[]string{"^b"}, nil, false},
		{[]string{"ann$"}, nil, false}, // the name of a machine
		{nil, []string{"qa"}, true},
		{nil, []string{"^(qa|ops)$"}, true},
		{[]string{"bob"}, []string{"ops"}, false},
		{[]string{"bob"}, []string{"dev"}, true},
		{[]string{"a.*", "b.*"}, nil, false}, // several are names
	} {
		users, err := NewNames(c.users)
		assert.NilError(t, err)
		groups, err := NewNames(c.groups)
		assert.NilError(t, err)
		f := Filter{Users: users, Groups: groups}
		assert.Equal(t, f.applies(ann), c.allow, "%v %v", c.users, c.groups)
		f.Deny = true
		assert.Equal(t, f.applies(ann), !c.allow, "deny %v %v", c.users, c.groups)
	}
	_, err := NewNames([]string{"a("})
	assert.ErrorContains(t, err, `"a(" is no regular expression`)
}

func FuzzPlace(f *testing.F) {
	f.Add("root.a.b", "ann", "prod")
	f.Fuzz(func(t *testing.T, queue, user, namespace string) {
		rules := []Rule{{Create: true}, under(Rule{Kind: User, Create: true}, Rule{Kind: Tag, Value: "namespace", Create: true})}
		got, err := Place(rules, Request{Queue: queue, User: access.User{Name: user}, Tags: map[string]string{"namespace": namespace}}, some())
		if err != nil {
			return
		}
		assert.NilError(t, check(got.Path))
		assert.Assert(t, strings.HasPrefix(got.Path, "root.") && !strings.HasPrefix(got.Path, Recovery))
	})
}
