package preemptor

import "slices"

// The most questions to the resource manager about what an ask needs beside it on a node;
// with more candidates there is one for each. They are enough if all of 64 candidates are
// needed, or about 50 of 640.
const questionsMax = 512

// How many different reasons against an ask are ended one after the other, where some
// candidates conflict with it and others are needed. A resource manager has few.
const refusalsMax = 8

// questions ask the resource manager which candidates must go, and which an ask needs beside
// it, such as by an affinity. By halving they take about log2 of the candidates for each.
type questions struct {
	*plan
	all         []int // the candidates on the node, the least important first
	asked, most int
	stopped     bool
}

func (p *plan) newQuestions() *questions {
	q := &questions{plan: p, most: max(questionsMax, len(p.ranked))}
	for i := range p.ranked {
		if !p.ranked[i].Elsewhere {
			q.all = append(q.all, i)
		}
	}
	return q
}

// kept finds those of some candidates that must stay if all others on the node are removed:
// without any of them the ask is refused. All of them together are enough. Of those of which
// one is enough the more important stays.
func (q *questions) kept(some []int) []bool {
	order := slices.Clone(some)
	slices.Reverse(order)
	found := q.least(order, make([]bool, len(q.ranked)), func(stay []bool) bool { return q.refusal(stay, false) == "" })
	q.noteStopped()
	return found
}

// besideConflict finds what must stay where something conflicts with the ask too, so that it
// is refused with all candidates, for another reason. It is not known which of the two the
// resource manager looks at first. So it is tried to mend what is missing alone, and then to
// end the conflicts alone.
func (q *questions) besideConflict(conflict string) []bool {
	order := slices.Clone(q.all)
	slices.Reverse(order)
	if stay := q.mend(order, false, conflict); stay != nil {
		return stay
	}
	if gone := q.mend(q.all, true, q.plan.refusal); gone != nil {
		return q.kept(slices.DeleteFunc(slices.Clone(q.all), func(i int) bool { return gone[i] }))
	}
	q.noteStopped()
	return nil
}

// mend finds few candidates that must stay, or must be gone, so that the ask is not refused.
// It ends one reason after the other, and gives up at that which there is with all of them.
func (q *questions) mend(order []int, gone bool, last string) []bool {
	chosen := make([]bool, len(q.ranked))
	for range refusalsMax {
		reason := q.refusal(chosen, gone)
		if reason == "" {
			return chosen
		}
		if reason == last {
			return nil
		}
		chosen = q.least(order, chosen, func(chosen []bool) bool { return q.refusal(chosen, gone) != reason })
		if chosen == nil {
			return nil
		}
	}
	return nil
}

// least adds few candidates of an order to those that are chosen, so that they are enough
// together, as all of them are: none can be left out, and a later one is taken only if all
// before it are not enough. It is nil if the search is stopped.
func (q *questions) least(order []int, chosen []bool, enough func(chosen []bool) bool) []bool {
	for left := len(order); !enough(chosen) && !q.stopped; {
		low, high := 1, left // the first high of the order are enough with the chosen ones
		for low < high && !q.stopped {
			middle := (low + high) / 2
			more := slices.Clone(chosen)
			for _, i := range order[:middle] {
				more[i] = true
			}
			if enough(more) {
				high = middle
			} else {
				low = middle + 1
			}
		}
		if left == 0 { // the answers contradict each other
			return nil
		}
		chosen[order[high-1]] = true
		left = high - 1
	}
	if q.stopped {
		return nil
	}
	return chosen
}

// listed are those candidates for which a flag is set, in order.
func listed(flags []bool) (some []int) {
	for i, is := range flags {
		if is {
			some = append(some, i)
		}
	}
	return some
}

// mayStay reports whether the ask is not refused beside one of these candidates if all others go.
func (q *questions) mayStay(some []bool) bool {
	stays := make([]bool, len(some))
	for _, i := range q.all {
		if stays[i] = some[i]; some[i] && q.refusal(stays, false) == "" {
			return true
		}
		stays[i] = false
	}
	return false
}

// refusal is why the ask is refused without these candidates, or without all but these. It
// is empty if the ask is not refused.
func (q *questions) refusal(some []bool, gone bool) string {
	if q.asked == q.most {
		q.stopped = true
		return ""
	}
	q.asked++
	var removed []int
	for _, i := range q.all {
		if some[i] == gone {
			removed = append(removed, i)
		}
	}
	if err := q.fits(q.keysOf(removed)); err != nil {
		return err.Error()
	}
	return ""
}

// noteStopped notes that it is not known what the ask needs, if the search was stopped.
func (q *questions) noteStopped() {
	if q.stopped {
		q.failures = append(q.failures, Failure{Strategy: Reprieve, Why: TooManyQuestions, Most: int64(q.most)})
	}
}
