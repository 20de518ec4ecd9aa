package recording

import (
	"fmt"
	"iter"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/wire"
)

// An answerer gives the recorded answers again, in their order. Once anything else was asked, it gives what was answered last to the
// same question, and where nothing was, that an ask may run, on the first node in order, without budgets.
type answerer struct {
	answers []given // of the step at hand
	last    map[asked][]byte
	differs string // the first question that was not asked in the recording
	apart   bool   // the order does not count any more
	renamed bool   // names are others, so that the order alone counts, and answers get the identifiers of what is asked
	missing [questions]int
	reading error
}

// step begins a step.
func (a *answerer) step(answers []given) {
	for _, g := range answers {
		a.last[g.asked] = g.answer
	}
	a.answers, a.differs = answers, ""
}

// over ends a step, and says what was not asked.
func (a *answerer) over() string {
	if a.differs == "" && len(a.answers) > 0 {
		return fmt.Sprintf("the recording goes on with the question %s, which is not asked", a.answers[0].question)
	}
	return a.differs
}

// answer is that to a question; nil if there is none.
func (a *answerer) answer(q question, id uint64) *wire.Reader {
	key := asked{q, id}
	if !a.apart && a.differs == "" {
		if a.renamed && len(a.answers) > 0 && a.answers[0].question == q {
			a.answers[0].id = id
		}
		if len(a.answers) > 0 && a.answers[0].asked == key {
			answer := a.answers[0].answer
			a.answers = a.answers[1:]
			return wire.NewReader(answer)
		}
		a.differs = fmt.Sprintf("the core asks %s, where the recording has no question", q)
		if len(a.answers) > 0 {
			a.differs = fmt.Sprintf("the core asks %s, where the recording has the question %s", q, a.answers[0].question)
			if a.answers[0].question == q {
				a.differs = fmt.Sprintf("the core asks %s, and does not ask about what the recording has", q)
			}
		}
	}
	if answer, ok := a.last[key]; ok {
		return wire.NewReader(answer)
	}
	a.missing[q]++
	return nil
}

func (a *answerer) check(r *wire.Reader) {
	if a.reading == nil && r.Err != nil {
		a.reading = r.Err
	}
}

// options are those of a partition that is given its answers, with the functions that the recorded one had.
func (a *answerer) options(functions uint16) (o api.Options) {
	has := func(q question) bool { return functions&(1<<q) != 0 }
	if has(feasible) {
		o.Feasible = func(key api.AllocationKey, node api.NodeID, allocate bool) error {
			return a.err(feasible, idOfFeasible(key, node, allocate))
		}
	}
	if has(feasibleOn) {
		o.FeasibleOn = func(key api.AllocationKey, nodes []api.NodeID, allocate bool) []error {
			errs := make([]error, len(nodes))
			if r := a.answer(feasibleOn, idOfFeasibleOn(key, nodes, allocate)); r != nil {
				for i := range errs {
					errs[i] = takeError(r)
				}
				a.check(r)
			}
			return errs
		}
	}
	if has(simulate) {
		o.Simulate = func(key api.AllocationKey, node api.NodeID, add, remove []api.AllocationKey) error {
			return a.err(simulate, idOfLists(idOf(string(key), string(node)), add, remove))
		}
	}
	if has(pace) {
		o.Pace = func(q api.Question) time.Duration { return take[time.Duration](a, pace, uint64(q)) }
	}
	if has(constraints) {
		o.Constraints = func(key api.AllocationKey) string { return take[string](a, constraints, idOf(string(key))) }
	}
	if has(tied) {
		o.Tied = func(key api.AllocationKey, placed api.NodeID) []string {
			return take[[]string](a, tied, idOf(string(key), string(placed)))
		}
	}
	if has(budgets) {
		o.Budgets = func(keys []api.AllocationKey) []api.DisruptionBudget {
			return take[[]api.DisruptionBudget](a, budgets, idOfLists[api.AllocationKey, string](0, keys, nil))
		}
	}
	if has(selectVictims) {
		o.SelectVictims = a.victims
	}
	if has(best) {
		o.Best = a.best
	}
	return o
}

func (a *answerer) err(q question, id uint64) error {
	r := a.answer(q, id)
	if r == nil {
		return nil
	}
	err := takeError(r)
	a.check(r)
	return err
}

// take is an answer of some type, zero if there is none.
func take[T any](a *answerer, q question, id uint64) (v T) {
	if r := a.answer(q, id); r != nil {
		v = wire.Take[T](r)
		a.check(r)
	}
	return v
}

func (a *answerer) victims(key api.AllocationKey, node api.NodeID, candidates []api.AllocationKey, _ []bool) ([]api.AllocationKey, error) {
	r := a.answer(selectVictims, idOfLists[api.AllocationKey, string](idOf(string(key), string(node)), candidates, nil))
	if r == nil {
		return nil, &refusal{text: "the recording does not say which victims were to be chosen"}
	}
	chosen, err := wire.Take[[]api.AllocationKey](r), takeError(r)
	a.check(r)
	return chosen, err
}

func (a *answerer) best(key api.AllocationKey, nodes iter.Seq2[api.NodeID, int64], _ int) []api.NodeID {
	r := a.answer(best, idOf(string(key)))
	if r == nil {
		return nil
	}
	seen, chosen := r.Number(), wire.Take[[]api.NodeID](r)
	a.check(r)
	for looked := uint64(0); looked < seen; looked = seen { // as far as the resource manager looked
		for range nodes {
			if looked++; looked == seen {
				break
			}
		}
	}
	return chosen
}
