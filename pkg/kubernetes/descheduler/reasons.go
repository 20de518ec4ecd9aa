package descheduler

import (
	"cmp"
	"fmt"
	"slices"
)

// keeping are the outcomes that keep a pod, in the order in which reports have them.
var keeping = []Outcome{Filtered, Declined, Limited, Refused, Failed, Gone}

// A Reason is why pods were kept, and how many.
type Reason struct {
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason"`
	Pods    int     `json:"pods"`
}

// reasonsOfReport is how many reasons a report has for one outcome. Some name a pod or a node, so that
// there may be as many as pods.
const reasonsOfReport = 10

// frequent returns the most frequent reasons of each outcome, and a last one for all others.
func frequent(counted map[Reason]int) (list []Reason) {
	of := map[Outcome][]Reason{}
	for r, pods := range counted { // sorted below
		r.Pods = pods
		of[r.Outcome] = append(of[r.Outcome], r)
	}
	for _, o := range keeping {
		all := of[o]
		slices.SortFunc(all, func(a, b Reason) int {
			return cmp.Or(cmp.Compare(b.Pods, a.Pods), cmp.Compare(a.Reason, b.Reason))
		})
		shown := all[:min(len(all), reasonsOfReport)]
		list = append(list, shown...)
		if others := all[len(shown):]; len(others) > 0 {
			rest := Reason{Outcome: o, Reason: fmt.Sprintf("%d other reasons", len(others))}
			for _, r := range others {
				rest.Pods += r.Pods
			}
			list = append(list, rest)
		}
	}
	return list
}
