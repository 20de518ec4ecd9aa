package config

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/placement"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Definition is how a partition that was loaded can be written: what loads of it is equal to it. What limits are for is not known any more.
func Definition(c api.Config, kinds *resources.Kinds) Partition {
	d := definer{kinds}
	p := Partition{Name: c.Name, Nodes: c.Nodes, Levels: c.Levels, Preemption: c.Preemption, Closed: c.Closed, Resolver: c.Resolver}
	p.Root = d.queue(&c.Root, nil)
	for i := range c.Rules {
		p.Rules = append(p.Rules, *definedRule(&c.Rules[i]))
	}
	return p
}

// A definer writes queues with quantities in some kinds.
type definer struct{ kinds *resources.Kinds }

func (d definer) queue(c *api.QueueConfig, inherited map[string]string) *Queue {
	q := &Queue{
		Name: c.Name, Parent: c.Parent, Guaranteed: quantitiesOf(d.kinds.Map(c.Guaranteed)), Max: quantitiesOf(d.kinds.LimitMap(c.Max)),
		Properties: own(inherited, c.Properties.Texts), AdminACL: c.Admin, SubmitACL: c.Submit, ApplicationsMax: uint64(c.ApplicationsMax),
	}
	for _, l := range c.Limits {
		q.Limits = append(q.Limits, Limit{
			Users: l.Users, Groups: l.Groups, Max: quantitiesOf(d.kinds.LimitMap(l.Max)), ApplicationsMax: uint64(l.ApplicationsMax),
		})
	}
	if below := c.Below; below != nil {
		t := &Template{
			ApplicationsMax: uint64(below.ApplicationsMax), Guaranteed: quantitiesOf(d.kinds.Map(below.Guaranteed)),
			Max: quantitiesOf(d.kinds.LimitMap(below.Max)), Properties: own(c.Properties.Texts, below.Leaf.Texts),
		}
		if t.ApplicationsMax > 0 || len(t.Guaranteed)+len(t.Max)+len(t.Properties) > 0 {
			q.Template = t
		}
	}
	for i := range c.Queues {
		q.Queues = append(q.Queues, d.queue(&c.Queues[i], c.Properties.Texts))
	}
	return q
}

// own are the properties of a queue that it does not inherit.
func own(inherited, merged map[string]string) map[string]string {
	from := inherit(inherited, nil)
	out := map[string]string{}
	for name, text := range merged {
		if was, is := from[name]; !is || was != text {
			out[name] = text
		}
	}
	return out
}

func quantitiesOf(named map[string]int64) Quantities {
	if len(named) == 0 {
		return nil
	}
	out := make(Quantities, len(named))
	for kind, value := range named {
		out[kind] = Quantity{Value: value}
	}
	return out
}

func definedRule(rule *placement.Rule) *Rule {
	if rule == nil {
		return nil
	}
	return &Rule{
		Name: rule.Kind.String(), Create: rule.Create, Value: rule.Value, Parent: definedRule(rule.Parent),
		Filter: Filter{Deny: rule.Filter.Deny, Users: slices.Clone(rule.Filter.Users.Texts()), Groups: slices.Clone(rule.Filter.Groups.Texts())},
	}
}
