package backlog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/nodeset"
)

// Refusals are the answers of the resource manager about the nodes that a class
// fits. An answer holds until the node is freed. While questions go on, asked are the
// nodes that they were about. Once all nodes with room were refused, it has all, and the
// class is unschedulable until a node is freed, or until RetryMax has passed, since the
// answers may have changed.
type Refusals struct {
	Asked    nodeset.Set
	Said     Answers   // since asked was begun
	Before   Answers   // the most frequent when the questions were last complete
	Repeated bool      // the questions were asked before
	Forget   time.Time // when members of gangs are asked about anew; zero is not at all
}

// Answers are how often each reason was given, and on which nodes first.
type Answers struct {
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
	r.Asked.Add(n.Slot, n.FreedAt, freed)
	text := err.Error()
	if len(text) > reasonLength {
		text = strings.ToValidUTF8(text[:reasonLength], "") + "…"
	}
	a := &r.Said
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
	if len(r.Said.given) > 0 {
		r.Before = r.Said.mostFrequent()
	}
	r.Asked, r.Said = nodeset.All(freed), Answers{}
}

// text is why the class is unschedulable.
func (r *Refusals) text() string {
	if shown, goesOn := r.shown(); goesOn {
		return shown.Summary() + "; questions about other nodes go on"
	}
	return r.Before.Summary()
}

// shown is what was said so far, or when the questions were last complete.
func (r *Refusals) shown() (shown *Answers, goesOn bool) {
	if r.Asked.IsAll() || len(r.Said.given) == 0 {
		return &r.Before, false
	}
	return &r.Said, true
}

// forView is what is shown, for views.
func (r *Refusals) forView() []api.Refusal {
	if r == nil {
		return nil
	}
	shown, goesOn := r.shown()
	if goesOn {
		return shown.mostFrequent().given
	}
	return shown.given
}

// mostFrequent is the reasons that were given most often, in that order, with their nodes by ID; all
// others are one.
func (a *Answers) mostFrequent() Answers {
	list := slices.SortedFunc(slices.Values(a.given), byFrequency)
	most := Answers{slices.Clone(list[:min(len(list), reasonsShown)]), a.others}
	for i := range most.given {
		most.given[i].First = slices.Sorted(slices.Values(most.given[i].First))
	}
	for _, is := range list[len(most.given):] {
		most.others += is.Nodes
	}
	return most
}

// nodes is how many nodes were refused.
func (a *Answers) nodes() int {
	count := a.others
	for _, is := range a.given {
		count += is.Nodes
	}
	return count
}

// Summary is what the resource manager said, the most frequent first.
func (a *Answers) Summary() string {
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

// Question is how urgent the next question about asks of the class is.
func (c *Class) Question() api.Question {
	switch r := c.Refused; {
	case r == nil:
		return api.FirstQuestion
	case r.Repeated:
		return api.RepeatedQuestion
	default:
		return api.FurtherQuestion
	}
}

// Kind is the place in refused.held.
func (r *Refusals) Kind() int {
	if r.Repeated {
		return 1
	}
	return 0
}
