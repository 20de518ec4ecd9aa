package config

import (
	"fmt"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/placement"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// build makes what partitions are configured with. It can fail only for want of
// room in the table of kinds.
func (r *reader) build(definitions []Partition, kinds *resources.Kinds) []api.Config {
	out := make([]api.Config, len(definitions))
	b := builder{r, kinds}
	for i := range definitions {
		p := &definitions[i]
		out[i] = api.Config{
			Name:       p.Name,
			Root:       b.queue(p.Root, inherited{}),
			Rules:      buildRules(p.Rules),
			Closed:     p.Closed,
			Nodes:      p.Nodes,
			Levels:     p.Levels,
			Preemption: p.Preemption,
			Resolver:   p.Resolver,
		}
	}
	return out
}

// A builder makes queues with quantities in some kinds.
type builder struct {
	*reader
	kinds *resources.Kinds
}

// inherited is what a queue has from its parent.
type inherited struct {
	texts    map[string]string // merged properties
	template *Template
}

// queue makes one queue and what is below it.
func (b builder) queue(q *Queue, from inherited) api.QueueConfig {
	own := inherited{inherit(from.texts, q.Properties), from.template}
	if q.Template != nil {
		own.template = q.Template
	}
	out := api.QueueConfig{
		Name:       q.Name,
		Parent:     q.Parent,
		Properties: workOut(own.texts),
		Submit:     q.SubmitACL,
		Admin:      q.AdminACL,
	}
	out.Guaranteed, out.Max = b.quantities(q, "resources", q.Guaranteed, q.Max)
	out.ApplicationsMax = int(clampCount(q.ApplicationsMax))
	for i := range q.Limits {
		out.Limits = append(out.Limits, b.limit(q, &q.Limits[i]))
	}
	if q.Parent {
		out.Below = b.template(q, own)
	}
	for _, child := range q.Queues {
		out.Queues = append(out.Queues, b.queue(child, own))
	}
	return out
}

// template makes what queues get that are made below a queue: its properties as any queue
// below inherits them, and what its template says.
func (b builder) template(q *Queue, own inherited) *api.QueueTemplate {
	texts := inherit(own.texts, nil)
	out := &api.QueueTemplate{Parent: workOut(texts), Leaf: workOut(texts)}
	if t := own.template; t != nil {
		out.Leaf = workOut(inherit(own.texts, t.Properties))
		out.ApplicationsMax = int(clampCount(t.ApplicationsMax))
		out.Guaranteed, out.Max = b.quantities(q, "childtemplate.resources", t.Guaranteed, t.Max)
	}
	return out
}

// quantities makes what a queue or its template is guaranteed and may have.
func (b builder) quantities(q *Queue, key string, guaranteed, most Quantities) (resources.Amounts, resources.Limits) {
	amounts, err := b.kinds.Amounts(guaranteed.values())
	if err != nil {
		b.kindProblem(q, key+".guaranteed", err)
	}
	limits, err := b.kinds.Limits(most.values())
	if err != nil {
		b.kindProblem(q, key+".max", err)
	}
	return amounts, limits
}

// limit makes a limit of users and groups. One that names no kinds has no max.
func (b builder) limit(q *Queue, l *Limit) api.Limit {
	out := api.Limit{Users: l.Users, Groups: l.Groups, ApplicationsMax: int(clampCount(l.ApplicationsMax))}
	if len(l.Max) == 0 {
		return out
	}
	limits, err := b.kinds.Limits(l.Max.values())
	if err != nil {
		b.kindProblem(q, "limits.maxresources", err)
	}
	out.Max = limits
	return out
}

// buildRules makes the rules of placement.
func buildRules(rules []Rule) []placement.Rule {
	var out []placement.Rule
	for i := range rules {
		out = append(out, *buildRule(&rules[i]))
	}
	return out
}

func buildRule(rule *Rule) *placement.Rule {
	if rule == nil {
		return nil
	}
	return &placement.Rule{
		Kind: ruleKinds[rule.Name], Create: rule.Create, Value: rule.Value, Parent: buildRule(rule.Parent),
		Filter: placement.Filter{Deny: rule.Filter.Deny, Users: buildNames(rule.Filter.Users), Groups: buildNames(rule.Filter.Groups)},
	}
}

func buildNames(names []string) placement.Names {
	built, err := placement.NewNames(names)
	if err != nil { // it was read before
		panic(err)
	}
	return built
}

func (r *reader) kindProblem(q *Queue, key string, err error) {
	place := q.place
	place.Key = key
	r.add(Problem{Place: place, Message: fmt.Sprint(err)})
}
