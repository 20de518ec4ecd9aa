package answers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/nodeset"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// Refusals are the answers of the resource manager about the nodes that a class
// fits. An answer holds until the node is freed. While questions go on, asked are the
// nodes that they were about. Once all nodes with room were refused, it has all, and the
// class is unschedulable until a node is freed, or until RetryMax has passed, since the
// answers may have changed.
//
// A node is known by its number and by when it was freed, and everything as of how many nodes were freed
// until then. Nil is no refusals.
type Refusals struct {
	asked    nodeset.Set
	said     reasons   // since asked was begun
	before   reasons   // the most frequent when the questions were last complete
	repeated bool      // the questions were asked before
	forget   time.Time // when members of gangs are asked about anew; zero is not at all
}

// NewRefusals are none yet.
func NewRefusals(freed uint64) *Refusals { return &Refusals{asked: nodeset.New(freed)} }

// reasons are how often each reason was given, and on which nodes first.
type reasons struct {
	given  []api.Refusal // in the order in which they came
	others int           // how often others were, beyond reasonsMax
}

// refusalNodes is how many nodes of a reason are named.
const refusalNodes = 3

// What is kept of the reasons for refusals: while questions go on so many different ones,
// and so many of the most frequent after that; so many bytes of each. Every ask has its own
// where nothing is known of which are alike, and a resource manager may name the node in
// each: then a new one takes the place of one that was given once.
const (
	reasonsMax   = 8
	reasonsShown = 3
	reasonLength = 256
)

// Add takes a refusal; so many nodes were freed until now.
func (r *Refusals) Add(n *ledger.Node, err error, freed uint64) {
	r.asked.Add(n.Slot, n.FreedAt, freed)
	text := err.Error()
	if len(text) > reasonLength {
		text = strings.ToValidUTF8(text[:reasonLength], "") + "…"
	}
	a := &r.said
	at := slices.IndexFunc(a.given, func(is api.Refusal) bool { return is.Text == text })
	if at < 0 {
		if len(a.given) == reasonsMax {
			rarest := slices.MaxFunc(a.given, byFrequency)
			a.others += rarest.Nodes
			a.given = slices.DeleteFunc(a.given, func(is api.Refusal) bool { return is.Text == rarest.Text })
		}
		at = len(a.given)
		a.given = append(a.given, api.Refusal{Text: text})
	}
	is := &a.given[at]
	if is.Nodes++; len(is.First) < refusalNodes {
		is.First = append(is.First, n.ID)
	}
}

// byFrequency compares reasons: the most frequent first.
func byFrequency(a, b api.Refusal) int {
	return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), strings.Compare(a.Text, b.Text))
}

// Finish notes that all nodes with room were asked about since they were freed last; so
// many were until now.
func (r *Refusals) Finish(freed uint64) {
	if len(r.said.given) > 0 {
		r.before = r.said.mostFrequent()
	}
	r.asked, r.said = nodeset.All(freed), reasons{}
}

// Text is why the class is unschedulable, the most frequent reasons first.
func (r *Refusals) Text() string {
	if shown, goesOn := r.shown(); goesOn {
		return shown.summary() + "; questions about other nodes go on"
	}
	return r.before.summary()
}

// shown is what was said so far, or when the questions were last complete.
func (r *Refusals) shown() (shown *reasons, goesOn bool) {
	if r.asked.IsAll() || len(r.said.given) == 0 {
		return &r.before, false
	}
	return &r.said, true
}

// ForView is what is shown, for views.
func (r *Refusals) ForView() []api.Refusal {
	if r == nil {
		return nil
	}
	shown, _ := r.shown()
	return shown.mostFrequent().given
}

// mostFrequent is the reasons that were given most often, in that order, with their nodes by ID; all
// others are one.
func (a *reasons) mostFrequent() reasons {
	list := slices.SortedFunc(slices.Values(a.given), byFrequency)
	most := reasons{slices.Clone(list[:min(len(list), reasonsShown)]), a.others}
	for i := range most.given {
		most.given[i].First = slices.Sorted(slices.Values(most.given[i].First))
	}
	for _, is := range list[len(most.given):] {
		most.others += is.Nodes
	}
	return most
}

// nodes is how many nodes were refused.
func (a *reasons) nodes() int {
	count := a.others
	for _, is := range a.given {
		count += is.Nodes
	}
	return count
}

// summary is what the resource manager said, the most frequent first.
func (a *reasons) summary() string {
	most := a.mostFrequent()
	var texts []string
	for _, is := range most.given {
		texts = append(texts, fmt.Sprintf("%s (%s)", is.Text, nodesText(is.Nodes)))
	}
	if most.others > 0 {
		texts = append(texts, fmt.Sprintf("other reasons (%s)", nodesText(most.others)))
	}
	return strings.Join(texts, "; ")
}

func nodesText(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}

// Has reports whether the class was refused on a node, or on all with room, and the node has not been freed
// since.
func (r *Refusals) Has(n *ledger.Node) bool { return r != nil && r.asked.Has(n.Slot, n.FreedAt) }

// AreOfAll reports whether all nodes with room refused it, and Nodes how many there were then.
func (r *Refusals) AreOfAll() bool { return r.asked.IsAll() }

// Nodes is how many nodes refused it when the questions were last complete.
func (r *Refusals) Nodes() int { return r.before.nodes() }

// Before is what was said when the questions were last complete.
func (r *Refusals) Before() string { return r.before.summary() }

// Pass notes that a node refused it, without the reason: that was heard before.
func (r *Refusals) Pass(n *ledger.Node, freed uint64) { r.asked.Add(n.Slot, n.FreedAt, freed) }

// Repeat says that what is asked from now on was asked before.
func (r *Refusals) Repeat() { r.repeated = true }

// Again has all nodes asked again, which is repeated.
func (r *Refusals) Again(freed uint64) { r.asked, r.repeated = nodeset.New(freed), true }

// Drop forgets what was said, so that all nodes are asked as for the first time.
func (r *Refusals) Drop(freed uint64) {
	r.asked, r.said, r.repeated = nodeset.New(freed), reasons{}, false
}

// ForgetBy sets when it is asked about anew, unless that is set, and returns when that is.
func (r *Refusals) ForgetBy(at time.Time) time.Time {
	if r.forget.IsZero() {
		r.forget = at
	}
	return r.forget
}

// IsOld reports, once, whether the time has come.
func (r *Refusals) IsOld(now time.Time) bool {
	old := r != nil && timers.IsDue(r.forget, now)
	if old {
		r.forget = time.Time{}
	}
	return old
}

// Question is how urgent the next question is.
func (r *Refusals) Question() api.Question {
	switch {
	case r == nil:
		return api.FirstQuestion
	case r.repeated:
		return api.RepeatedQuestion
	default:
		return api.FurtherQuestion
	}
}
