package scarcity

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Bounds of the mix.
const (
	profilesMax = 256     // beyond which the amounts of an ask do not count, and then the ask
	halfLife    = 1024    // asks after which what came before counts half
	asksMax     = 1 << 24 // with which a profile counts
)

// A Profile is asks that are alike: of one selector, and about the same amounts.
type Profile struct {
	selector string
	terms    []term
	amounts  resources.Amounts // coarse
	recent   int64             // asks that came lately
	waits    int64             // asks that wait
	usable   uint64            // the classes that can run one
	epoch    uint64            // as of which that is
}

// A Cluster is what is free in a cluster, by class, and what asks want of it, by profile. It
// belongs to one goroutine.
type Cluster struct {
	kinds    []resources.Kind // that count
	devices  []int64          // how much of a kind is a device; zero for others
	capacity []int64          // by kind
	free     []int64          // by kind, of all classes
	classes  []nodeClass
	prices   [][]int64 // by class and kind
	labels   []string  // that selectors name, and taints of nodes, in the order in which they came
	useless  []string  // of those, attributes of which nodes have too many values
	epoch    uint64    // counts changes of classes

	known    map[string]*Profile
	profiles []*Profile // in the order in which they came
	arrived  int        // since recent ones counted half
	wants    []wanted
	all      []int64 // that is wanted, in parts of the capacity, by kind
	stale    int     // changes since prices were worked out
	paid     int     // how many changes pay for working them out
	weighed  uint64
	relabel  bool
	scratch  []byte
}

// New is a cluster of no nodes, in which some kinds count. Sizes say how much of them is a device,
// zero for those that come in none.
func New(kinds []resources.Kind, sizes []int64) *Cluster {
	return &Cluster{
		kinds: kinds, devices: sizes, capacity: make([]int64, len(kinds)), free: make([]int64, len(kinds)), all: make([]int64, len(kinds)),
		known: map[string]*Profile{}, epoch: 1,
	}
}

// Arrive counts an ask that came.
func (c *Cluster) Arrive(selector string, amounts resources.Amounts) *Profile {
	p := c.profileOf(selector, amounts)
	if p == nil {
		return nil
	}
	p.recent = min(p.recent+1, asksMax)
	c.stale++
	if c.arrived++; c.arrived >= halfLife {
		c.arrived = 0
		c.halve()
	}
	return p
}

// Wait counts an ask more that waits, or one less.
func (c *Cluster) Wait(p *Profile, by int64) {
	p.waits += by
	c.stale++
}

// halve has what came lately count half, and forgets the profiles of which nothing is left.
func (c *Cluster) halve() {
	c.profiles = slices.DeleteFunc(c.profiles, func(p *Profile) bool {
		p.recent /= 2
		if p.recent > 0 || p.waits > 0 {
			return false
		}
		delete(c.known, string(c.keyOf(p.selector, p.amounts)))
		return true
	})
}

// keyOf is what a profile is known by.
func (c *Cluster) keyOf(selector string, amounts resources.Amounts) []byte {
	key := append(c.scratch[:0], selector...)
	for i, v := range amounts {
		if v > 0 {
			key = binary.AppendVarint(binary.AppendVarint(append(key, 0), int64(i)), coarse(v))
		}
	}
	c.scratch = key
	return key
}

// profileOf is the profile of an ask; nil if there are too many.
func (c *Cluster) profileOf(selector string, amounts resources.Amounts) *Profile {
	if p := c.known[string(c.keyOf(selector, amounts))]; p != nil {
		return p
	}
	if len(c.profiles) >= profilesMax {
		return nil
	}
	p := &Profile{selector: selector, terms: parse(selector)}
	for i, v := range amounts {
		p.amounts.Set(resources.Kind(i), coarse(v))
	}
	for i := range p.terms {
		if label := p.terms[i].label; label != taintPrefix {
			c.name(label)
		}
	}
	c.known[string(c.scratch)] = p
	c.profiles = append(c.profiles, p)
	return p
}

// name notes that a selector names an attribute, or that it is a taint of a node. Nodes are of other classes then.
func (c *Cluster) name(label string) {
	if len(c.labels)+len(c.useless) < labelsMax && !slices.Contains(c.labels, label) && !slices.Contains(c.useless, label) {
		c.labels = append(c.labels, label)
		c.relabel = true
	}
}

// TakeRelabel reports whether all nodes are to be entered anew, since other attributes count than before.
func (c *Cluster) TakeRelabel() (now bool) {
	if now, c.relabel = c.relabel, false; now {
		for i := range c.classes {
			c.classes[i].key = "" // which no node has
		}
	}
	return now
}

// usableBy are the classes of which a node may run an ask of a profile, were it empty.
func (c *Cluster) usableBy(p *Profile) uint64 {
	if p.epoch == c.epoch {
		return p.usable
	}
	p.usable, p.epoch = 0, c.epoch
	for i := range c.classes {
		if i == classesMax-1 || c.takes(&c.classes[i], p) {
			p.usable |= 1 << i
		}
	}
	return p.usable
}

// takes reports whether a node of a class may run an ask of a profile, as far as attributes count.
func (c *Cluster) takes(s *nodeClass, p *Profile) bool {
	if !p.amounts.FitsIn(s.capacity) {
		return false
	}
	for i := range p.terms {
		if t := &p.terms[i]; !t.holds(s.values) && c.counts(t.label) {
			return false
		}
	}
	for label, value := range s.values {
		if value != "" && strings.HasPrefix(label, taintPrefix) && !tolerates(p.terms, label) {
			return false
		}
	}
	return true
}

// counts reports whether an attribute decides of which class nodes are.
func (c *Cluster) counts(label string) bool { return slices.Contains(c.labels, label) }
