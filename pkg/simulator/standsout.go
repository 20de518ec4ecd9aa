package simulator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// What stands out is told in so many sentences. A wait is told from longWait on, and idle devices if so much
// or less of them is in use.
const (
	sentencesMin = 3
	sentencesMax = 7
	longWait     = time.Minute
	idlePerMille = 500
)

// StandsOut is what stands out of a run, in three to seven sentences, the worst first. Each says what the result
// says; what did not happen is told only where there is little else to tell.
func (r *Result) StandsOut() []string {
	var out []string
	tell := func(most int, sentences ...func() string) {
		for _, sentence := range sentences {
			if text := sentence(); text != "" && len(out) < most {
				out = append(out, text)
			}
		}
	}
	tell(sentencesMax, r.starving, r.stillWaiting, r.longestWait, r.preempted, r.wastedVictims, r.idleDevices, r.flood, r.lostNodes, r.fullest)
	tell(sentencesMin, r.noneWaits, r.nonePreempted, r.howMany)
	return out
}

// leaves are the queues with pods.
func (r *Result) leaves() []QueueUse {
	return slices.DeleteFunc(slices.Clone(r.Queues), func(q QueueUse) bool { return !q.Leaf })
}

// starving names the queue that used the least part of a guarantee though pods of it wait at the end.
func (r *Result) starving() string {
	var worst struct {
		queue, kind string
		part        int64
		pending     int
		others      int
	}
	for _, q := range r.leaves() {
		if q.Pending == 0 {
			continue
		}
		kind, least := "", int64(1000)
		for _, name := range slices.Sorted(maps.Keys(q.Guaranteed)) {
			if part := perMille(q.Mean[name], q.Guaranteed[name]); q.Guaranteed[name] > 0 && part < least {
				kind, least = name, part
			}
		}
		switch {
		case kind == "":
			continue
		case worst.queue == "" || least < worst.part:
			worst.queue, worst.kind, worst.part, worst.pending = q.Path, kind, least, q.Pending
		}
		worst.others++
	}
	if worst.queue == "" {
		return ""
	}
	text := fmt.Sprintf("%s used %s of its guarantee of %s on average, though %s still %s", worst.queue, Percent(worst.part), worst.kind, countPods(worst.pending), verb(worst.pending, "waits", "wait"))
	if more := worst.others - 1; more > 0 {
		text += fmt.Sprintf("; so it is with %s", several(more, "other queue"))
	}
	return text + "."
}

// stillWaiting says why most pods wait at the end, and in which queue most of all do.
func (r *Result) stillWaiting() string {
	if r.Pods.Pending == 0 || len(r.Pending) == 0 {
		return ""
	}
	why := map[string]int{}
	for _, p := range r.Pending {
		why[p.Reason] += p.Pods
	}
	reason := mostOf(why)
	queues := slices.SortedStableFunc(slices.Values(r.leaves()), func(a, b QueueUse) int { return cmp.Compare(b.Pending, a.Pending) })
	text := fmt.Sprintf("%s still %s at the end", countPods(r.Pods.Pending), verb(r.Pods.Pending, "waits", "wait"))
	if len(queues) > 0 && queues[0].Pending > 0 {
		text += fmt.Sprintf(", %s of them in %s", Thousands(int64(queues[0].Pending)), queues[0].Path)
	}
	return text + fmt.Sprintf("; the reason of most, %s, is: %s.", Thousands(int64(why[reason])), Readable(reason))
}

// longestWait names the queue whose pods waited longest until they were placed.
func (r *Result) longestWait() string {
	var worst QueueUse
	for _, q := range r.leaves() {
		if q.Waiting != nil && (worst.Waiting == nil || q.Waiting.P99 > worst.Waiting.P99) {
			worst = q
		}
	}
	if worst.Waiting == nil || worst.Waiting.Max < seconds(longWait) {
		return ""
	}
	w := worst.Waiting
	return fmt.Sprintf("Pods of %s waited longest until they were placed: half of them %s at most, 99%% %s, the longest %s.",
		worst.Path, Clock(w.P50.Duration()), Clock(w.P99.Duration()), Clock(w.Max.Duration()))
}

// preempted says how many pods made room, how much work that was, and between which queues most did.
func (r *Result) preempted() string {
	p := r.Preemption
	if p == nil || p.Victims == 0 {
		return ""
	}
	text := fmt.Sprintf("%s %s told to end to make room", countPods(p.Victims), verb(p.Victims, "was", "were"))
	if p.Ran > 0 {
		text += fmt.Sprintf("; those of this scheduler had run %s together by then", Clock(p.Ran.Duration()))
	}
	most := slices.SortedStableFunc(slices.Values(p.ByQueue), func(a, b QueueVictims) int { return cmp.Compare(b.Victims, a.Victims) })
	if len(most) > 0 {
		text += fmt.Sprintf("; the most, %s, were of %s for %s, by %s", Thousands(int64(most[0].Victims)), cmp.Or(most[0].From, "other schedulers"), cmp.Or(most[0].By, "a queue"), most[0].Trigger)
	}
	return text + "."
}

// wastedVictims says how many pods ended for nothing, or do not end.
func (r *Result) wastedVictims() string {
	p := r.Preemption
	if p == nil {
		return ""
	}
	wasted := 0
	for _, n := range p.Wasted {
		wasted += n
	}
	var parts []string
	if wasted > 0 {
		parts = append(parts, fmt.Sprintf("%s ended for nothing, mostly since: %s", countPods(wasted), mostOf(p.Wasted)))
	}
	if p.Overdue > 0 {
		parts = append(parts, fmt.Sprintf("%s did not end in time", countPods(p.Overdue)))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Of the preempted, " + strings.Join(parts, "; ") + "."
}

// idleDevices names the kind of devices of which most was idle while pods wait at the end.
func (r *Result) idleDevices() string {
	if r.Pods.Pending == 0 {
		return ""
	}
	idle := slices.DeleteFunc(slices.Clone(r.Resources), func(u ResourceUse) bool {
		return !resources.IsDevice(u.Kind) || u.Capacity == 0 || u.MeanPerMille+u.OtherPerMille > idlePerMille
	})
	if len(idle) == 0 {
		return ""
	}
	u := slices.MinFunc(idle, func(a, b ResourceUse) int {
		return cmp.Compare(a.MeanPerMille+a.OtherPerMille, b.MeanPerMille+b.OtherPerMille)
	})
	return fmt.Sprintf("%s of %s was idle on average, and pods still wait.", Percent(1000-u.MeanPerMille-u.OtherPerMille), u.Kind)
}

// flood names the leaf queue in which more than half of all pods came, if there are several.
func (r *Result) flood() string {
	leaves := r.leaves()
	for _, q := range leaves {
		if part := perMille(int64(q.Arrived), int64(r.Pods.Arrived)); len(leaves) > 2 && part > 500 {
			return fmt.Sprintf("%s of all pods came in %s, which is one of %d queues.", Percent(part), q.Path, len(leaves))
		}
	}
	return ""
}

// lostNodes says what failures of nodes cost.
func (r *Result) lostNodes() string {
	if r.Nodes.Failed == 0 {
		return ""
	}
	return fmt.Sprintf("%s failed, and %s with %s.", several(r.Nodes.Failed, "node"), countPods(r.Pods.Lost)+" "+verb(r.Pods.Lost, "was lost", "were lost"), verb(r.Nodes.Failed, "it", "them"))
}

// fullest names the kind of which most was in use on average.
func (r *Result) fullest() string {
	if len(r.Resources) == 0 {
		return ""
	}
	u := slices.MaxFunc(r.Resources, func(a, b ResourceUse) int { return cmp.Compare(a.MeanPerMille, b.MeanPerMille) })
	return fmt.Sprintf("The kind that was used most is %s: %s of it on average, %s at most.", u.Kind, Percent(u.MeanPerMille), Percent(u.PeakPerMille))
}

func (r *Result) noneWaits() string {
	if r.Pods.Pending > 0 {
		return ""
	}
	return "No pod waits at the end."
}

func (r *Result) nonePreempted() string {
	if r.Preemption != nil && r.Preemption.Victims > 0 {
		return ""
	}
	return "No pod was preempted."
}

// howMany counts what there was, so that something is told of any run.
func (r *Result) howMany() string {
	return fmt.Sprintf("%s came within %s.", countPods(r.Pods.Arrived), Clock(r.Time.Duration()))
}

// mostOf is the word that counts most, the first of those that count the same.
func mostOf(counts map[string]int) string {
	words := slices.Sorted(maps.Keys(counts))
	return slices.MaxFunc(words, func(a, b string) int { return cmp.Or(cmp.Compare(counts[a], counts[b]), strings.Compare(b, a)) })
}

func countPods(n int) string { return several(n, "pod") }

// several is a number of things, such as 1 pod or 2,000 pods.
func several(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Thousands(int64(n)) + " " + noun + "s"
}

// verb is the form for one thing or for several.
func verb(n int, one, some string) string {
	if n == 1 {
		return one
	}
	return some
}
