package simulator

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Parse reads a scenario. The error is Problems: everything that is wrong, each
// with its line.
func Parse(source string) (*Scenario, error) {
	root, _, err := yamltree.Parse(source)
	if err != nil {
		return nil, syntaxProblems(err)
	}
	if root == nil {
		return nil, Problems{{Line: 1, Text: "the scenario is empty"}}
	}
	kinds := new(resources.Kinds)
	p := &parser{
		reader:   reader{kinds: kinds},
		scenario: &Scenario{Kinds: kinds, Delays: defaultDelays},
		source:   source,
		groups:   map[string]int{},
	}
	walk := &yamltree.Walk{Max: valuesMax, Exceeded: p.exceeded}
	p.whole(walk.Top(root))
	p.check()
	slices.SortStableFunc(p.problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	if err := p.problems.orNil(); err != nil {
		return nil, err
	}
	return p.scenario, nil
}

// syntaxProblems is an error of the YAML parser.
func syntaxProblems(err error) Problems {
	if syntax, ok := errors.AsType[*yamltree.SyntaxError](err); ok {
		return Problems{{Line: syntax.Line, Text: syntax.Text}}
	}
	return Problems{{Text: err.Error()}}
}

// A parser reads one scenario.
type parser struct {
	reader
	scenario *Scenario
	source   string
	groups   map[string]int // nodes of each
	// later is what can be checked only when everything is read.
	later []func()
}

func (p *parser) whole(v yamltree.Value) {
	s := p.scenario
	p.mapping(v, map[string]field{
		"name":        p.name(&s.Name),
		"description": text(&p.reader, &s.Description),
		"seed":        whole(&p.reader, &s.Seed, 0, 1<<53),
		"until":       p.time(&s.Until),
		"ends":        p.ends,
		"queues":      p.queues,
		"nodes":       p.items(p.nodes),
		"namespaces":  p.items(p.namespace),
		"workloads":   p.items(p.workload),
		"daemonsets":  p.items(p.daemonSet),
		"foreign":     p.items(p.foreign),
		"incidents":   p.items(p.incident),
		"changes":     p.items(p.change),
		"budgets":     p.items(p.budget),
		"delays":      p.delays,
		"faults":      p.faults,
	}, "name", "nodes")
}

// queues reads the queue configuration and gives its problems the lines they
// have in the scenario.
func (p *parser) queues(v yamltree.Value) {
	err := p.scenario.useQueues(cutQueues(p.source, v.Node))
	if err == nil {
		return
	}
	var problems Problems
	if !errors.As(err, &problems) {
		p.complain(v, "%v", err)
		return
	}
	p.add(problems...)
}

func (p *parser) check() {
	s := p.scenario
	if s.Config.Name == "" && len(p.problems) == 0 {
		if err := s.useQueues(""); err != nil {
			p.add(Problem{Key: "queues", Text: err.Error()})
		}
	}
	if len(s.Nodes) == 0 && len(p.problems) == 0 {
		p.add(Problem{Key: "nodes", Text: "there is none"})
	}
	for _, check := range p.later {
		check()
	}
	p.checkChanges()
	p.checkEnd()
}

// checkChanges works out the changes, in the order of their times.
func (p *parser) checkChanges() {
	s := p.scenario
	slices.SortStableFunc(s.Changes, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	if s.Config.Name == "" {
		return // its problems are reported
	}
	if at, err := s.workOutChanges(); err != nil {
		p.complain(s.Changes[at].stands, "%v", err)
	}
}

// ends reads when all workloads have ended.
func (p *parser) ends(v yamltree.Value) {
	p.time(&p.scenario.Ends)(v)
	p.later = append(p.later, func() {
		if p.scenario.Until > 0 {
			p.complain(v, "does not go with until")
		}
		for _, w := range p.scenario.Workloads {
			if w.Runs == Forever {
				p.complain(v, "the pods of workload %s run forever", w.Name)
			}
		}
	})
}

// checkEnd refuses a scenario that would never stop by itself.
func (p *parser) checkEnd() {
	total := 0
	for _, w := range p.scenario.Workloads {
		total += w.Applications * w.Pods.To
		if total > podsMax {
			p.add(Problem{Key: "workloads", Text: fmt.Sprintf("ask for more than %d pods", podsMax)})
			return
		}
	}
}

// queue reads the name of a leaf queue, which is looked up at the end.
func (p *parser) queue(into *api.QueuePath) field {
	return func(v yamltree.Value) {
		text(&p.reader, into)(v)
		p.later = append(p.later, func() {
			if p.scenario.Config.Name == "" || len(p.scenario.Config.Rules) > 0 {
				return // its problems are reported, or its rules find a queue
			}
			for _, path := range leaves(p.scenario.Config) {
				if path == into.Full() {
					return
				}
			}
			p.complain(v, "%s is no leaf queue; these are: %s", into.Full(), list(leaves(p.scenario.Config)))
		})
	}
}

// groupNames reads the groups something applies to, which are looked up at the end.
func (p *parser) groupNames(into *[]string) field {
	return func(v yamltree.Value) {
		texts(&p.reader, into)(v)
		p.later = append(p.later, func() {
			for _, group := range *into {
				p.knownGroup(v, group)
			}
		})
	}
}

func (p *parser) knownGroup(v yamltree.Value, group string) {
	if p.groups[group] == 0 {
		p.complain(v, "there is no node group %q", group)
	}
}
