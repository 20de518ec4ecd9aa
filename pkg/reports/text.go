package reports

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// WhyWaits says in words why an ask waits. It is empty for one that waits for its turn only, or
// does not wait.
func WhyWaits(p *core.Partition, kinds *resources.Kinds, key api.AllocationKey) string {
	b := NewBook(p, kinds)
	_, ask, waits := b.partition.FindAsk(key)
	if !waits {
		return ""
	}
	now := b.whyWaits(ask)
	if now.reason == api.NotTried {
		return ""
	}
	return b.text(ask, &now)
}

// text says why an ask waits, in words.
func (b *Book) text(ask api.AskView, now *told) string {
	var parts []string
	if q := b.hasQuotaAgain(ask.Key); q != "" && b.told[ask.Key].reason == api.QuotaExceeded {
		parts = append(parts, fmt.Sprintf("fits in queue %s again", q))
	}
	switch now.reason {
	case api.QuotaExceeded:
		parts = append(parts, fmt.Sprintf("request does not fit in queue %s: requests %s, available %s",
			now.detail, b.kinds.Format(ask.Amounts), b.kinds.FormatLimits(b.partition.QuotaLeft(ask.Key, api.QueuePath(now.detail)))))
	case api.NoNodeFits:
		if !slices.ContainsFunc(ask.Attempts, func(a api.PreemptionAttempt) bool { return !a.Succeeded() }) {
			parts = append(parts, "no node has room: requests "+b.kinds.Format(ask.Amounts))
		}
	case api.Infeasible:
		parts = append(parts, refusalText(ask))
	case api.NodeUnknown:
		parts = append(parts, fmt.Sprintf("required node %s is not known", ask.Required))
	case api.NodeFull:
		parts = append(parts, fullText(ask, b.kinds))
	case api.NodeHeld:
		parts = append(parts, fmt.Sprintf("required node %s has not been schedulable yet", ask.Required))
	case quotaThere:
		return parts[0]
	default:
		parts = append(parts, fmt.Sprintf("%s: %s", now.reason, now.detail))
	}
	for i := range ask.Attempts {
		if a := &ask.Attempts[i]; !a.Succeeded() { // its nomination was told of, and the end of that too
			parts = append(parts, "no room is made: "+explain.Attempt(a, b.kinds))
		}
	}
	return strings.Join(parts, "; ")
}

// refusalText says what the resource manager said of the nodes with room.
func refusalText(ask api.AskView) string {
	if ask.RefusedOn > 0 {
		return fmt.Sprintf("refused on %s: %s", wording.Several(ask.RefusedOn, "node"), ask.Detail)
	}
	return "refused: " + ask.Detail
}

// fullText says what is known of the required node of an ask, which has no room.
func fullText(ask api.AskView, kinds *resources.Kinds) string {
	if ask.Reserved != "" { // it is being made, or will be
		return fmt.Sprintf("waits for room on required node %s: %s", ask.Required, explain.Detail(ask.Waiting, kinds))
	}
	return fmt.Sprintf("no room on required node %s: %s", ask.Required, explain.Detail(ask.Waiting, kinds))
}

// hint says why no node can take an ask. Where the resource manager refused it, also on nodes
// without what room could be made of, or no node has a kind of it, waiting for room would be
// of no use.
func hint(ask api.AskView, kinds *resources.Kinds) string {
	const what = "no node can take the request: "
	switch ask.Reason {
	case api.Infeasible:
		return what + refusalText(ask)
	case api.KindUnknown:
		return what + ask.Reason.String() + ": " + ask.Detail
	}
	for i := range ask.Attempts {
		if a := &ask.Attempts[i]; !a.Succeeded() && a.Plan != nil && a.Plan.Reason == preemptor.Refused {
			return what + "no room is made: " + explain.Attempt(a, kinds)
		}
	}
	return what + "waiting for room in the cluster"
}

// digestOf is a number for a text, to compare it with others.
func digestOf(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text)) // it never fails
	return h.Sum64()
}
