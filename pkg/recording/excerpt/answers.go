package excerpt

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	coreanswers "github.com/narwhal-scheduler/narwhal/pkg/core/answers"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario"
)

// Answers are what the resource manager of the recording said, as that of a scenario is told. Only what is new makes a line.
type answers struct {
	said    []scenario.Line // since it was taken last
	refused map[asked]string
	against map[asked]map[api.AllocationKey]bool // what must not run beside an ask
	classes map[api.AllocationKey]string         // of asks that are answered alike
	names   map[string]string                    // of classes, in the scenario
	chosen  map[api.AllocationKey][]api.AllocationKey
	ties    map[api.AllocationKey][]string
	best    map[api.AllocationKey][]api.NodeID
	budgets map[string]*budget
	held    bool // questions had to wait
}

// An asked is an ask, or the class of those that are answered alike, and a node.
type asked struct {
	who  string
	node api.NodeID
}

// A budget is what the resource manager of the scenario knows of one.
type budget struct {
	allowed int
	members map[api.AllocationKey]bool
}

func newAnswers() *answers {
	return &answers{
		refused: map[asked]string{}, against: map[asked]map[api.AllocationKey]bool{}, classes: map[api.AllocationKey]string{}, names: map[string]string{},
		chosen: map[api.AllocationKey][]api.AllocationKey{}, ties: map[api.AllocationKey][]string{}, best: map[api.AllocationKey][]api.NodeID{},
		budgets: map[string]*budget{},
	}
}

func (a *answers) say(verb string, words ...string) {
	a.said = append(a.said, scenario.Line{Verb: verb, Words: words})
}

// take is what was said since it was taken last.
func (a *answers) take() []scenario.Line {
	said := a.said
	a.said = nil
	return said
}

// observe has evictions count against budgets, as they do in a scenario.
func (a *answers) observe(fx api.Effects) {
	for _, event := range fx {
		e, is := event.(*api.EvictionRequested)
		if !is {
			continue
		}
		for _, b := range a.budgets {
			if b.members[e.Key] {
				b.allowed = max(b.allowed-1, 0)
			}
		}
	}
}

// listen has all functions of options tell their answers.
func (a *answers) listen(o *api.Options) {
	if ask := o.Feasible; ask != nil {
		o.Feasible = func(key api.AllocationKey, node api.NodeID, allocate bool) error {
			err := ask(key, node, allocate)
			a.feasible(key, node, err)
			return err
		}
	}
	if ask := o.FeasibleOn; ask != nil {
		o.FeasibleOn = func(key api.AllocationKey, nodes []api.NodeID, allocate bool) []error {
			errs := ask(key, nodes, allocate)
			for i, node := range nodes {
				a.feasible(key, node, errs[i])
			}
			return errs
		}
	}
	if ask := o.Pace; ask != nil {
		o.Pace = func(q api.Question) time.Duration {
			wait := ask(q)
			a.held = a.held || wait > 0
			return wait
		}
	}
	if ask := o.Constraints; ask != nil {
		o.Constraints = func(key api.AllocationKey) string {
			name := ask(key)
			if name != "" && a.classes[key] != name {
				a.classes[key] = name
				a.say("alike", a.nameOf(name), string(key))
			}
			return name
		}
	}
	a.listenToPlaces(o)
	a.listenToPreemption(o)
}

func (a *answers) listenToPlaces(o *api.Options) {
	if ask := o.Tied; ask != nil {
		o.Tied = func(key api.AllocationKey, placed api.NodeID) []string {
			ties := ask(key, placed)
			if !slices.Equal(a.ties[key], ties) {
				a.ties[key] = slices.Clone(ties)
				words := []string{string(key)}
				for _, name := range ties {
					words = append(words, a.nameOf(name))
				}
				a.say("tied", words...)
			}
			return ties
		}
	}
	if ask := o.Best; ask != nil {
		o.Best = func(key api.AllocationKey, nodes iter.Seq2[api.NodeID, int64], most int) []api.NodeID {
			best := ask(key, nodes, most)
			if !slices.Equal(a.best[key], best) {
				a.best[key] = slices.Clone(best)
				a.say("best", wordsOf(string(key), best)...)
			}
			return best
		}
	}
}

func (a *answers) listenToPreemption(o *api.Options) {
	if ask := o.Simulate; ask != nil {
		o.Simulate = func(key api.AllocationKey, node api.NodeID, add, remove []api.AllocationKey) error {
			err := ask(key, node, add, remove)
			a.simulated(key, node, remove, err)
			return err
		}
	}
	if ask := o.SelectVictims; ask != nil {
		o.SelectVictims = func(key api.AllocationKey, node api.NodeID, candidates []api.AllocationKey, violating []bool) ([]api.AllocationKey, error) {
			chosen, err := ask(key, node, candidates, violating)
			if err == nil && !slices.Equal(a.chosen[key], chosen) {
				a.chosen[key] = slices.Clone(chosen)
				a.say("choose", wordsOf(string(key), chosen)...)
			}
			return chosen, err
		}
	}
	if ask := o.Budgets; ask != nil {
		o.Budgets = func(keys []api.AllocationKey) []api.DisruptionBudget {
			all := ask(keys)
			for _, b := range all {
				a.budget(b)
			}
			return all
		}
	}
}

func wordsOf[T ~string](first string, rest []T) []string {
	words := []string{first}
	for _, word := range rest {
		words = append(words, string(word))
	}
	return words
}

// nameOf is what a class is called in the scenario.
func (a *answers) nameOf(class string) string {
	if a.names[class] == "" {
		a.names[class] = fmt.Sprint("class-", len(a.names)+1)
	}
	return a.names[class]
}

func (a *answers) asked(key api.AllocationKey, node api.NodeID) asked {
	if class := a.classes[key]; class != "" {
		return asked{"alike " + class, node}
	}
	return asked{string(key), node}
}

// feasible takes in whether an ask may run on a node. Where others stand in its way it may once they are gone.
func (a *answers) feasible(key api.AllocationKey, node api.NodeID, err error) {
	of := a.asked(key, node)
	text, was := a.refused[of]
	switch {
	case err == nil && was:
		delete(a.refused, of)
		a.say("allow", string(key), string(node))
	case err != nil && text != err.Error() && (len(a.against[of]) == 0 || coreanswers.IsUnresolvable(err)):
		a.refused[of] = err.Error()
		words := []string{string(key), string(node), err.Error()}
		if !coreanswers.IsUnresolvable(err) {
			words = append(words, "passing")
		}
		a.say("refuse", words...)
	}
}

// simulated takes in whether an ask may run on a node without others. If it may without a single one, it must not run beside that.
func (a *answers) simulated(key api.AllocationKey, node api.NodeID, remove []api.AllocationKey, err error) {
	of := a.asked(key, node)
	_, was := a.refused[of]
	switch {
	case err != nil:
		a.feasible(key, node, err)
	case was:
		delete(a.refused, of)
		a.say("allow", string(key), string(node))
		if len(remove) == 1 {
			other := remove[0]
			if a.against[of] == nil {
				a.against[of] = map[api.AllocationKey]bool{}
			}
			if !a.against[of][other] {
				a.against[of][other] = true
				a.say("conflict", string(key), string(other))
			}
		}
	}
}

// budget takes in how many of some allocations may be evicted.
func (a *answers) budget(said api.DisruptionBudget) {
	b, is := a.budgets[said.Name]
	news := !is || b.allowed != said.Allowed
	if !is {
		b = &budget{members: map[api.AllocationKey]bool{}}
		a.budgets[said.Name] = b
	}
	b.allowed = said.Allowed
	for _, key := range said.Allocations {
		news = news || !b.members[key]
		b.members[key] = true
	}
	if !news {
		return
	}
	l := scenario.Line{Verb: "budget", Words: []string{said.Name, fmt.Sprint("allowed=", said.Allowed)}}
	for _, key := range slices.Sorted(maps.Keys(b.members)) {
		l.Below = append(l.Below, string(key))
	}
	a.said = append(a.said, l)
}
