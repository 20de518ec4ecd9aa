package preemptor

import "slices"

// The most questions to the resource manager about what an ask needs beside it on a node;
// with more candidates there is one for each. They are enough if all of 64 candidates are
// needed, or about 50 of 640.
const questionsMax = 512

// How many different reasons against an ask are ended one after the other, where some
// candidates conflict with it and others are needed. A resource manager has few.
const refusalsMax = 8

// A besideSearch looks for the candidates that an ask needs beside it, such as by an
// affinity. By halving it takes about log2 of the candidates in questions for each.
type besideSearch struct {
	selection
	all         []int // the candidates on the node, the least important first
	asked, most int   // questions
	stopped     bool
}

// kept finds those of some candidates that must stay if all others on the node are removed:
// without any of them the ask is refused. All of them together are enough. Of those of which
// one is enough the more important stays.
func (s *besideSearch) kept(some []int) []bool {
	order := slices.Clone(some)
	slices.Reverse(order)
	found := s.least(order, make([]bool, len(s.ranked)), func(stay []bool) bool { return s.refusal(stay, false) == "" })
	s.noteStopped()
	return found
}

// besideConflict finds what must stay where something conflicts with the ask too, so that it
// is refused with all candidates, for another reason. It is not known which of the two the
// resource manager looks at first. So it is tried to mend what is missing alone, and then to
// end the conflicts alone.
func (s *besideSearch) besideConflict(conflict string) []bool {
	order := slices.Clone(s.all)
	slices.Reverse(order)
	if stay := s.mend(order, false, conflict); stay != nil {
		return stay
	}
	if gone := s.mend(s.all, true, s.plan.refusal); gone != nil {
		return s.kept(slices.DeleteFunc(slices.Clone(s.all), func(i int) bool { return gone[i] }))
	}
	s.noteStopped()
	return nil
}

// mend finds few candidates that must stay, or must be gone, so that the ask is not refused.
// It ends one reason after the other, and gives up at that which there is with all of them.
func (s *besideSearch) mend(order []int, gone bool, last string) []bool {
	chosen := make([]bool, len(s.ranked))
	for range refusalsMax {
		reason := s.refusal(chosen, gone)
		if reason == "" {
			return chosen
		}
		if reason == last {
			return nil
		}
		chosen = s.least(order, chosen, func(chosen []bool) bool { return s.refusal(chosen, gone) != reason })
		if chosen == nil {
			return nil
		}
	}
	return nil
}

// least adds few candidates of an order to those that are chosen, so that they are enough
// together, as all of them are: none can be left out, and a later one is taken only if all
// before it are not enough. It is nil if the search is stopped.
func (s *besideSearch) least(order []int, chosen []bool, enough func(chosen []bool) bool) []bool {
	for left := len(order); !enough(chosen) && !s.stopped; {
		low, high := 1, left // the first high of the order are enough with the chosen ones
		for low < high && !s.stopped {
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
	if s.stopped {
		return nil
	}
	return chosen
}

// refusal is why the ask is refused without these candidates, or without all but these. It
// is empty if the ask is not refused.
func (s *besideSearch) refusal(some []bool, gone bool) string {
	if s.asked == s.most {
		s.stopped = true
		return ""
	}
	s.asked++
	var removed []int
	for _, i := range s.all {
		if some[i] == gone {
			removed = append(removed, i)
		}
	}
	if err := s.refuses(removed...); err != nil {
		return err.Error()
	}
	return ""
}

// noteStopped notes that it is not known what the ask needs, if the search was stopped.
func (s *besideSearch) noteStopped() {
	if s.stopped {
		s.failures = append(s.failures, Failure{Strategy: Reprieve, Why: TooManyQuestions, Most: int64(s.most)})
	}
}
