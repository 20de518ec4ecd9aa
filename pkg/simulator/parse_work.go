package simulator

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

func (p *parser) workload(v yamltree.Value) {
	w := Workload{Applications: 1, Pods: Count{1, 1}, Runs: Forever}
	queued := false
	p.mapping(v, map[string]field{
		"name":         p.name(&w.Name),
		"queue":        func(v yamltree.Value) { queued = true; p.queue(&w.Queue)(v) },
		"user":         p.one(&w.Users),
		"users":        texts(&p.reader, &w.Users),
		"user-groups":  texts(&p.reader, &w.UserGroups),
		"namespace":    p.one(&w.Namespaces),
		"namespaces":   texts(&p.reader, &w.Namespaces),
		"tags":         p.labels(&w.Tags),
		"applications": whole(&p.reader, &w.Applications, 1, podsMax),
		"pods":         p.count(&w.Pods, podsMax),
		"arrival":      p.arrival(&w.Arrival),
		"resources":    p.amounts(&w.Amounts),
		"gpus":         p.demand(&w.Demand),
		"selector":     p.labels(&w.Selector),
		"priority":     whole(&p.reader, &w.Priority, math.MinInt32, math.MaxInt32),
		"runs":         p.span(&w.Runs),
		"once":         p.flag(&w.Once),
		"driver":       p.flag(&w.Driver),
		"opt-out":      p.flag(&w.OptOut),
		"spare-others": p.flag(&w.SparesOthers),
		"stubborn":     p.flag(&w.Stubborn),
		"grace":        p.time(&w.Grace),
		"qos":          scalar(&p.reader, &w.QoS, parseQoS),
		"gang":         p.gang(&w.Gang),
		"group":        p.group(&w.Group),
	}, "name", "resources", "runs")
	if !queued {
		p.later = append(p.later, func() { p.checkUnqueued(v) })
	}
	if len(w.Users) == 0 {
		w.Users = []string{"simulation"}
	}
	if w.Gang != nil && (w.Arrival.Pods || w.Demand.Count > 0) {
		p.complain(v.Below("gang"), "goes with neither gpus nor pods that come one by one")
	}
	if w.Group != nil && (w.Arrival.Pods || w.Gang != nil) {
		p.complain(v.Below("group"), "goes with neither a gang nor pods that come one by one")
	}
	if w.Group != nil && w.Group.Least > w.Pods.From {
		p.complain(v.Below("group"), "wants %d pods to start together, and an application has %d", w.Group.Least, w.Pods.From)
	}
	p.chargeDemand(v, &w.Amounts, w.Demand)
	p.unique(v, "workload", w.Name)
	p.scenario.Workloads = append(p.scenario.Workloads, w)
}

// one reads a list of one text, which another key gives whole.
func (p *parser) one(into *[]string) field {
	return func(v yamltree.Value) {
		if len(*into) > 0 {
			p.complain(v, "stands beside a list of the same")
			return
		}
		var value string
		text(&p.reader, &value)(v)
		if value != "" {
			*into = []string{value}
		}
	}
}

// checkUnqueued refuses a workload without a queue where no rules of placement find one.
func (p *parser) checkUnqueued(v yamltree.Value) {
	if c := p.scenario.Config; c.Name != "" && len(c.Rules) == 0 {
		p.complain(v.Below("queue"), "is missing, and there are no placementrules that find one")
	}
}

// namespace reads the quota of a namespace.
func (p *parser) namespace(v yamltree.Value) {
	var n Namespace
	var most, guaranteed map[string]int64
	p.mapping(v, map[string]field{
		"name":       p.name(&n.Name),
		"max":        p.quantities(&most),
		"guaranteed": p.quantities(&guaranteed),
	}, "name")
	var err error
	if n.Quota.Max, err = p.kinds.Limits(most); err != nil {
		p.complain(v.Below("max"), "%v", err)
	}
	if n.Quota.Guaranteed, err = p.kinds.Amounts(guaranteed); err != nil {
		p.complain(v.Below("guaranteed"), "%v", err)
	}
	if slices.ContainsFunc(p.scenario.Namespaces, func(other Namespace) bool { return other.Name == n.Name }) {
		p.complain(v.Below("name"), "the namespace %q has a quota already", n.Name)
	}
	p.scenario.Namespaces = append(p.scenario.Namespaces, n)
}

// gang reads how the pods of an application come together.
func (p *parser) gang(into **Gang) field {
	return func(v yamltree.Value) {
		g := Gang{Timeout: api.DefaultGangTimeout}
		p.mapping(v, map[string]field{
			"timeout": p.time(&g.Timeout),
			"style":   scalar(&p.reader, &g.Style, parseStyle),
			"after":   p.time(&g.After),
		})
		*into = &g
	}
}

func parseStyle(text string) (api.GangStyle, error) {
	switch text {
	case "soft":
		return api.Soft, nil
	case "hard":
		return api.Hard, nil
	}
	return 0, fmt.Errorf("%q is neither soft nor hard", text)
}

// parseQoS reads a class of service as Kubernetes names it.
func parseQoS(text string) (string, error) {
	if !slices.Contains([]string{"BestEffort", "Burstable", "Guaranteed"}, text) {
		return "", fmt.Errorf("%q is neither BestEffort, Burstable nor Guaranteed", text)
	}
	return text, nil
}

func (p *parser) chargeDemand(v yamltree.Value, amounts *resources.Amounts, d Demand) {
	if err := chargeDevices(p.kinds, amounts, d.total()); err != nil {
		p.complain(v, "%v", err)
	}
	if amounts.IsZero() {
		p.complain(v.Below("resources"), "must not be all zero")
	}
}

// unique makes sure that names of pods do not collide.
func (p *parser) unique(v yamltree.Value, what, name string) {
	if name == "" {
		return
	}
	taken := "the name %q is taken by another workload, daemonset or foreign group"
	for _, w := range p.scenario.Workloads {
		if w.Name == name {
			p.complain(v.Below("name"), taken, name)
		}
	}
	for _, d := range p.scenario.DaemonSets {
		if d.Name == name {
			p.complain(v.Below("name"), taken, name)
		}
	}
	for _, f := range p.scenario.Foreign {
		if f.Name == name {
			p.complain(v.Below("name"), taken, name)
		}
	}
}

// arrival reads one of at, every and poisson.
func (p *parser) arrival(into *Arrival) field {
	return func(v yamltree.Value) {
		ways := 0
		way := func(read field) field {
			return func(v yamltree.Value) { ways++; read(v) }
		}
		of, at, from := "applications", time.Duration(0), time.Duration(0)
		p.mapping(v, map[string]field{
			"at":      way(p.time(&at)),
			"every":   way(p.time(&into.Gap)),
			"poisson": way(scalar(&p.reader, &into.Mean, parseRate)),
			"from":    p.time(&from),
			"of":      text(&p.reader, &of),
		})
		if ways != 1 {
			p.complain(v, "say exactly one of at, every and poisson")
		}
		if at > 0 && from > 0 {
			p.complain(v.Below("from"), "goes with every and poisson")
		}
		if of != "applications" && of != "pods" {
			p.complain(v.Below("of"), "%q is neither applications nor pods", of)
		}
		into.From, into.Pods = max(at, from), of == "pods"
	}
}

func (p *parser) daemonSet(v yamltree.Value) {
	d := DaemonSet{Queue: "root.default", User: "simulation"}
	p.mapping(v, map[string]field{
		"name":      p.name(&d.Name),
		"queue":     p.queue(&d.Queue),
		"user":      text(&p.reader, &d.User),
		"groups":    p.groupNames(&d.Groups),
		"resources": p.amounts(&d.Amounts),
		"priority":  whole(&p.reader, &d.Priority, math.MinInt32, math.MaxInt32),
		"at":        p.time(&d.At),
	}, "name", "queue", "resources")
	p.chargeDemand(v, &d.Amounts, Demand{})
	p.unique(v, "daemonset", d.Name)
	p.scenario.DaemonSets = append(p.scenario.DaemonSets, d)
}

func (p *parser) foreign(v yamltree.Value) {
	f := Foreign{Runs: Forever}
	p.mapping(v, map[string]field{
		"name":      p.name(&f.Name),
		"groups":    p.groupNames(&f.Groups),
		"count":     whole(&p.reader, &f.Count, 1, podsMax),
		"static":    p.flag(&f.Static),
		"resources": p.amounts(&f.Amounts),
		"at":        p.time(&f.At),
		"runs":      p.span(&f.Runs),
		"resizes":   p.items(p.resize(&f.Resizes)),
	}, "name", "resources")
	p.chargeDemand(v, &f.Amounts, Demand{})
	p.unique(v, "foreign", f.Name)
	p.scenario.Foreign = append(p.scenario.Foreign, f)
}

func (p *parser) resize(into *[]Resize) field {
	return func(v yamltree.Value) {
		var one Resize
		p.mapping(v, map[string]field{
			"after":     p.time(&one.After),
			"resources": p.amounts(&one.Amounts),
		}, "after", "resources")
		p.chargeDemand(v, &one.Amounts, Demand{})
		*into = append(*into, one)
	}
}
