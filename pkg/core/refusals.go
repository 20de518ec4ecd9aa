package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// refusals are the answers of the resource manager about the nodes that a class
// fits. An answer holds until the node is freed. While questions go on, asked are the
// nodes that they were about. Once all nodes with room were refused, complete is set, and
// the class is unschedulable until a node is freed, or until RetryMax has passed, since
// the answers may have changed.
type refusals struct {
	complete      bool
	since         uint64 // the count of freed nodes when it was set
	asked         nodeSet
	texts         map[string]given // each reason since asked was begun
	others        int              // how often others were, beyond reasonsMax
	detail        string           // summary of texts when the questions were last complete
	nodes         int              // how many nodes it is about
	list          []Refusal        // the same, for views
	repeated      bool             // the questions were asked before
	unschedulable bool             // the class is in no order, but where room may be made for it
	listed        bool             // in refused.list
	paused        bool             // it is in none at all until questions go on
	pauses        int              // how often it paused
	forget        time.Time        // when members of gangs are asked about anew; zero is not at all
}

// A given is how often a reason was given, and on which nodes first.
type given struct {
	count int
	first [refusalNodes]NodeID
}

// refusalNodes is how many nodes of a reason are named.
const refusalNodes = 3

// add takes a refusal; so many nodes were freed until now.
func (r *refusals) add(n *node, err error, freed uint64) {
	r.asked.add(n.slot, n.freedAt, freed)
	if r.texts == nil {
		r.texts = map[string]given{}
	}
	text := err.Error()
	if len(text) > reasonLength {
		text = strings.ToValidUTF8(text[:reasonLength], "") + "…"
	}
	if _, known := r.texts[text]; !known && len(r.texts) == reasonsMax {
		rarest := slices.MaxFunc(slices.Collect(maps.Keys(r.texts)), r.byFrequency)
		r.others += r.texts[rarest].count
		delete(r.texts, rarest)
	}
	is := r.texts[text]
	if is.count < refusalNodes {
		is.first[is.count] = n.id
	}
	is.count++
	r.texts[text] = is
}

// What is kept of the reasons for refusals: while questions go on so many different ones,
// and so many of the most frequent after that; so many bytes of each. Every ask has its own
// where nothing is known of which are alike, and a resource manager may name the node in
// each: then a new one takes the place of one that was given once.
const (
	reasonsMax   = 8
	reasonsShown = 3
	reasonLength = 256
)

// byFrequency compares reasons: the most frequent first.
func (r *refusals) byFrequency(a, b string) int {
	return cmp.Or(cmp.Compare(r.texts[b].count, r.texts[a].count), strings.Compare(a, b))
}

// clone is the same answers for another class, which is in the order.
func (r *refusals) clone() *refusals {
	other := *r
	other.asked, other.texts = r.asked.clone(), maps.Clone(r.texts)
	other.unschedulable, other.paused, other.listed = false, false, false
	return &other
}

// finish notes that all nodes with room were asked about since they were freed last; so
// many were until now.
func (r *refusals) finish(freed uint64) {
	if len(r.texts) > 0 {
		r.detail, r.nodes = r.summary(), r.others
		for _, is := range r.texts {
			r.nodes += is.count
		}
		r.list = r.forView()
	}
	r.complete, r.since, r.asked, r.texts, r.others = true, freed, nodeSet{}, nil, 0
}

// text is why the class is unschedulable.
func (r *refusals) text() string {
	if r.complete || len(r.texts) == 0 {
		return r.detail
	}
	return r.summary() + "; questions about other nodes go on"
}

// summary is what the resource manager said, the most frequent first.
func (r *refusals) summary() string {
	texts, others := slices.SortedFunc(maps.Keys(r.texts), r.byFrequency), r.others
	for i, text := range texts {
		if i >= reasonsShown {
			others += r.texts[text].count
		}
		texts[i] = fmt.Sprintf("%s (%s)", text, nodesText(r.texts[text].count))
	}
	if others > 0 {
		texts = append(texts[:min(len(texts), reasonsShown)], fmt.Sprintf("other reasons (%s)", nodesText(others)))
	}
	return strings.Join(texts, "; ")
}

// shownNow is what was said so far, or when the questions were last complete.
func (r *refusals) shownNow() []Refusal {
	switch {
	case r == nil:
		return nil
	case r.complete || len(r.texts) == 0:
		return r.list
	}
	return r.forView()
}

// forView is the most frequent reasons with the nodes that were named first.
func (r *refusals) forView() []Refusal {
	texts := slices.SortedFunc(maps.Keys(r.texts), r.byFrequency)
	texts = texts[:min(len(texts), reasonsShown)]
	list := make([]Refusal, len(texts))
	for i, text := range texts {
		is := r.texts[text]
		list[i] = Refusal{Text: text, Nodes: is.count, First: slices.Clone(is.first[:min(is.count, refusalNodes)])}
		slices.Sort(list[i].First)
	}
	return list
}

func nodesText(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}
