package doctor

import (
	"errors"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
)

// notTried is said where the time was over, or enough was tried.
const notTried = "none was tried: ask for an explanation of one of its asks, or look again"

// remedy tries what helps against a finding, if there is time for it.
func (e *examination) remedy(f *Finding) {
	if e.tried < triedMax && e.ctx.Err() == nil {
		e.tried++
		f.try(e, f)
	}
	if f.try = nil; f.Remedy == "" {
		f.Remedy = notTried
		e.partial = e.partial || e.ctx.Err() != nil
	}
}

// triesFirst reports whether the remedy of a finding is that for its first ask.
func (k Kind) triesFirst() bool { return k == Starving || k == IdleDevices || k == AtQuota }

// tryFirst tries what makes the ask run that a finding names.
func tryFirst(e *examination, f *Finding) {
	a, err := explain.Ask(e.view, e.kinds, f.Application, f.Key)
	if err != nil {
		return
	}
	a.Try(e.ctx, e.trial)
	switch sentence := a.Remedies.Sentence(); {
	case a.Nominated != "":
		f.Remedy = "none is needed: room is being made on node " + string(a.Nominated)
	case sentence != "":
		f.Remedy, f.Tried = string(f.Key)+": "+sentence, true
	case e.ctx.Err() == nil:
		f.Remedy = "nothing was found that makes " + string(f.Key) + " run: neither quota nor nodes keep it away"
	}
	if why := a.Lack.NoEviction; why != "" && f.Kind == Starving {
		f.Detail = "nothing is evicted by guarantee: " + why
	}
}

// wouldRun is which asks would run at once after commands, and not without them; false if that is not known.
func (e *examination) wouldRun(commands ...api.Command) (run map[api.AllocationKey]api.NodeID, ok bool) {
	if e.atRest == nil {
		at := explain.WouldRun(e.ctx, e.view, e.kinds, e.trial)
		e.atRest = &at
	}
	trial := e.trial
	if added := addedBy(commands); len(added) > 0 && trial.MayRun != nil { // of these the resource manager knows nothing
		trial.MayRun = func(ask api.AllocationKey, node api.NodeID) (asked bool, refused error) {
			switch {
			case added[node] && e.refusedBefore[ask]:
				return true, errors.New("refused")
			case added[node]:
				return false, nil
			}
			return e.trial.MayRun(ask, node)
		}
	}
	then := explain.WouldRun(e.ctx, e.view, e.kinds, trial, commands...)
	if !e.atRest.All || !then.All {
		return nil, false
	}
	run = then.Run
	for key := range e.atRest.Run {
		delete(run, key)
	}
	return run, true
}

// addedBy are the nodes that commands add.
func addedBy(commands []api.Command) map[api.NodeID]bool {
	added := map[api.NodeID]bool{}
	for _, command := range commands {
		if add, is := command.(api.AddNode); is {
			added[add.ID] = true
		}
	}
	return added
}
