package webservice

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// limited is the partition of the fixture with other limits and applications, each with one
// allocation.
func limited(t *testing.T, root api.QueueConfig, apps ...*api.ApplicationView) http.Handler {
	t.Helper()
	w := newWorld(t)
	view := *w.Views[w.Names[0]]
	view.Config.Root, view.Applications = root, apps
	for i, app := range apps {
		app.ID = api.ApplicationID(fmt.Sprint("app-", i))
		app.Allocations = []*api.Allocation{{Key: api.AllocationKey(fmt.Sprint("pod-", i)), Amounts: app.Used}}
	}
	w.Views[w.Names[0]] = &view
	return w.service(t).Handler()
}

func read(t *testing.T, h http.Handler, path string, into any) {
	t.Helper()
	answer := ask(h, http.MethodGet, "/ws/v1/partition/default/"+path)
	assert.Equal(t, answer.Code, http.StatusOK, answer.Body.String())
	assert.NilError(t, json.Unmarshal(answer.Body.Bytes(), into))
}

// TestPartOfLimits: the part of a limit that is used most is that of any queue and kind, and of
// applications. It is beyond 100 only if more is used than may be.
func TestPartOfLimits(t *testing.T) {
	most := func(vcore, memory int64) resources.Limits { return resources.Limits{vcore, memory} }
	for name, c := range map[string]struct {
		root, low *api.Limit
		used      resources.Amounts
		want      int64
	}{
		"no limit":                   {nil, nil, resources.Amounts{500}, 0},
		"half":                       {&api.Limit{Max: most(1000, 1000)}, nil, resources.Amounts{500, 100}, 50},
		"the kind used most":         {&api.Limit{Max: most(1000, 1000)}, nil, resources.Amounts{500, 700}, 70},
		"another kind is unlimited":  {&api.Limit{Max: resources.Limits{1000, resources.Unlimited}}, nil, resources.Amounts{500, 700}, 50},
		"the queue below has less":   {&api.Limit{Max: most(1000, 1000)}, &api.Limit{Max: most(600, 1000)}, resources.Amounts{300, 0}, 50},
		"the queue above has less":   {&api.Limit{Max: most(600, 1000)}, &api.Limit{Max: most(1000, 1000)}, resources.Amounts{300, 0}, 50},
		"all":                        {&api.Limit{Max: most(1000, 1000)}, nil, resources.Amounts{1000, 0}, 100},
		"nearly all":                 {&api.Limit{Max: most(1000, 1000)}, nil, resources.Amounts{999, 0}, 99},
		"a little more":              {&api.Limit{Max: most(1000, 1000)}, nil, resources.Amounts{1001, 0}, 101},
		"twice as much":              {&api.Limit{Max: most(1000, 1000)}, nil, resources.Amounts{2000, 0}, 200},
		"none of it may be used":     {&api.Limit{Max: most(0, 1000)}, nil, resources.Amounts{3, 0}, 300},
		"none of it is used":         {&api.Limit{Max: most(0, 1000)}, nil, resources.Amounts{0, 10}, 1},
		"amounts that do not fit":    {&api.Limit{Max: most(1<<62, 1000)}, nil, resources.Amounts{1 << 61, 0}, 50},
		"applications":               {&api.Limit{ApplicationsMax: 4}, nil, resources.Amounts{1}, 25},
		"any number of applications": {&api.Limit{Max: most(1000, 1000)}, nil, resources.Amounts{100}, 10},
		"applications of the queue":  {nil, &api.Limit{ApplicationsMax: 1}, resources.Amounts{1}, 100},
	} {
		root := api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "low"}}}
		for i, limit := range []*api.Limit{c.root, c.low} {
			if limit != nil {
				limit.Users, limit.Groups = []string{"*"}, []string{"dev"}
				[]*api.QueueConfig{&root, &root.Queues[0]}[i].Limits = []api.Limit{*limit}
			}
		}
		h := limited(t, root, &api.ApplicationView{Queue: "root.low", User: "anna", Group: "dev", Used: c.used})
		var users, groups []struct{ LimitPercent int64 }
		read(t, h, "usage/users", &users)
		read(t, h, "usage/groups", &groups)
		assert.Equal(t, users[0].LimitPercent, c.want, name)
		assert.Equal(t, groups[0].LimitPercent, c.want, name)
	}
}

// TestUsersOverTheirLimitsFirst: users and groups are sorted by the part of a limit and found by
// name. The limit of a name goes before that of all others.
func TestUsersOverTheirLimitsFirst(t *testing.T) {
	root := api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "low"}}, Limits: []api.Limit{
		{Users: []string{"anna", "bob"}, Groups: []string{"dev"}, Max: resources.Limits{1000}},
		{Users: []string{"*"}, Groups: []string{"*"}, Max: resources.Limits{100}},
	}}
	app := func(user, group string) *api.ApplicationView {
		return &api.ApplicationView{Queue: "root.low", User: user, Group: group, Used: resources.Amounts{150}}
	}
	h := limited(t, root, app("anna", "dev"), app("bob", "dev"), app("bob", "dev"), app("carl", "ops"), app("dora", "opera"))
	names := func(query string) (out []string) {
		var list []struct{ UserName, GroupName string }
		read(t, h, query, &list)
		for _, one := range list {
			out = append(out, one.UserName+one.GroupName)
		}
		return out
	}
	assert.DeepEqual(t, names("usage/users?sort=-limitPercent"), []string{"carl", "dora", "bob", "anna"})
	assert.DeepEqual(t, names("usage/groups?sort=-limitPercent"), []string{"opera", "ops", "dev"})
	assert.DeepEqual(t, names("usage/groups?group=op*&limit=5"), []string{"opera", "ops"})
	assert.DeepEqual(t, names("usage/groups?group=dev"), []string{"dev"})
	assert.DeepEqual(t, names("usage/groups?group=nobody"), []string(nil))
}

// TestLimitsOfAQueue: a queue says which limits of users and groups it has, one of zero too.
func TestLimitsOfAQueue(t *testing.T) {
	root := api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "low", Limits: []api.Limit{
		{Users: []string{"anna"}, Groups: []string{"dev", "*"}, Max: resources.Limits{0, resources.Unlimited}, ApplicationsMax: 3},
		{Users: []string{"*"}, ApplicationsMax: 1},
	}}}}
	h := limited(t, root)
	var got struct{ Limits []jsonObject }
	read(t, h, "queue/root.low", &got)
	assert.DeepEqual(t, got.Limits, []jsonObject{
		{"users": []any{"anna"}, "groups": []any{"dev", "*"}, "maxResources": jsonObject{"memory": 0.0}, "maxApplications": 3.0},
		{"users": []any{"*"}, "maxApplications": 1.0},
	})
	got.Limits = nil
	read(t, h, "queue/root.sys", &got)
	assert.Equal(t, len(got.Limits), 0)
}
