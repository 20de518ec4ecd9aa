package object

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// startGroupJSON is a group of which so many members start together or none.
type startGroupJSON struct {
	Name       string    `json:"name"`
	State      string    `json:"state"`
	Least      int       `json:"least"`
	Running    int       `json:"running"`
	Waiting    int       `json:"waiting"`
	Done       int       `json:"done"`
	BelowSince time.Time `json:"belowSince,omitempty"`
	Why        string    `json:"why,omitempty"`
	Priority   *int32    `json:"priority,omitempty"`

	BySubgroup bool           `json:"bySubgroup,omitempty"`
	Subgroups  []subgroupJSON `json:"subgroups,omitempty"`
}

// subgroupJSON is the members of a group that name a subgroup of it, or a part of one.
type subgroupJSON struct {
	Name    string `json:"name"`
	Least   int    `json:"least,omitempty"`
	Has     int    `json:"has"`
	Running int    `json:"running"`
	Waiting int    `json:"waiting"`
	Done    int    `json:"done"`
	Require string `json:"require,omitempty"`
}

func (g *subgroupJSON) Encode(e *encoder.Encoder) {
	e.Open('{')
	e.Text("name", g.Name)
	e.IntegerIf("least", int64(g.Least))
	e.Integer("has", int64(g.Has))
	e.Integer("running", int64(g.Running))
	e.Integer("waiting", int64(g.Waiting))
	e.Integer("done", int64(g.Done))
	e.TextIf("require", g.Require)
	e.Close('}')
}

func (g *startGroupJSON) Encode(e *encoder.Encoder) {
	e.Open('{')
	e.Text("name", g.Name)
	e.Text("state", g.State)
	e.Integer("least", int64(g.Least))
	e.Integer("running", int64(g.Running))
	e.Integer("waiting", int64(g.Waiting))
	e.Integer("done", int64(g.Done))
	e.TimeIf("belowSince", g.BelowSince)
	e.TextIf("why", g.Why)
	if g.Priority != nil {
		e.Integer("priority", int64(*g.Priority))
	}
	e.TruthIf("bySubgroup", g.BySubgroup)
	encoder.Objects(e, "subgroups", g.Subgroups)
	e.Close('}')
}

// A namedGroup is a group with the name by which its members name it.
type namedGroup struct {
	name string
	api.GroupView
}

// StartGroups answers GET /ws/v1/partition/{partition}/groups.
func StartGroups(at *Snapshot, r *http.Request) (any, error) {
	list := make([]namedGroup, 0, len(at.View.Groups))
	for name, g := range at.View.Groups {
		if of, names := strings.CutPrefix(name, api.QuorumOf); names {
			list = append(list, namedGroup{of, g})
		}
	}
	slices.SortFunc(list, func(a, b namedGroup) int { return cmp.Compare(a.name, b.name) })
	return query.List(r, at.kinds, list, fillStartGroup,
		query.Texts("group", func(g namedGroup) string { return g.name }),
		query.Words("state", query.WordsOf(api.GroupIsBelow+1), func(g namedGroup) string { return g.State.String() }))
}

func fillStartGroup(g namedGroup, out *startGroupJSON) {
	*out = startGroupJSON{
		Name: g.name, State: g.State.String(), Least: g.Terms.Least, Running: g.Running, Waiting: g.Waiting, Done: g.Done,
		BelowSince: g.BelowSince, Why: g.Detail, BySubgroup: g.Terms.BySubgroup,
	}
	for _, of := range g.Subgroups {
		out.Subgroups = append(out.Subgroups, subgroupJSON(of))
	}
	if g.Terms.Priority.Stated {
		out.Priority = &g.Terms.Priority.Of
	}
}
