package browser

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
)

// A scene is something that the page can show, and how to come there.
type scene struct {
	name  string
	play  *play // nil is teams
	panel string
	// at is the address, and may ask REST for names to be in it.
	at func(t *testing.T, s *site) string
	// act does what is left to do once the panel is there.
	act func(p *page)
	// how is what it is looked at in, if not as the rest of a tour.
	how look
}

// scenes are what the stages of teams, of fairness and of limits have to show that the others do
// not: evictions and room that is being made, gangs, nodes that are drained, limits of users.
var scenes = []scene{
	{name: "nodes", panel: "nodes"},
	{name: "node", panel: "nodes", at: fixed("#/nodes/a100-03")},
	{name: "application", panel: "applications", at: func(t *testing.T, s *site) string {
		return "#/applications/" + url.PathEscape(s.nominated(t).ApplicationID)
	}},
	{name: "pending", panel: "applications", at: fixed("#/applications?view=pending")},
	{name: "why", panel: "applications", at: atNominated},
	{name: "why-quota", play: fairness, panel: "applications", at: func(t *testing.T, s *site) string {
		return s.asks(t, "why=queue+quota+exceeded&limit=1")[0].hash()
	}},
	{name: "victim", panel: "applications", at: func(t *testing.T, s *site) string { return s.victim(t).hash() }},
	{name: "preemption", panel: "preemption"},
	{name: "plan", play: fairness, panel: "preemption", at: atPlan("trigger=guarantee&limit=20"), act: seesPlan},
	{name: "users", play: limits, panel: "users"},
	{name: "groups", play: limits, panel: "users", at: fixed("#/users?view=groups")},
	{name: "queue-limits", play: limits, panel: "queues", at: fixed("#/queues/root.ml")},
	{name: "help", play: limits, panel: "overview", act: func(p *page) {
		p.press("?")
		p.sees("#help", "")
	}},
}

// atNominated is where the page tells of an ask for which room is being made.
func atNominated(t *testing.T, s *site) string {
	t.Helper()
	return s.nominated(t).hash()
}

// atPlan is the first plan with victims of a query, explained.
func atPlan(query string) func(*testing.T, *site) string {
	return func(t *testing.T, s *site) string {
		t.Helper()
		var plans []plan
		s.read(t, "partition/default/preemptions?"+query, &plans)
		i := slices.IndexFunc(plans, func(p plan) bool { return len(p.Victims) > 0 })
		return fmt.Sprintf("#/preemption/%d/%s", plans[i].Time, url.PathEscape(plans[i].of()))
	}
}

func seesPlan(p *page) { p.sees("main .details .plan", "") }

func seesOutcome(p *page) { p.sees("main .whatif-result h2", "What would come of it") }

func fixed(hash string) func(*testing.T, *site) string {
	return func(*testing.T, *site) string { return hash }
}

// played is the play of the scene.
func (c scene) played() *play {
	if c.play == nil {
		return teams
	}
	return c.play
}

// address is where the page shows the scene, before anything is done there.
func (c scene) address(t *testing.T, s *site) string {
	t.Helper()
	if c.at == nil {
		return "#/" + c.panel
	}
	return c.at(t, s)
}

// What tests read of asks and allocations.
type pod struct {
	AllocationKey, ApplicationID string
	QueueName, User, Why         string
	NodeID, NominatedNode        string
	Preempted                    bool
	Priority                     string
	Resource                     map[string]int64
}

// hash is where the page tells about a pod.
func (a pod) hash() string {
	return "#/applications/" + url.PathEscape(a.ApplicationID) + "/" + url.PathEscape(a.AllocationKey)
}

// explain is where REST tells about it.
func (a pod) explain() string {
	return "partition/default/application/" + url.PathEscape(a.ApplicationID) + "/allocation/" + url.PathEscape(a.AllocationKey) + "/explain"
}

// escaped is a text as a value in a query.
func escaped(text string) string { return url.QueryEscape(text) }

// asks are those of a query.
func (s *site) asks(t *testing.T, query string) (list []pod) {
	t.Helper()
	s.read(t, "partition/default/asks?"+query, &list)
	if len(list) == 0 {
		t.Fatalf("no ask is like %s", query)
	}
	return list
}

// nominated is an ask for which room is being made.
func (s *site) nominated(t *testing.T) pod {
	t.Helper()
	return s.asks(t, "why=room+is+being+made&limit=1")[0]
}

// victim is an allocation that was evicted, by a plan that is still known.
func (s *site) victim(t *testing.T) pod {
	t.Helper()
	var nodes []struct{ Allocations []pod }
	s.read(t, "partition/default/nodes?evicting=true&fields=allocations", &nodes)
	for _, node := range nodes {
		for _, a := range node.Allocations {
			if !a.Preempted {
				continue
			}
			var why struct{ Eviction struct{ Plan *struct{} } }
			if s.read(t, a.explain(), &why); why.Eviction.Plan != nil {
				return a
			}
		}
	}
	t.Fatal("nothing was evicted")
	return pod{}
}
