package simulator

import (
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A gang is the pods of an application that come when its placeholders run.
type gang struct {
	after   time.Duration // that the pods take to come
	members []*pod        // that are to come
}

// gangs are the applications whose pods come when their placeholders run. A placeholder is a
// pod that is counted apart: it waits, holds room, and ends when the core says so.
type gangs struct {
	*simulation
	applications *applications
	pods         *pods
}

// GangCounts is what became of placeholders.
type GangCounts struct {
	Asked    int `json:"asked"`
	Placed   int `json:"placed"`
	Replaced int `json:"replaced"` // their pods got the places
	TimedOut int `json:"timedOut"` // that waited or ran
	Again    int `json:"again"`    // asked for again after they were lost, evicted or preempted
}

// arrive asks for the placeholders of an application, one for each of its pods.
func (gs *gangs) arrive(of *Gang, command api.AddApplication, members []*pod) {
	holder := *members[0].podSpec
	holder.placeholder, holder.driver, holder.stubborn, holder.budgets = true, false, false, nil
	for range members {
		command.Placeholders.Add(holder.amounts)
	}
	command.Style, command.GangTimeout = of.Style, of.Timeout
	app := gs.applications.register(command)
	app.gang, app.gathers = &gang{after: of.After, members: members}, command
	app.command.Placeholders, app.command.Style, app.command.GangTimeout = nil, 0, 0 // when it comes again, it has no placeholders
	for _, member := range members {
		p := &pod{podSpec: &holder, app: app, attempt: 1, leave: -1, runs: -1}
		p.base = member.base + "-placeholder"
		p.key = p.base
		gs.pods.arrive(p)
	}
}

// follow has the pods of a gang come when all placeholders run, or when it goes on without
// them. Those of an application that fails do not come.
func (gs *gangs) follow(e *api.ApplicationChanged) {
	app := gs.applications.byID[e.ID]
	if app == nil || app.gang == nil {
		return
	}
	switch e.State {
	case api.Running, api.Resuming:
		come := app.gang
		app.gang = nil
		gs.after(come.after, func() {
			for _, p := range come.members {
				p.app = gs.applications.register(app.command)
				gs.pods.arrive(p)
			}
		})
	case api.Failing, api.Completed, api.Failed:
		app.gang = nil
	case api.New, api.Accepted, api.Completing:
	}
}

// releaseRequested ends what the core wants to end because of a gang. An ask has ended in the
// core already; of a pod that is over the release is under way.
func (gs *gangs) releaseRequested(e *api.ReleaseRequested) {
	p := gs.pods.byKey[e.Key]
	if p == nil {
		gs.breach("the pod %s was to be released and is not known", e.Key)
		return
	}
	if e.Cause == api.CauseReplaced && !p.placeholder {
		gs.breach("the pod %s was to be replaced and is no placeholder", e.Key)
		return
	}
	if p.state == over {
		return
	}
	why := si.TerminationType_TIMEOUT
	switch {
	case e.Cause == api.CauseReplaced:
		why = si.TerminationType_PLACEHOLDER_REPLACED
		gs.counts.gangs.Replaced++
	case p.placeholder:
		gs.counts.gangs.TimedOut++
	}
	if p.state == waiting {
		p.count(func(n *podCounts) { n.cancelled++ })
		gs.pods.drop(p)
		return
	}
	if p.state == starting {
		gs.pods.countPlaced(p)
	}
	p.count(func(n *podCounts) { n.ended++ })
	gs.pods.stop(p, why)
}

// keeps reports whether a placeholder that was lost is needed: its gang still gathers.
func (p *pod) keeps() bool { return p.app.gang != nil }

// count changes the counts of the queue of a pod and those above it. Placeholders are no pods
// there.
func (p *pod) count(change func(*podCounts)) {
	if !p.placeholder {
		p.app.queue.count(change)
	}
}
