package core_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// everything is what histories with gangs, rules of placement and limits have to come by, each often.
var everything = []string{
	"waits: user limit exceeded", "waits: group limit exceeded", "waits: too many applications of a queue",
	"waits: too many applications of a user", "waits: too many applications of a group",
	"waits: waits for a placeholder of its task group", "waits: its placeholder is being released", "waits: its whole gang does not fit",
	"placeholder placed", "placeholder of a whole gang placed", "placeholder evicted", "replaced", "replaced on another node",
	"timed out soft", "timed out hard", "resuming",
	"placed by a rule", "dynamic", "max of a template", "quota of a namespace", "draining with applications", "configured and was dynamic",
	"forced into a draining queue", "in the recovery queue", "denied by an access list", "dynamic queue goes",
	"its group counts no more", "reconfigured", "restored with gangs", "restored with dynamic queues", "restored with groups",
}

// A watched history counts what it comes by.
type watched struct {
	*history
	seen
	view *core.View // before the step
	told map[core.AllocationKey]si.TerminationType
}

func watch(h *history, all seen) *watched {
	w := &watched{h, all, h.p.View(), map[core.AllocationKey]si.TerminationType{}}
	h.heard = w.effects
	return w
}

// next does one step, and says at times that placeholders have ended whose place is taken.
func (w *watched) next() any {
	done := w.step()
	if come, is := done.(core.AddApplication); is {
		w.arrival(come)
	}
	if w.IntN(3) == 0 {
		confirmed := map[string]int{}
		w.confirmGang(w.told, confirmed)
		w.seen["replaced"] += confirmed["runs"]
		w.seen["replaced on another node"] += confirmed["elsewhere"]
	}
	w.view = w.p.View()
	w.queues(w.view.Root)
	for _, app := range w.view.Applications {
		w.seen["resuming"] += count(app.State == core.Resuming)
		w.seen["in the recovery queue"] += count(app.Queue == core.RecoveryQueue)
		for _, ask := range app.Asks {
			w.seen["waits: "+ask.Reason.String()]++
		}
	}
	return done
}

// arrival counts where an application went.
func (w *watched) arrival(come core.AddApplication) {
	for _, app := range w.p.View().Applications {
		if app.ID != come.ID || app.Queue == core.RecoveryQueue || w.findApplication(app.ID) != nil {
			continue
		}
		asked := "root." + strings.TrimPrefix(strings.ToLower(string(come.Queue)), "root.")
		w.seen["placed by a rule"] += count(asked != string(app.Queue))
		q := w.findQueue(w.view.Root, app.Queue)
		w.seen["forced into a draining queue"] += count(come.Forced && q != nil && q.Draining)
	}
}

func (w *watched) findApplication(id core.ApplicationID) *core.ApplicationView {
	for _, app := range w.view.Applications {
		if app.ID == id {
			return app
		}
	}
	return nil
}

func (w *watched) findQueue(q *core.QueueView, path core.QueuePath) *core.QueueView {
	if q.Path == path {
		return q
	}
	for _, child := range q.Queues {
		if found := w.findQueue(child, path); found != nil {
			return found
		}
	}
	return nil
}

func (w *watched) queues(q *core.QueueView) {
	made := q.Dynamic && q.Path != core.RecoveryQueue
	w.seen["dynamic"] += count(made)
	w.seen["max of a template"] += count(made && q.Quota == nil && q.Max != nil)
	w.seen["quota of a namespace"] += count(q.Quota != nil)
	w.seen["draining with applications"] += count(q.Draining && !q.Dynamic && q.Applications > 0)
	w.seen["configured and was dynamic"] += count(!q.Dynamic && q.WasDynamic)
	for _, child := range q.Queues {
		w.queues(child)
	}
}

func (w *watched) effects(fx core.Effects) {
	for _, e := range fx {
		switch e := e.(type) {
		case core.Placed:
			w.seen["placeholder placed"] += count(e.Placeholder)
			app := w.findApplication(e.Application)
			w.seen["placeholder of a whole gang placed"] += count(e.Placeholder && app != nil && app.Gang != nil && app.Gang.Whole)
		case *core.EvictionRequested:
			w.seen["placeholder evicted"] += count(e.Placeholder)
		case *core.ReleaseRequested:
			w.released(e)
		case *core.ApplicationGroup:
			w.seen["its group counts no more"] += count(e.Before != "")
		case *core.ApplicationRejected:
			w.seen["denied by an access list"] += count(strings.Contains(e.Reason, "may not submit"))
		case *core.QueueRemoved:
			w.seen["dynamic queue goes"]++
		case *core.Reconfigured:
			w.seen["reconfigured"]++
		}
	}
}

func (w *watched) released(e *core.ReleaseRequested) {
	app := w.findApplication(e.Application)
	switch {
	case e.Cause == core.CauseReplaced:
		w.told[e.Key] = si.TerminationType_PLACEHOLDER_REPLACED
	case app != nil && app.Gang != nil:
		w.seen["timed out soft"] += count(app.Gang.Style == core.Soft)
		w.seen["timed out hard"] += count(app.Gang.Style == core.Hard)
	}
}

// restore makes another partition from the view, and compares what it shows.
func (w *watched) restore(t *testing.T, seed uint64) {
	t.Helper()
	standsWhereTheOtherStood(t, w.history, seed)
	gangs, dynamic, groups := 0, 0, 0
	for _, app := range w.view.Applications {
		q := w.findQueue(w.view.Root, app.Queue)
		gangs, groups, dynamic = gangs+count(app.Gang != nil), groups+count(app.Group != ""), dynamic+count(q.Dynamic)
	}
	w.seen["restored with gangs"] += count(gangs > 0)
	w.seen["restored with groups"] += count(groups > 0)
	w.seen["restored with dynamic queues"] += count(dynamic > 0)
}

// TestRandomHistoriesOfEverything keeps the laws with limits of users, groups and applications, gangs
// of both ways to start, rules of placement, templates, quotas of namespaces, access lists, queues that
// drain and applications that are forced in, all in one history. Each of them is counted.
func TestRandomHistoriesOfEverything(t *testing.T) {
	all := seen{}
	for _, what := range everything {
		all[what] = 0
	}
	for seed := range uint64(1000) {
		w := watch(newMixedHistory(rand.New(rand.NewPCG(seed, 14)), 3), all)
		for i := range 160 {
			done := w.next()
			assert.NilError(t, w.broken, "seed %d, step %d: %T%+v", seed, i, done, done)
			assert.NilError(t, w.p.Verify(), "seed %d, step %d: %T%+v", seed, i, done, done)
			if i%40 == 39 {
				w.restore(t, seed)
			}
		}
		w.settle(t)
	}
	t.Logf("%v", all)
	for _, what := range everything {
		assert.Assert(t, all[what] > 10, "%s: %d times", what, all[what])
	}
}
