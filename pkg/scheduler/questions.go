package scheduler

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics/stage"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// errStillRefused is the answer of a resource manager that says yes or no.
var errStillRefused = errors.New("the predicates refuse the node all the same")

// unknownBudget is the name of the budget of allocations whose budgets could not
// be told.
const unknownBudget = "unknown"

// newGate makes the gate of a partition and has the core ask through it whatever the
// resource manager can answer. It is nil if that is nothing.
func (s *Scheduler) newGate(r *registration, partition string, options *api.Options) *predicateGate {
	g := newPredicateGate(r.outbox, r.callback, s.loggers.of(logRequests).With(zap.String("resourceManager", r.id), zap.String("partition", partition)))
	g.meter = s.meter
	if !s.config.SkipPredicates {
		options.Feasible, options.Simulate, options.Pace = g.feasible, g.simulate, g.wait
		if g.several != nil {
			options.FeasibleOn = g.feasibleOn
		}
		if g.classifier != nil {
			options.Constraints = g.class
			if g.ties != nil {
				options.Tied = g.tied
			}
		}
		if g.prefers != nil {
			options.Best = g.best
		}
	}
	options.KeepsForeign, options.Least = !g.endsForeignPods(), g.leastUse(options.Kinds)
	if g.selector != nil {
		options.SelectVictims = g.selectVictims
	}
	if g.budgeter != nil {
		options.Budgets = g.budgets
	}
	if s.config.SkipPredicates && g.selector == nil && g.budgeter == nil {
		return nil
	}
	return g
}

// endsForeignPods reports whether the resource manager ends allocations of other
// schedulers.
func (g *predicateGate) endsForeignPods() (ends bool) {
	ender, ok := g.callback.(ForeignPodEnder)
	if !ok {
		return false
	}
	err := g.ask("EndsForeignPods", func() error {
		ends = ender.EndsForeignPods()
		return nil
	})
	return err == nil && ends
}

// leastUse is how much allocations use that ask for nothing, of the kinds that there is place for.
func (g *predicateGate) leastUse(kinds *resources.Kinds) (least resources.Amounts) {
	user, ok := g.callback.(LeastUser)
	if !ok {
		return nil
	}
	var names map[string]int64
	if err := g.ask("LeastUse", func() error {
		names = user.LeastUse()
		return nil
	}); err != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if kind, err := kinds.Intern(name); err == nil && names[name] > 0 {
			least.Set(kind, names[name])
		}
	}
	return least
}

// class answers the core which asks are alike.
func (g *predicateGate) class(ask api.AllocationKey) (class string) {
	if err := g.ask("PredicateClass", func() error {
		class = g.classifier.PredicateClass(string(ask))
		return nil
	}); err != nil {
		return ""
	}
	if len(class) > namesMax {
		g.report("PredicateClass", "name is too long", zap.Int("length", len(class)))
		return ""
	}
	return class
}

// best has the resource manager choose among nodes for the core. Nothing is waited for before: what it was not told
// yet matters little here, and it may count it already (PredicateTies).
func (g *predicateGate) best(ask api.AllocationKey, nodes iter.Seq2[api.NodeID, int64], most int) []api.NodeID {
	args := &BestNodesArgs{AllocationKey: string(ask), Most: most, Nodes: func(yield func(string, int64) bool) {
		for id, points := range nodes {
			if !yield(string(id), points) {
				return
			}
		}
	}}
	var chosen []string
	if g.ask("BestNodes", func() error {
		chosen = g.prefers.BestNodes(args)
		return nil
	}) != nil {
		return nil
	}
	best := make([]api.NodeID, len(chosen))
	for i, id := range chosen {
		best[i] = api.NodeID(id)
	}
	return best
}

// tied answers the core about which asks answers change when an allocation comes or goes. The next
// delivery is waited for then before any question: it may tell of that allocation.
func (g *predicateGate) tied(allocation api.AllocationKey, placed api.NodeID) (classes []string) {
	if g.ask("TiedClasses", func() error {
		classes = g.ties.TiedClasses(string(allocation), string(placed))
		return nil
	}) != nil {
		return nil
	}
	g.tiedNext = g.tiedNext || len(classes) > 0
	return classes
}

// feasibleOn answers the core about several nodes at once.
func (g *predicateGate) feasibleOn(allocation api.AllocationKey, nodes []api.NodeID, allocate bool) []error {
	if !g.awaitAll(nodes) {
		return slices.Repeat([]error{errEnding}, len(nodes))
	}
	began := time.Now()
	answers := g.predicatesOn(allocation, nodes, allocate)
	g.answered(began, !slices.Contains(answers, nil))
	return answers
}

// predicatesOn asks about several nodes, or about one in place of Predicates. If there is
// no answer, or not one for each node, all are refused.
func (g *predicateGate) predicatesOn(allocation api.AllocationKey, nodes []api.NodeID, allocate bool) []error {
	defer g.meter.took(stage.Predicate, g.meter.now())
	args := &PredicatesOnNodesArgs{AllocationKey: string(allocation), NodeIDs: textsOf(nodes), Allocate: allocate}
	var answers []error
	err := g.ask("PredicatesOnNodes", func() error {
		answers = g.several.PredicatesOnNodes(args)
		return nil
	})
	if err == nil && len(answers) != len(nodes) {
		g.report("PredicatesOnNodes", "wrong number of answers", zap.Int("answers", len(answers)), zap.Int("nodes", len(nodes)))
		err = noAnswer("PredicatesOnNodes")
	}
	if err != nil {
		answers = slices.Repeat([]error{err}, len(nodes))
	}
	return answers
}

// simulate answers the core. What a resource manager says is passed on unchanged,
// so that the core can tell whether other removals could help.
func (g *predicateGate) simulate(ask api.AllocationKey, node api.NodeID, add, remove []api.AllocationKey) error {
	if !g.await(node) {
		return errEnding
	}
	defer g.answered(time.Now(), true) // whatever the answer, placements waited for it
	if g.simulator == nil {
		return g.ask("PreemptionPredicates", func() error { return g.simulateByPrefix(ask, node, remove) })
	}
	args := &PredicatesWithArgs{AllocationKey: string(ask), NodeID: string(node), Add: textsOf(add), Remove: textsOf(remove)}
	return g.ask("PredicatesWith", func() error { return g.simulator.PredicatesWith(args) })
}

// simulateByPrefix asks with what every resource manager has. PreemptionPredicates
// takes the allocations before the start index away and then one more at a time,
// checking each time: with the last one as the start, all are checked at once.
//
// Where it cannot, all questions have one answer from then on. Otherwise allocations
// would seem to be in the way whose end changes nothing.
func (g *predicateGate) simulateByPrefix(ask api.AllocationKey, node api.NodeID, remove []api.AllocationKey) error {
	if len(remove) == 0 || g.unable {
		return g.predicates(ask, node, !g.unable, time.Now())
	}
	last := int32(len(remove) - 1)
	response := g.callback.PreemptionPredicates(&si.PreemptionPredicatesArgs{
		AllocationKey: string(ask), NodeID: string(node), PreemptAllocationKeys: textsOf(remove), StartIndex: last,
	})
	switch {
	case response == nil:
		g.unable = true
		return g.predicates(ask, node, false, time.Now())
	case !response.Success:
		return errStillRefused
	case response.Index < 0 || response.Index > last:
		g.report("PreemptionPredicates", "index of no allocation", zap.Int32("index", response.Index))
		return errStillRefused
	default:
		return nil
	}
}

// selectVictims answers the core with some of the candidates, each once.
func (g *predicateGate) selectVictims(ask api.AllocationKey, node api.NodeID, candidates []api.AllocationKey, violating []bool) ([]api.AllocationKey, error) {
	if !g.await(node) {
		return nil, errEnding
	}
	defer g.answered(time.Now(), true)
	args := &SelectVictimsArgs{
		AllocationKey: string(ask), NodeID: string(node), Candidates: textsOf(candidates), Violating: slices.Clone(violating),
	}
	var chosen []string
	err := g.ask("SelectVictims", func() (err error) {
		chosen, err = g.selector.SelectVictims(args)
		return err
	})
	if err != nil {
		return nil, err
	}
	return g.known("SelectVictims", chosen, setOf(candidates)), nil
}

// budgets answers the core. They concern allocations on any node, so everything
// that was told must have been heard. Where there is no answer, a budget that
// allows nothing stands for it: what is not known is not to be exceeded lightly.
func (g *predicateGate) budgets(allocations []api.AllocationKey) []api.DisruptionBudget {
	if !g.outbox.await(g.outbox.latest()) {
		return nil // no eviction will be told
	}
	var told []DisruptionBudget
	err := g.ask("DisruptionBudgets", func() error {
		told = g.budgeter.DisruptionBudgets(textsOf(allocations))
		return nil
	})
	if err != nil {
		return []api.DisruptionBudget{{Name: unknownBudget, Allocations: slices.Clone(allocations)}}
	}
	asked := setOf(allocations)
	out := make([]api.DisruptionBudget, 0, len(told))
	for _, b := range told {
		if b.Allowed < 0 {
			g.report("DisruptionBudgets", "allowed is negative", zap.String("budget", b.Name), zap.Int("allowed", b.Allowed))
		}
		if members := g.known("DisruptionBudgets", b.Allocations, asked); len(members) > 0 {
			out = append(out, api.DisruptionBudget{Name: b.Name, Allowed: max(b.Allowed, 0), Allocations: members})
		}
	}
	return out
}

// ask puts a question to the resource manager. A panic is the error that there is
// no answer.
func (g *predicateGate) ask(question string, put func() error) error {
	var err error
	if panicked := protected(func() { err = put() }); panicked != nil {
		g.meter.panicked(question)
		g.report(question, "panic", zap.Error(panicked))
		return noAnswer(question)
	}
	return err
}

// noAnswer is the error that a question was not answered, or not in a way that makes
// sense.
func noAnswer(question string) error {
	return fmt.Errorf("the resource manager failed to answer %s", question)
}

// known is what of an answer makes sense: keys that were asked about, each once, in
// the order of the answer.
func (g *predicateGate) known(question string, answer []string, asked map[api.AllocationKey]bool) []api.AllocationKey {
	out := make([]api.AllocationKey, 0, min(len(answer), len(asked)))
	given := make(map[api.AllocationKey]bool, cap(out))
	for _, text := range answer {
		switch key := api.AllocationKey(text); {
		case !asked[key]:
			g.report(question, "allocation that was not asked about", zap.String("allocation", text))
		case given[key]:
			g.report(question, "allocation given twice", zap.String("allocation", text))
		default:
			given[key] = true
			out = append(out, key)
		}
	}
	return out
}

// report logs an answer that makes no sense. A question is asked again and
// again, so there is one warning for each thing that can be wrong with it, and
// after that only what is worth debugging.
func (g *predicateGate) report(question, problem string, fields ...zap.Field) {
	level := zap.WarnLevel
	if bad := (badAnswer{question, problem}); g.reported[bad] {
		level = zap.DebugLevel
	} else {
		g.reported[bad] = true
	}
	if entry := g.log.Check(level, "answer of the resource manager makes no sense"); entry != nil {
		entry.Write(append(fields, zap.String("question", question), zap.String("problem", problem))...)
	}
}

// A badAnswer is one thing that can be wrong with the answers to a question.
type badAnswer struct{ question, problem string }

func textsOf[T ~string](keys []T) []string {
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = string(key)
	}
	return texts
}

func setOf(keys []api.AllocationKey) map[api.AllocationKey]bool {
	set := make(map[api.AllocationKey]bool, len(keys))
	for _, key := range keys {
		set[key] = true
	}
	return set
}
