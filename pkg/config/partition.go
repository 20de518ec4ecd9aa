package config

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A Partition is one partition as it was written. Names are in lower case and
// what was left out has its default.
type Partition struct {
	Name       string
	Root       *Queue
	Nodes      api.NodeOrder
	Levels     [][]string // attributes of nodes, each list coarse to fine
	Preemption api.PreemptionConfig
	Rules      []Rule // that place applications
	Closed     bool   // a queue names an access list: without one above or here, a queue is for no user
	Resolver   string // of users' groups: empty, os, ldap or test

	limits      []Limit // of the partition, which is another way to write those of the root
	limitsPlace Place
	place       Place
}

// partitionName is what a partition may be called; brackets are left to the
// name of the resource manager.
var partitionName = regexp.MustCompile(`^[a-zA-Z0-9_:#/@.-]{1,64}$`)

// defaultPartition is the name of a partition that has none.
const defaultPartition = "default"

func (r *reader) partitions(c cursor) []Partition {
	var out []Partition
	seen := map[string]int{} // lines
	for i, item := range c.items() {
		if i == PartitionsMax {
			r.giveUp(Problem{Place: item.place, Message: fmt.Sprintf("more than %d partitions", PartitionsMax)})
			break
		}
		p := r.partition(item)
		if line, twice := seen[p.Name]; twice {
			item.place.Partition, item.place.Key = p.Name, "name"
			item.fail("a partition with this name is in line %d already; upper and lower case are the same", line)
		} else {
			seen[p.Name] = p.place.Line
		}
		out = append(out, p)
	}
	return out
}

func (r *reader) partition(c cursor) Partition {
	p := Partition{Name: defaultPartition, Preemption: r.defaults.preemption()}
	name, named := c.find("name")
	if named && name.IsScalar() && name.Node.Value != "" {
		p.Name = strings.ToLower(clip(name.Node.Value))
	}
	c = c.atPartition(p.Name)
	p.place = c.place
	if c.IsMapping() {
		if _, ok := c.find("queues"); !ok {
			c.fail("queues is missing; write queues: [] for a root queue alone")
		}
	}
	r.closed = r.defaults.Closed
	c.fields(
		field{"name", func(c cursor) {
			if name := c.text(); name != "" && !partitionName.MatchString(name) {
				c.fail("%s is no name of a partition: 1 to 64 letters, digits and _ : # / @ . -", quote(name))
			}
		}},
		field{"queues", func(c cursor) { p.Root = r.top(c) }},
		field{"placementrules", func(c cursor) {
			p.Rules = r.rules(c)
		}},
		field{"limits", func(c cursor) {
			p.limits, p.limitsPlace = r.limits(c), c.atKey().place
		}},
		field{"preemption", func(c cursor) { p.Preemption = r.preemption(c) }},
		field{"nodesortpolicy", func(c cursor) { p.Nodes = nodeOrder(c) }},
		field{"topology", func(c cursor) { p.Levels = topology(c) }},
		field{"usergroupresolver", func(c cursor) { p.Resolver = resolver(c) }},
	)
	p.Closed = r.closed
	if p.Root == nil {
		p.Root = &Queue{Name: rootName, Path: rootName, Parent: true, place: p.place}
	}
	return p
}

func resolver(c cursor) string {
	var kind string
	c.fields(field{"type", func(c cursor) {
		switch kind = c.text(); kind {
		case "", "os", "ldap", "test":
		default:
			c.fail("unknown resolver %s, known are os, ldap and test", quote(kind))
		}
	}})
	return kind
}

func nodeOrder(c cursor) api.NodeOrder {
	var order api.NodeOrder
	byDevices, sizes := c, c // set if the keys are there
	c.fields(
		field{"type", func(c cursor) {
			switch policy := c.text(); policy {
			case "fair", "":
			case "binpacking":
				order.Packing = true
			case "devices":
				byDevices = c
			case "scarcity":
				order.Scarcity = true
			default:
				c.fail("unknown policy %s, write fair, binpacking, devices or scarcity", quote(policy))
			}
		}},
		field{"resourceweights", func(c cursor) { order.Weights = weights(c) }},
		field{"devices", func(c cursor) { sizes, order.Devices = c, deviceSizes(c) }},
	)
	switch {
	case byDevices.Node != c.Node && sizes.Node == c.Node:
		byDevices.fail("the kinds that come in devices are missing, write for example devices: {nvidia.com/gpu: 1}")
	case byDevices.Node == c.Node && sizes.Node != c.Node && !order.Scarcity:
		sizes.fail("devices count with type: devices or scarcity only")
	}
	return order
}

// deviceSizes are kinds that come in devices, each with the amount of one device.
func deviceSizes(c cursor) map[string]int64 {
	read := c.quantities()
	sizes := make(map[string]int64, len(read))
	for _, kind := range slices.Sorted(maps.Keys(read)) {
		if read[kind].Value == 0 {
			c.fail("a device of %s is nothing, write the amount of one", quote(kind))
		}
		sizes[kind] = read[kind].Value
	}
	if len(sizes) == 0 {
		c.fail("no kinds of devices, write for example {nvidia.com/gpu: 1}")
	}
	return sizes
}

// Weights are counted in integers. If one of them has a fraction, all are
// counted in millionths, which is as fine as they may be.
const (
	weightMax   = 1_000_000
	weightScale = 1_000_000
)

func weights(c cursor) map[string]int64 {
	exact := map[string]*big.Rat{}
	whole, some := true, false
	c.each(func(kind string, value cursor) {
		weight, ok := value.number()
		switch {
		case !ok:
		case kind == "":
			value.atKey().fail("a resource kind without a name")
		case weight < 0:
			value.fail("%s is negative", quote(value.Node.Value))
		case math.IsNaN(weight):
			value.fail("%s is no number", quote(value.Node.Value))
		case weight > weightMax:
			value.fail("%s is too large, %d is the most", quote(value.Node.Value), weightMax)
		default:
			// The shortest decimal that reads as this number is what was meant.
			exact[kind], _ = new(big.Rat).SetString(strconv.FormatFloat(weight, 'f', -1, 64))
			if !new(big.Rat).Mul(exact[kind], big.NewRat(weightScale, 1)).IsInt() {
				value.fail("%s is too fine, use at most six digits after the point", quote(value.Node.Value))
			}
			whole = whole && weight == math.Trunc(weight)
			some = some || weight > 0
		}
	})
	if len(exact) == 0 {
		return nil
	}
	if !some {
		c.warn("every weight is 0, so no node goes before another for what it has free")
	}
	scale := big.NewRat(weightScale, 1)
	if whole {
		scale = big.NewRat(1, 1)
	}
	out := make(map[string]int64, len(exact))
	for kind, weight := range exact {
		out[kind] = new(big.Rat).Mul(weight, scale).Num().Int64()
	}
	return out
}
