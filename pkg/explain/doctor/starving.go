package doctor

import (
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/guarantee"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// starving finds the queues below one, and that one, of which asks wait for what is guaranteed and not used. One
// is left out of which a queue below lacks as much. It returns what is lacking there.
func (e *examination) starving(q *api.QueueView) (lacking resources.Amounts) {
	e.looked.Queues++
	for _, child := range q.Queues {
		lacking.Raise(e.starving(child))
	}
	if q == e.view.Root {
		return lacking // what is guaranteed to it counts for nothing
	}
	var own resources.Amounts
	for i := range q.Guaranteed {
		kind := resources.Kind(i)
		if lacks := guarantee.Lacking(q, kind); lacks > lacking.Of(kind) {
			own.Set(kind, lacks)
		}
	}
	if own.IsZero() {
		return lacking
	}
	var h harm
	made := 0
	e.eachAsk(q, func(a askOf) {
		if own.HoldsAny(a.Amounts) {
			h.add(a)
			if a.Nominated != "" {
				made++
			}
		}
	})
	lacking.Raise(own)
	if h.asks == 0 {
		return lacking // they have only just come
	}
	f := Finding{Kind: Starving, Severity: Urgent, Subject: string(q.Path), Cause: e.starvation(q, own, h.asks)}
	h.to(&f)
	f.try = tryFirst
	if made == h.asks {
		f.Severity, f.try = Note, nil
		f.Remedy = "none is needed: room is being made for all of them"
	}
	e.add(f)
	return lacking
}

// starvation says of which kinds a queue lacks what is guaranteed to it.
func (e *examination) starvation(q *api.QueueView, lacking resources.Amounts, asks int) string {
	var parts []string
	for i, lacks := range lacking {
		if kind := resources.Kind(i); lacks > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s", e.one(kind, q.Used.Of(kind)), e.one(kind, q.Guaranteed.Of(kind))))
		}
	}
	return fmt.Sprintf("of what is guaranteed to it, it uses %s, and %s for %s more", strings.Join(parts, " and "), waiting(asks), e.kinds.Format(lacking))
}

// one is a quantity of one kind.
func (e *examination) one(kind resources.Kind, quantity int64) string {
	if quantity == 0 {
		return e.kinds.Name(kind) + "=0"
	}
	var a resources.Amounts
	a.Set(kind, quantity)
	return e.kinds.Format(a)
}

// waiting is so many asks that wait, in words.
func waiting(asks int) string {
	if asks == 1 {
		return "1 ask waits"
	}
	return fmt.Sprintf("%d asks wait", asks)
}
