package explanation

import (
	"context"
	"errors"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
)

// whatIfPredicatesMax is how many questions about pods and nodes a what-if asks the
// resource manager at most: placements wait while it answers one.
const whatIfPredicatesMax = 1000

// predicatesAsked says whether what a what-if foretells is what the resource manager allows.
type predicatesAsked string

// The answers: all of it was asked; it refuses nothing; some was not asked; nothing was.
const (
	predicatesTold   predicatesAsked = "asked"
	predicatesNone   predicatesAsked = "none"
	predicatesPartly predicatesAsked = "in part"
	predicatesSilent predicatesAsked = "not asked"
)

// A predicateRun asks the resource manager the questions of one what-if, or of one explanation.
type predicateRun struct {
	ctx       context.Context // of one request, which this does not outlive
	config    Config
	end       context.CancelFunc
	partition string

	none     bool // it refuses nothing
	answered int  // questions
	silent   bool // a question had no answer, or there were too many
}

// predicatesOf asks first whether there are predicates at all. Questions may take a part of
// the time of the what-if; the rest is for simulating.
func predicatesOf(ctx context.Context, at *object.Snapshot, of Config) *predicateRun {
	run := &predicateRun{config: of, partition: at.View.Partition}
	run.ctx, run.end = context.WithTimeout(ctx, of.Max/2)
	if of.Feasible == nil {
		run.silent = true
		return run
	}
	_, err := of.Feasible(run.ctx, run.partition, "", "")
	run.none = errors.Is(err, errors.ErrUnsupported)
	run.silent = err != nil && !run.none
	return run
}

// feasible is what asks, nil if there is nothing to be asked.
func (p *predicateRun) feasible() api.Feasible {
	if p.none || p.silent {
		return nil
	}
	return func(ask api.AllocationKey, node api.NodeID, _ bool) error {
		_, refused := p.mayRun(ask, node)
		return refused
	}
}

// mayRun asks whether an ask may run on a node; false is no answer.
func (p *predicateRun) mayRun(ask api.AllocationKey, node api.NodeID) (asked bool, refused error) {
	if p.silent || p.answered == whatIfPredicatesMax {
		p.silent = true
		return false, nil
	}
	refused, err := p.config.Feasible(p.ctx, p.partition, ask, node)
	if err != nil {
		p.silent = true // whatever the reason, another question would wait as long
		return false, nil
	}
	p.answered++
	return true, refused
}

// told says what came of it; unasked is that something was not even to be asked.
func (p *predicateRun) told(unasked bool) predicatesAsked {
	switch {
	case p.none:
		return predicatesNone
	case !p.silent && !unasked:
		return predicatesTold
	case p.answered > 0:
		return predicatesPartly
	default:
		return predicatesSilent
	}
}
