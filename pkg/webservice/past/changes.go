package past

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// changeJSON is what changed at one time.
type changeJSON struct {
	Time           encoder.Nanoseconds `json:"time"`
	Until          encoder.Nanoseconds `json:"until"` // the last of it, within the same minute
	Kind           string              `json:"kind"`
	Summary        string              `json:"summary"`
	Lines          []string            `json:"lines,omitempty"` // of a configuration, one for each field
	Before         string              `json:"before,omitempty"`
	After          string              `json:"after,omitempty"` // checksums of configurations
	Nodes          []string            `json:"nodes,omitempty"` // the first of them
	Count          int                 `json:"count,omitempty"` // of nodes, or of pods that were preempted
	QueueName      api.QueuePath       `json:"queueName,omitempty"`
	AllocationKeys []api.AllocationKey `json:"allocationKeys,omitempty"` // for which pods was preempted, the first of them
}

// The kinds of changes, as REST names them.
const (
	changeStart         = "start"
	changeConfiguration = "configuration"
	changeNodes         = "nodes"
	changePreemptions   = "preemptions"
)

// asksNamed is of how many asks a change names the keys.
const asksNamed = 5

// ChangeKinds are the kinds by which changes can be picked, as REST names them.
func ChangeKinds() []string {
	return []string{changeStart, changeConfiguration, changeNodes, changePreemptions}
}

// Changes answers GET /ws/v1/partition/{partition}/changes: what changed, the newest first.
func Changes(at *object.Snapshot, r *http.Request) (any, error) {
	span, err := query.Times(r)
	if err != nil {
		return nil, err
	}
	var all []*changeJSON
	for _, c := range at.Past().Changes() {
		if span.Meets(c.At, c.Until) {
			all = append(all, changed(&c))
		}
	}
	all = append(all, plansByMinute(query.Within(span, at.Past().Plans(), func(p *archive.Plan) time.Time { return p.At }))...)
	slices.SortStableFunc(all, func(a, b *changeJSON) int { return cmp.Compare(b.Time, a.Time) })
	return query.List(r, at.Kinds(), all, func(from *changeJSON, out *changeJSON) { *out = *from },
		query.By("kind", changeKindTest))
}

// changeKindTest picks changes of some kinds, with commas between them.
func changeKindTest(value string) (func(*changeJSON) bool, error) {
	kinds := strings.Split(value, ",")
	for _, kind := range kinds {
		if err := query.OneOf("kind", kind, ChangeKinds()); err != nil {
			return nil, err
		}
	}
	return func(c *changeJSON) bool { return slices.Contains(kinds, c.Kind) }, nil
}

// nodesDid says what nodes did.
var nodesDid = map[archive.ChangeKind]string{
	archive.NodesCame: "came", archive.NodesWent: "went", archive.NodesDrained: "take no new pods",
	archive.NodesResumed: "take pods again", archive.NodesResized: "have another size",
}

// oneDid says the same of a single node.
var oneDid = map[archive.ChangeKind]string{
	archive.NodesDrained: "takes no new pods", archive.NodesResumed: "takes pods again", archive.NodesResized: "has another size",
}

func changed(c *archive.Change) *changeJSON {
	out := &changeJSON{Time: encoder.NanosecondsOf(c.At), Until: encoder.NanosecondsOf(c.Until), Nodes: c.Names, Count: c.Count, Before: c.Before, After: c.After, Lines: c.Lines}
	switch c.Kind {
	case archive.Started:
		out.Kind, out.Summary = changeStart, "the scheduler began with this partition"
	case archive.StartedAgain:
		out.Kind, out.Summary = changeStart, "the resource manager registered again, and told everything anew"
	case archive.Configured:
		out.Kind, out.Summary = changeConfiguration, configured(c)
		if c.More > 0 {
			out.Lines = append(slices.Clone(c.Lines), fmt.Sprintf("and %d more", c.More))
		}
	default:
		out.Kind, out.Summary = changeNodes, nodesText(c)
	}
	return out
}

func configured(c *archive.Change) string {
	switch n := len(c.Lines) + c.More; {
	case c.Before == "":
		return "configuration " + wording.ShortSum(c.After) + " is in use"
	case n == 0:
		return fmt.Sprintf("configuration %s -> %s: nothing that counts in this partition", wording.ShortSum(c.Before), wording.ShortSum(c.After))
	default:
		return fmt.Sprintf("configuration %s -> %s: %s", wording.ShortSum(c.Before), wording.ShortSum(c.After), wording.Several(n, "field"))
	}
}

func nodesText(c *archive.Change) string {
	did := nodesDid[c.Kind]
	if c.Count == 1 {
		did = cmp.Or(oneDid[c.Kind], did)
	}
	names := strings.Join(c.Names, ", ")
	if len(c.Names) < c.Count {
		names += fmt.Sprintf(" and others, %d times in all", c.Count)
	}
	return wording.Several(c.Count, "node") + " " + did + ": " + names
}

// plansByMinute makes one change of the plans that evicted something in one minute, by one trigger and for
// one queue. The plans come with the newest first.
func plansByMinute(plans []*archive.Plan) []*changeJSON {
	type place struct {
		minute  int64
		trigger preemptor.Trigger
		queue   api.QueuePath
	}
	known := map[place]*changeJSON{}
	counts := map[*changeJSON]int{} // plans of each
	var out []*changeJSON
	for _, p := range slices.Backward(plans) {
		if len(p.Victims) == 0 {
			continue
		}
		on := place{p.At.Unix() / 60, p.Trigger, p.Queue}
		one := known[on]
		if one == nil {
			one = &changeJSON{Time: encoder.NanosecondsOf(p.At), Kind: changePreemptions, QueueName: p.Queue}
			known[on], out = one, append(out, one)
		}
		counts[one]++
		one.Until, one.Count = encoder.NanosecondsOf(p.At), one.Count+len(p.Victims)
		if p.Key != "" && len(one.AllocationKeys) < asksNamed {
			one.AllocationKeys = append(one.AllocationKeys, p.Key)
		}
		one.Summary = fmt.Sprintf("%s by %s for %s: %s told to end", wording.Several(counts[one], "plan"), p.Trigger, cmp.Or(p.Queue, "no queue"), wording.Several(one.Count, "pod"))
	}
	return out
}
