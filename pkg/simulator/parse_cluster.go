package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// defaultDelays are those of a calm cluster.
var defaultDelays = Delays{
	Start:   Between(time.Second, 3*time.Second),
	Stop:    Between(500*time.Millisecond, 2*time.Second),
	Restart: Between(time.Second, 5*time.Second),
}

// nodes reads a group of equal nodes.
func (p *parser) nodes(v yamltree.Value) {
	one, count, every, domains := Node{}, 1, time.Duration(0), []domains(nil)
	p.mapping(v, map[string]field{
		"name":       p.name(&one.Group),
		"count":      whole(&p.reader, &count, 1, nodesMax),
		"capacity":   p.amounts(&one.Capacity),
		"gpus":       p.devices(&one.Devices),
		"attributes": p.labels(&one.Attributes),
		"domains":    p.domains(&domains),
		"join":       p.time(&one.Join),
		"join-every": p.time(&every),
	}, "name", "capacity")
	if one.Group == "" {
		return
	}
	if p.groups[one.Group] > 0 {
		p.complain(v.Below("name"), "the node group %q is described twice", one.Group)
		return
	}
	p.groups[one.Group] = count
	if len(p.scenario.Nodes)+count > nodesMax {
		p.complain(v, "more than %d nodes", nodesMax)
		return
	}
	if err := chargeDevices(p.kinds, &one.Capacity, int64(one.Devices.Count)*deviceMilli); err != nil {
		p.complain(v, "%v", err)
	}
	for _, d := range domains {
		if _, twice := one.Attributes[d.level]; twice {
			p.complain(v.Below("domains"), "%s is among the attributes, too", d.level)
		}
	}
	if _, stated := one.Attributes[attributeModel]; one.Devices.Model != "" && !stated {
		one.Attributes = maps.Clone(one.Attributes)
		if one.Attributes == nil {
			one.Attributes = map[string]string{}
		}
		one.Attributes[attributeModel] = one.Devices.Model
	}
	p.scenario.Nodes = append(p.scenario.Nodes, divide(expand(one, count, every), domains)...)
}

// domains are an attribute of nodes, and how many nodes of a group, one after the other, have a value in common.
type domains struct {
	level string
	size  int
}

func (p *parser) domains(into *[]domains) field {
	return func(v yamltree.Value) {
		if !v.IsMapping() {
			p.complain(v, "must be a mapping of how many nodes are in one, such as rack: 16")
			return
		}
		for _, e := range p.entries(v) {
			d := domains{level: e.Key}
			whole(&p.reader, &d.size, 1, nodesMax)(e.Value)
			*into = append(*into, d)
		}
	}
}

// divide gives the nodes of a group their domains, which are numbered as nodes are.
func divide(nodes []Node, by []domains) []Node {
	if len(by) == 0 {
		return nodes
	}
	for i := range nodes {
		attributes := map[string]string{}
		maps.Copy(attributes, nodes[i].Attributes)
		for _, d := range by {
			if d.size > 0 { // else it was complained about
				attributes[d.level] = fmt.Sprintf("%s-%0*d", nodes[i].Group, len(fmt.Sprint((len(nodes)-1)/d.size+1)), i/d.size+1)
			}
		}
		nodes[i].Attributes = attributes
	}
	return nodes
}

// expand numbers the nodes of a group; the only one keeps the bare name.
func expand(one Node, count int, every time.Duration) []Node {
	if count == 1 {
		one.ID = api.NodeID(one.Group)
		return []Node{one}
	}
	width := len(fmt.Sprint(count))
	nodes := make([]Node, count)
	for i := range nodes {
		nodes[i] = one
		nodes[i].ID = api.NodeID(fmt.Sprintf("%s-%0*d", one.Group, width, i+1))
		nodes[i].Join = one.Join + time.Duration(i)*every
	}
	return nodes
}

func (p *parser) devices(into *Devices) field {
	return func(v yamltree.Value) {
		p.mapping(v, map[string]field{
			"count": whole(&p.reader, &into.Count, 1, devicesMax),
			"model": text(&p.reader, &into.Model),
		}, "count")
	}
}

func (p *parser) demand(into *Demand) field {
	return func(v yamltree.Value) {
		into.Milli = deviceMilli
		p.mapping(v, map[string]field{
			"count":  whole(&p.reader, &into.Count, 1, devicesMax),
			"milli":  whole(&p.reader, &into.Milli, 1, deviceMilli),
			"models": texts(&p.reader, &into.Models),
		}, "count")
	}
}

// chargeDevices adds the thousandths of devices to amounts, as the kind gpu.
func chargeDevices(kinds *resources.Kinds, amounts *resources.Amounts, milli int64) error {
	if milli == 0 {
		return nil
	}
	kind, err := kinds.Intern(gpuKind)
	if err != nil {
		return err
	}
	amounts.Set(kind, milli)
	return nil
}

func (p *parser) incident(v yamltree.Value) {
	one := Incident{Count: 1}
	counted := false
	p.mapping(v, map[string]field{
		"at":     p.time(&one.At),
		"what":   scalar(&p.reader, &one.Kind, parseIncidentKind),
		"nodes":  texts(&p.reader, &one.Nodes),
		"group":  text(&p.reader, &one.Group),
		"count":  func(v yamltree.Value) { counted = true; whole(&p.reader, &one.Count, 1, nodesMax)(v) },
		"for":    p.time(&one.For),
		"evicts": p.flag(&one.Evicts),
		"by":     p.time(&one.By),
		"back":   p.time(&one.Back),
	}, "at", "what")
	hits := one.Group != "" || len(one.Nodes) > 0
	switch {
	case !one.Kind.OnNodes() && (hits || counted || one.For > 0):
		p.complain(v, "what: %s happens to the scheduler, and goes with neither nodes, group, count nor for", one.Kind)
	case (one.Kind == Jumps) != (one.By > 0):
		p.complain(v.Below("by"), "goes with what: clock, which needs it")
	case one.Back > 0 && one.Kind != Restarts:
		p.complain(v.Below("back"), "goes with what: restart")
	case one.Kind.OnNodes() && (one.Group == "") == (len(one.Nodes) == 0):
		p.complain(v, "say either nodes or group")
	case counted && one.Group == "":
		p.complain(v.Below("count"), "goes with group")
	case one.Evicts && one.Kind != Drains:
		p.complain(v.Below("evicts"), "goes with what: drain")
	}
	p.scenario.Incidents = append(p.scenario.Incidents, one)
	p.later = append(p.later, func() { p.knownNodes(v, one) })
}

func (p *parser) knownNodes(v yamltree.Value, one Incident) {
	if one.Group != "" {
		p.knownGroup(v.Below("group"), one.Group)
		if known := p.groups[one.Group]; known > 0 && one.Count > known {
			p.complain(v.Below("count"), "the group has only %d nodes", known)
		}
	}
	for _, id := range one.Nodes {
		known := false
		for i := range p.scenario.Nodes {
			known = known || p.scenario.Nodes[i].ID == id
		}
		if !known {
			p.complain(v.Below("nodes"), "there is no node %q", id)
		}
	}
}

func parseIncidentKind(text string) (IncidentKind, error) {
	if kind := slices.Index(incidentNames[:], text); kind >= 0 {
		return IncidentKind(kind), nil
	}
	return 0, fmt.Errorf("%q is none of %s", text, strings.Join(incidentNames[:], ", "))
}

func (p *parser) change(v yamltree.Value) {
	one := Change{stands: v}
	p.mapping(v, map[string]field{
		"at": p.time(&one.At), "queue": text(&p.reader, &one.Queue),
		"max": p.labels(&one.Max), "guaranteed": p.labels(&one.Guaranteed),
		"gone": func(v yamltree.Value) {
			one.Gone = new(bool)
			p.flag(one.Gone)(v)
		},
	}, "at", "queue")
	if limits := len(one.Max) + len(one.Guaranteed); limits == 0 && one.Gone == nil || limits > 0 && one.Gone != nil {
		p.complain(v, "say max or guaranteed, or both, or gone alone")
	}
	one.Queue = one.Queue.Full()
	p.scenario.Changes = append(p.scenario.Changes, one)
}

func (p *parser) budget(v yamltree.Value) {
	var one Budget
	p.mapping(v, map[string]field{
		"name": p.name(&one.Name), "workloads": texts(&p.reader, &one.Workloads), "allowed": whole(&p.reader, &one.Allowed, 0, podsMax),
	}, "name", "workloads", "allowed")
	for _, other := range p.scenario.Budgets {
		if other.Name == one.Name && one.Name != "" {
			p.complain(v.Below("name"), "there are two budgets %q", one.Name)
		}
	}
	p.scenario.Budgets = append(p.scenario.Budgets, one)
	p.later = append(p.later, func() {
		for _, name := range one.Workloads {
			if !slices.ContainsFunc(p.scenario.Workloads, func(w Workload) bool { return w.Name == name }) {
				p.complain(v.Below("workloads"), "there is no workload %q", name)
			}
		}
	})
}

func (p *parser) delays(v yamltree.Value) {
	d := &p.scenario.Delays
	p.mapping(v, map[string]field{
		"start":   p.finite(&d.Start),
		"stop":    p.finite(&d.Stop),
		"restart": p.finite(&d.Restart),
	})
}

func (p *parser) faults(v yamltree.Value) {
	f := &p.scenario.Faults
	f.Late = Between(time.Minute, 5*time.Minute)
	p.mapping(v, map[string]field{
		"bind-fails":    p.probability(&f.BindFails),
		"release-late":  p.probability(&f.ReleaseLate),
		"release-twice": p.probability(&f.ReleaseTwice),
		"release-never": p.probability(&f.ReleaseNever),
		"report-twice":  p.probability(&f.ReportTwice),
		"foreign-early": p.probability(&f.ForeignEarly),
		"cross":         p.probability(&f.Cross),
		"late":          p.finite(&f.Late),
		"until":         p.time(&f.Until),
	})
	if f.Cross > 900 {
		p.complain(v.Below("cross"), "above 90%% hardly any message would ever come")
	}
	if f.BindFails > 900 {
		p.complain(v.Below("bind-fails"), "above 90%% hardly anything would ever run")
	}
}

// finite reads a span that ends.
func (p *parser) finite(into *Span) field {
	return func(v yamltree.Value) {
		p.span(into)(v)
		if into.law == forever {
			p.complain(v, "must end")
			*into = Span{}
		}
	}
}
