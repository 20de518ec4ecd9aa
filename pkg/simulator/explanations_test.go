package simulator

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
)

// explanations checks that what is explained of asks in a run is true, by what the virtual
// resource manager knows: which pods were nominated, and which nodes it refused.
type explanations struct {
	*run
	every, next time.Duration
	// refused is what it said, by pod, of nodes on which the pod may not run whatever ends
	// there. It holds until the node comes back, or is drained or not any more.
	refused map[*podSpec]map[api.NodeID]refusal
	// explained, nominated and avoided count explanations: all, those of nominated pods, and
	// those of pods that a node refused. Remedies counts what makes pods run on nodes, and failed
	// the explanations that say that nothing of that is enough.
	explained, nominated, avoided, remedies, failed int
}

type refusal struct {
	text   string
	at     time.Duration
	drains int
	lives  int
}

// constrain has the answers written down.
func (e *explanations) constrain(o api.Options) api.Options {
	simulate := o.Simulate
	o.Simulate = func(key api.AllocationKey, id api.NodeID, add, remove []api.AllocationKey) error {
		err := simulate(key, id, add, remove)
		if never := new(unresolvable); errors.As(err, &never) && e.nodes.byID[id] != nil {
			of := e.pods.byKey[key].podSpec
			if e.refused[of] == nil {
				e.refused[of] = map[api.NodeID]refusal{}
			}
			n := e.nodes.byID[id]
			e.refused[of][id] = refusal{err.Error(), e.now, n.drains, n.lives}
			e.next = e.now
		}
		return err
	}
	return o
}

// refusalOf is what was said of a pod on a node, if that holds.
func (e *explanations) refusalOf(p *pod, id api.NodeID) (refusal, bool) {
	is, known := e.refused[p.podSpec][id]
	n := e.nodes.byID[id]
	return is, known && is.at >= p.arrived && p.on == "" && n.up && n.drains == is.drains && n.lives == is.lives
}

// look explains what waits. Of equal pods that wait for the same one is enough.
func (e *explanations) look(t *testing.T) {
	if e.now < e.next {
		return
	}
	e.next = e.now + e.every
	type alike struct {
		spec      *podSpec
		reason    api.Reason
		nominated bool
		attempts  int
	}
	view, seen := e.partition.View(), map[alike]bool{}
	for _, app := range view.Applications {
		for _, ask := range app.Asks {
			p := e.pods.byKey[ask.Key]
			if is := (alike{p.podSpec, ask.Reason, ask.Nominated != "", len(ask.Attempts)}); !seen[is] {
				seen[is] = true
				a, err := explain.Ask(view, e.scenario.Kinds, app.ID, ask.Key)
				assert.NilError(t, err)
				a.Try(t.Context(), e.trial())
				e.check(t, a, p)
			}
		}
	}
}

// trial asks the virtual resource manager.
func (e *explanations) trial() explain.Trial {
	return explain.Trial{Now: epoch.Add(e.now), Free: !e.scenario.Constrained(), MayRun: func(key api.AllocationKey, node api.NodeID) (asked bool, refused error) {
		return true, e.feasible(key, node, true)
	}}
}

var roomIsMade = regexp.MustCompile(`room +is (being )?made`)

// check: room is made for pods that are nominated and no others; a node that refused the pod is
// the nearest only where that is said, and no remedy.
func (e *explanations) check(t *testing.T, a *explain.Answer, p *pod) {
	text := a.Text()
	e.explained++
	assert.Equal(t, roomIsMade.MatchString(text), p.nominated != "", "at %s, nominated to %q: %s", e.now, p.nominated, text)
	if p.nominated != "" {
		e.nominated++
	}
	for _, attempt := range a.Attempts {
		if !e.scenario.Constrained() && attempt.Plan != nil {
			assert.Assert(t, attempt.Plan.Reason != preemptor.Refused, "at %s nothing was asked: %s", e.now, text)
		}
		if said, known := e.refusalOf(p, attempt.Node); known && !attempt.Succeeded() && said.at < attempt.At.Sub(epoch) {
			assert.Equal(t, attempt.Plan.Reason, preemptor.Refused, "at %s %+v: %s", e.now, said, text)
		}
	}
	for _, g := range a.Nodes {
		if g.Lacking == nil {
			continue
		}
		if said, known := e.refusalOf(p, g.Nearest); known {
			assert.Assert(t, g.Text != "", "at %s, %s said %+v: %s", e.now, g.Nearest, said, text)
		}
	}
	e.remedies += len(a.Remedies.Nodes)
	if a.Remedies.Remains != "" {
		e.failed++
	}
	for _, remedy := range a.Remedies.Nodes {
		if strings.HasPrefix(remedy, "the resource manager accepts it on") {
			continue
		}
		assert.Equal(t, strings.HasSuffix(remedy, " is added with "+e.scenario.Kinds.Format(a.Allocation.Amounts)+" free and the resource manager, which was not asked, accepts it there"),
			e.scenario.Constrained() && strings.Contains(remedy, " is added with "), remedy)
		for word := range strings.FieldsSeq(remedy) {
			said, known := e.refusalOf(p, api.NodeID(word))
			assert.Assert(t, !known, "at %s, %s said %+v: %s\n%s", e.now, word, said, remedy, text)
		}
	}
	for id := range e.refused[p.podSpec] {
		if _, known := e.refusalOf(p, id); known {
			e.avoided++
			break
		}
	}
}

// The examples, which "make run" and "make serve" play, run to their end, and their asks are
// explained during the whole run: what is said is true.
func TestExplanationsOfTheExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	var sum explanations
	for _, name := range Examples() {
		text, err := ExampleText(name)
		assert.NilError(t, err)
		s, err := Parse(text)
		assert.NilError(t, err)
		e := &explanations{run: newRun(s, Options{}), refused: map[*podSpec]map[api.NodeID]refusal{}}
		e.every = 6 * time.Minute
		o := api.Options{Partition: "[simulator]" + s.Config.Name, Kinds: s.Kinds}
		if s.Constrained() {
			o.Feasible, o.Simulate, o.Constraints = e.feasible, e.simulate, e.predicateClass
			o = e.constrain(o)
		}
		if len(s.Budgets) > 0 {
			o.Budgets = e.allowances
		}
		e.partition = core.NewPartition(o, s.Config)
		e.options.Progress = func(Progress) { e.look(t) }
		e.build()
		e.startWork()
		assert.NilError(t, e.play())
		AssertSums(t, e.result())
		sum.explained, sum.nominated, sum.avoided = sum.explained+e.explained, sum.nominated+e.nominated, sum.avoided+e.avoided
		sum.remedies, sum.failed = sum.remedies+e.remedies, sum.failed+e.failed
	}
	assert.Assert(t, sum.explained > 300 && sum.nominated > 15 && sum.avoided > 50 && sum.remedies > 400 && sum.failed > 50, "%+v", sum)
}
