package core

import (
	"fmt"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A verifier keeps the first law that it finds broken.
type verifier struct {
	p       *Partition
	settled bool // nothing has changed to which nothing has reacted
	broken  error
	found   int // requests in lists of nodes and applications
	used    resources.Sum
	foreign resources.Sum
	total   resources.Sum
	sum     resources.Sum // scratch

	running, nominations, reserves priorityCounts // counted anew
	nominatedAsks                  int
	renominated                    int // asks that are to be nominated again
	unknown                        int // kinds that asks want and no node has
}

func (v *verifier) breaks(format string, args ...any) {
	if v.broken == nil {
		v.broken = fmt.Errorf("partition %s: "+format, append([]any{v.p.name}, args...)...)
	}
}

// add sums up a list in the scratch vector.
func (v *verifier) add(list []*request) resources.Sum {
	v.sum = resources.Sum{Amounts: v.sum.Amounts[:0]}
	for _, r := range list {
		v.sum.Add(r.Amounts)
	}
	return v.sum
}

func (v *verifier) equal(what, of string, booked, counted resources.Sum) {
	if v.broken == nil && !booked.Same(counted) {
		v.breaks("%s of %s: booked %s, counted %s", what, of, v.p.kinds.Format(booked.Amounts), v.p.kinds.Format(counted.Amounts))
	}
}
