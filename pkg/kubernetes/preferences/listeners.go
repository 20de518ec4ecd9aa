package preferences

import "iter"

// listeners are the classes that are kept, by the pods that may matter to them: those of a namespace to a class with spread constraints, all to
// one with affinity of its own, and to the others only pods that have a say about where others are placed. Most pods matter to
// few classes, and are told to these alone.
type listeners map[audience]map[*class]bool

// An audience is to which pods classes listen: to those of a namespace, to all, or to choosy ones only.
type audience struct {
	namespace string
	to        listening
}

type listening uint8

const (
	toChoosy listening = iota
	toNamespace
	toAll
)

func audienceOf(c *class) audience {
	switch {
	case len(c.affinity.own) > 0:
		return audience{to: toAll}
	case len(c.spread.constraints) > 0:
		return audience{c.pod.Namespace, toNamespace}
	}
	return audience{to: toChoosy}
}

func (l listeners) add(c *class) {
	a := audienceOf(c)
	if l[a] == nil {
		l[a] = map[*class]bool{}
	}
	l[a][c] = true
}

func (l listeners) remove(c *class) {
	a := audienceOf(c)
	if delete(l[a], c); len(l[a]) == 0 {
		delete(l, a)
	}
}

// of are the classes to which a pod may matter, in no order.
func (l listeners) of(p *counted) iter.Seq[*class] {
	if p.choosy {
		return func(yield func(*class) bool) {
			for a := range l {
				if !l.each(a, yield) {
					return
				}
			}
		}
	}
	return func(yield func(*class) bool) {
		_ = l.each(audience{p.Pod.Namespace, toNamespace}, yield) && l.each(audience{to: toAll}, yield)
	}
}

// each yields the classes of an audience, and says whether it is to go on.
func (l listeners) each(a audience, yield func(*class) bool) bool {
	for c := range l[a] {
		if !yield(c) {
			return false
		}
	}
	return true
}
