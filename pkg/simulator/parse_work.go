package simulator

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

func (p *parser) workload(v yamltree.Value) {
	w := Workload{Applications: 1, Pods: Count{1, 1}, Queue: "root.default", User: "simulation", Runs: Forever}
	p.mapping(v, map[string]field{
		"name":         p.name(&w.Name),
		"queue":        p.queue(&w.Queue),
		"user":         text(&p.reader, &w.User),
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
	}, "name", "queue", "resources", "runs")
	p.chargeDemand(v, &w.Amounts, w.Demand)
	p.unique(v, "workload", w.Name)
	p.scenario.Workloads = append(p.scenario.Workloads, w)
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
