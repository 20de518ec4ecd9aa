package recording

import (
	"iter"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/narwhal-scheduler/narwhal/pkg/core/answers"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/wire"
)

// A question is a kind of question to the resource manager. Its number stands in files.
type question byte

const (
	feasible question = iota
	feasibleOn
	constraints
	tied
	best
	pace
	simulate
	selectVictims
	budgets
	questions
)

func (q question) String() string {
	return [...]string{
		"whether an ask may run on a node", "whether an ask may run on some nodes", "which asks are alike", "which asks are tied", "which nodes suit best",
		"whether to ask now", "whether an ask may run without others", "which victims to choose", "which budgets there are",
	}[q]
}

// idOf tells questions of one kind apart.
func idOf(texts ...string) (id uint64) {
	for _, text := range texts {
		id = id*0x9E3779B97F4A7C15 + xxhash.Sum64String(text) + 1
	}
	return id
}

func idOfLists[A, B ~string](id uint64, as []A, bs []B) uint64 {
	for _, a := range as {
		id = id*0x9E3779B97F4A7C15 + xxhash.Sum64String(string(a)) + 1
	}
	id ^= uint64(len(as))
	for _, b := range bs {
		id = id*0x9E3779B97F4A7C15 + xxhash.Sum64String(string(b)) + 1
	}
	return id
}

// listen has all functions of options note their answers.
func (t *tape) listen(o *api.Options) {
	if ask := o.Feasible; ask != nil {
		o.Feasible = func(key api.AllocationKey, node api.NodeID, allocate bool) error {
			err := ask(key, node, allocate)
			t.answered(feasible, idOfFeasible(key, node, allocate), func(w *wire.Writer) { writeError(w, err) })
			return err
		}
	}
	if ask := o.FeasibleOn; ask != nil {
		o.FeasibleOn = func(key api.AllocationKey, nodes []api.NodeID, allocate bool) []error {
			errs := ask(key, nodes, allocate)
			t.answered(feasibleOn, idOfFeasibleOn(key, nodes, allocate), func(w *wire.Writer) {
				for _, err := range errs {
					writeError(w, err)
				}
			})
			return errs
		}
	}
	if ask := o.Pace; ask != nil {
		o.Pace = func(q api.Question) time.Duration {
			wait := ask(q)
			t.answered(pace, uint64(q), func(w *wire.Writer) { wire.Value(w, &wait) })
			return wait
		}
	}
	t.listenToNames(o)
	t.listenToPreemption(o)
}

func (t *tape) listenToNames(o *api.Options) {
	if ask := o.Constraints; ask != nil {
		o.Constraints = func(key api.AllocationKey) string {
			name := ask(key)
			t.answered(constraints, idOf(string(key)), func(w *wire.Writer) { w.Text(name) })
			return name
		}
	}
	if ask := o.Tied; ask != nil {
		o.Tied = func(key api.AllocationKey, placed api.NodeID) []string {
			names := ask(key, placed)
			t.answered(tied, idOf(string(key), string(placed)), func(w *wire.Writer) { wire.Value(w, &names) })
			return names
		}
	}
	if ask := o.Best; ask != nil {
		o.Best = func(key api.AllocationKey, nodes iter.Seq2[api.NodeID, int64], most int) []api.NodeID {
			seen := uint64(0)
			chosen := ask(key, func(yield func(api.NodeID, int64) bool) {
				for node, points := range nodes {
					seen++
					if !yield(node, points) {
						return
					}
				}
			}, most)
			t.answered(best, idOf(string(key)), func(w *wire.Writer) {
				w.Number(seen) // to look at a node is counted as work
				wire.Value(w, &chosen)
			})
			return chosen
		}
	}
}

func (t *tape) listenToPreemption(o *api.Options) {
	if ask := o.Simulate; ask != nil {
		o.Simulate = func(key api.AllocationKey, node api.NodeID, add, remove []api.AllocationKey) error {
			err := ask(key, node, add, remove)
			t.answered(simulate, idOfLists(idOf(string(key), string(node)), add, remove), func(w *wire.Writer) { writeError(w, err) })
			return err
		}
	}
	if ask := o.SelectVictims; ask != nil {
		o.SelectVictims = func(key api.AllocationKey, node api.NodeID, candidates []api.AllocationKey, violating []bool) ([]api.AllocationKey, error) {
			chosen, err := ask(key, node, candidates, violating)
			t.answered(selectVictims, idOfLists[api.AllocationKey, string](idOf(string(key), string(node)), candidates, nil), func(w *wire.Writer) {
				wire.Value(w, &chosen)
				writeError(w, err)
			})
			return chosen, err
		}
	}
	if ask := o.Budgets; ask != nil {
		o.Budgets = func(allocations []api.AllocationKey) []api.DisruptionBudget {
			all := ask(allocations)
			t.answered(budgets, idOfLists[api.AllocationKey, string](0, allocations, nil), func(w *wire.Writer) { wire.Value(w, &all) })
			return all
		}
	}
}

func idOfFeasible(key api.AllocationKey, node api.NodeID, allocate bool) uint64 {
	if allocate {
		return idOf(string(key), string(node))
	}
	return idOf(string(key), string(node), "kept")
}

func idOfFeasibleOn(key api.AllocationKey, nodes []api.NodeID, allocate bool) uint64 {
	return idOfLists[api.NodeID, string](idOfFeasible(key, "", allocate), nodes, nil)
}

// answered notes an answer, if it was given during a step: what readers ask in between decides nothing.
func (t *tape) answered(q question, id uint64, write func(*wire.Writer)) {
	if !t.inStep {
		return
	}
	t.scratch.Out = t.scratch.Out[:0]
	write(&t.scratch)
	appendGiven(&t.chunk.answers, given{asked{q, id}, t.scratch.Out})
	t.asked++
}

// writeError writes what the core can tell of an error.
func writeError(w *wire.Writer, err error) {
	switch {
	case err == nil:
		w.Number(0)
	case answers.IsUnresolvable(err):
		w.Number(1)
		w.Text(err.Error())
	default:
		w.Number(2)
		w.Text(err.Error())
	}
}

// A refusal is an error of a resource manager as a file has it.
type refusal struct {
	text    string
	forGood bool
}

func (r *refusal) Error() string { return r.text }

// Unresolvable says that the answer is the same whatever is taken away.
func (r *refusal) Unresolvable() bool { return r.forGood }

func takeError(r *wire.Reader) error {
	switch n := r.Number(); n {
	case 0:
		return nil
	case 1, 2:
		return &refusal{r.Text(), n == 1}
	default:
		r.Fail("%d is no kind of error: it would be 0, 1 or 2", n)
		return nil
	}
}
