package query_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

type pod struct {
	Name  string            `json:"name"`
	State string            `json:"state"`
	Age   int               `json:"age"`
	Uses  resources.Amounts `json:"uses,omitempty"`
}

var pods = []pod{{"web-1", "running", 3, resources.Amounts{4}}, {"web-2", "ended", 1, nil}, {"db-1", "running", 2, resources.Amounts{8}}}

// listed is what a list answers to a query, the head of the answer, or the error.
func listed(t *testing.T, asked string) (string, http.Header) {
	t.Helper()
	kinds := new(resources.Kinds)
	_, err := kinds.Intern("vcore")
	assert.NilError(t, err)
	r := httptest.NewRequest(http.MethodGet, "/pods?"+asked, nil)
	value, err := query.List(r, kinds, pods, func(p pod, out *pod) { *out = p },
		query.Texts("name", func(p pod) string { return p.Name }),
		query.CountedWords("state", []string{"running", "ended"}, func(p pod) string { return p.State }),
		query.Truth("young", func(p pod) bool { return p.Age < 3 }),
		query.By("size", func(value string) (func(pod) bool, error) {
			return func(p pod) bool { return len(p.Uses) > 0 }, query.OneOf("size", value, []string{"some"})
		}))
	if err != nil {
		return err.Error(), nil
	}
	var out bytes.Buffer
	e := encoder.New(kinds, &out)
	e.Any(value)
	e.Flush()
	head := http.Header{}
	value.(*query.Selection).Describe(head, r.URL)
	return out.String(), head
}

// TestList asks one thing at a time, then several.
func TestList(t *testing.T) {
	for asked, want := range map[string]string{
		"fields=name":                           `[{"name":"web-1"},{"name":"web-2"},{"name":"db-1"}]`,
		"fields=age,name&name=db-1":             `[{"name":"db-1","age":2}]`,
		"fields=name&name=web-*":                `[{"name":"web-1"},{"name":"web-2"}]`,
		"fields=name&young=true":                `[{"name":"web-2"},{"name":"db-1"}]`,
		"fields=name&size=some":                 `[{"name":"web-1"},{"name":"db-1"}]`,
		"fields=name&sort=age":                  `[{"name":"web-2"},{"name":"db-1"},{"name":"web-1"}]`,
		"fields=name&sort=-uses.vcore":          `[{"name":"db-1"},{"name":"web-1"},{"name":"web-2"}]`,
		"fields=name&offset=1":                  `[{"name":"web-2"},{"name":"db-1"}]`,
		"fields=name&offset=1&limit=1":          `[{"name":"web-2"}]`,
		"fields=name&offset=7":                  `[]`,
		"fields=name&state=running&sort=name":   `[{"name":"db-1"},{"name":"web-1"}]`,
		"fields=name&young=false&state=running": `[{"name":"web-1"}]`,
		"fields=name&state=e*":                  `[{"name":"web-2"}]`,

		"fields=none":        "Parameter fields names \"none\", which is no field; there are: name, state, age, uses",
		"young=maybe":        `Parameter young is "maybe": true or false is needed`,
		"state=walking":      `Parameter state is "walking": one of running, ended is needed`,
		"state=w*":           `Parameter state is "w*": one of running, ended is needed`,
		"size=all":           `Parameter size is "all": one of some is needed`,
		"name=":              "Parameter name is empty",
		"name=a&name=b":      "Parameter name is given 2 times",
		"limit=0":            `Parameter limit is "0": a whole number from 1 to 2147483647 is needed`,
		"sort=uses":          `Parameter sort is "uses": a kind after a dot is needed for quantities, as in allocated.vcore, and for nothing else`,
		"sort=uses.unicorns": `Parameter sort names the kind "unicorns", which there is not`,
		"count=name":         `Parameter count is "name": one of state is needed`,
	} {
		got, _ := listed(t, asked)
		assert.Equal(t, got, want, asked)
	}
}

// TestHeadOfLists says how much there is in all, and where it goes on. What is counted is
// picked by all filters but that of the words.
func TestHeadOfLists(t *testing.T) {
	_, head := listed(t, "limit=1&count=state&state=ended&name=web-*")
	assert.Equal(t, head.Get("X-Total-Count"), "1")
	assert.Equal(t, head.Get("X-Counts"), `{"ended":1,"running":1}`)
	assert.Equal(t, head.Get("Link"), "")
	_, head = listed(t, "limit=1&offset=1")
	assert.Equal(t, head.Get("X-Total-Count"), "3")
	assert.Equal(t, head.Get("Link"), `</pods?limit=1&offset=2>; rel="next"`)
}

// TestOne answers with one object, or some of its fields.
func TestOne(t *testing.T) {
	value, err := query.One(httptest.NewRequest(http.MethodGet, "/pod?fields=age", nil), &pods[0])
	assert.NilError(t, err)
	var out bytes.Buffer
	e := encoder.New(new(resources.Kinds), &out)
	e.Any(value)
	e.Flush()
	assert.Equal(t, out.String(), `{"age":3}`)
}
