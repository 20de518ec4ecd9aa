package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// A quota is what asks wait for that no node can give: the max of a queue, or a limit.
type quota struct {
	reason api.Reason
	of     string // the queue; or the user or group, and where
}

// quotaOf is the quota that an ask waits for, if it does.
func quotaOf(a askOf) (q quota, waits bool) {
	if a.Reason != api.QuotaExceeded && !a.Reason.IsLimit() {
		return quota{}, false
	}
	return quota{a.Reason, a.Detail}, a.Nominated == ""
}

func (q quota) compare(other quota) int {
	return cmp.Or(strings.Compare(q.of, other.of), cmp.Compare(q.reason, other.reason))
}

// atQuota finds queues, users and groups of which asks wait as they use all that they may: that is as it was configured, and still why
// these do not run. What is found already, and what can never run, is left out.
func (e *examination) atQuota() {
	over := map[string]bool{}
	for i := range e.found {
		over[e.found[i].Subject] = over[e.found[i].Subject] || e.found[i].Kind == OverMax
	}
	harms := map[quota]*harm{}
	e.eachAsk(e.view.Root, func(a askOf) {
		q, waits := quotaOf(a)
		if !waits || over[q.of] && q.reason == api.QuotaExceeded || e.never.why(a) != "" {
			return
		}
		if harms[q] == nil {
			harms[q] = new(harm)
		}
		harms[q].add(a)
	})
	for _, q := range slices.SortedFunc(maps.Keys(harms), quota.compare) {
		h := harms[q]
		f := Finding{Kind: AtQuota, Severity: Note, Subject: q.of, try: tryFirst}
		f.Cause = fmt.Sprintf("%s: %s", waiting(h.asks), q.reason)
		if uses := e.usesAll(q, h.first.Amounts); uses != "" {
			f.Cause = fmt.Sprintf("%s for its quota: it uses %s", waiting(h.asks), uses)
		}
		h.to(&f)
		e.add(f)
	}
}

// usesAll is how much a queue uses of its max of the kinds that an ask wants and it has not left.
func (e *examination) usesAll(q quota, asked resources.Amounts) string {
	at := e.view.Root
	for at != nil && at.Path != api.QueuePath(q.of) {
		at = at.Towards(api.QueuePath(q.of))
	}
	if at == nil || q.reason != api.QuotaExceeded {
		return ""
	}
	var parts []string
	for i, want := range asked {
		kind := resources.Kind(i)
		if most := at.Max.Of(kind); want > 0 && most != resources.Unlimited && at.Used.Of(kind)+at.Nominated.Of(kind)+want > most {
			parts = append(parts, fmt.Sprintf("%s of %s", e.one(kind, at.Used.Of(kind)), e.one(kind, most)))
		}
	}
	return strings.Join(parts, " and ")
}

// heldBy names the quotas that asks wait for.
func heldBy(quotas map[quota]int) string {
	all := slices.SortedFunc(maps.Keys(quotas), func(a, b quota) int { return cmp.Or(cmp.Compare(quotas[b], quotas[a]), a.compare(b)) })
	text := fmt.Sprintf("%s of %s", all[0].reason, all[0].of)
	if all[0].reason == api.QuotaExceeded {
		text = "quota of queue " + all[0].of
	}
	if more := len(all) - 1; more > 0 {
		text += " and " + wording.Several(more, "other quota")
	}
	return text
}
