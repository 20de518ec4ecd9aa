package simulator

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// pendingReason is a PendingReason without its pods.
type pendingReason struct {
	queue          api.QueuePath
	reason, detail string
}

type pendingPods struct {
	count   int
	example api.AllocationKey
}

func (r *run) reasonIn(queue api.QueuePath, ask api.AskView) pendingReason {
	return pendingReason{queue: queue, reason: ask.Reason.String(), detail: explain.Detail(ask.Waiting, r.scenario.Kinds)}
}

// result is the run as it ended.
func (r *run) result() *Result {
	for _, p := range sortedPods(r.pods.byKey) {
		if p.state == starting {
			r.pods.countPlaced(p)
		}
	}
	root, t := r.books.queues["root"], &r.counts
	view := r.partition.View()
	preemption := r.preemptionOf(view)
	return &Result{
		Scenario:    r.scenario.Name,
		Description: r.scenario.Description,
		Seed:        r.seed,
		Time:        seconds(r.now),
		Stopped:     r.stopped,
		Nodes: NodeCounts{
			AtEnd: int(r.books.nodes.value), Joined: t.nodesJoined, Failed: t.nodesFailed,
			Returned: t.nodesReturned, Drained: t.nodesDrained, Undrained: t.nodesUndrained,
		},
		Pods: PodCounts{
			Arrived: root.pods.arrived, Placed: root.pods.placed, Running: r.alive(), Ended: root.pods.ended,
			Pending: int(r.books.pending.value), GaveUp: root.pods.gaveUp, Rejected: root.pods.rejected,
			Cancelled: root.pods.cancelled, Evicted: root.pods.evicted, Preempted: root.pods.preempted, Lost: root.pods.lost, Restarted: t.restarts, Placements: t.placements,
		},
		Waiting:    waitsOf(root.waits),
		Resources:  r.resourceUse(),
		Queues:     r.queueUse(),
		Pending:    r.stillPending(view),
		GaveUp:     pendingReasons(t.gaveUp),
		Rejections: rejections(t.rejections),
		Foreign: ForeignCounts{
			Reported: t.foreignReported, Static: t.foreignStatic, Resized: t.foreignResized,
			Ended: t.foreignEnded, Lost: t.foreignLost, AtEnd: len(r.foreign.byKey),
		},
		Gangs:      t.gangs,
		Preemption: preemption,
		Faults: FaultCounts{
			BindFailures: t.bindFailures, ReleasesLate: t.releasesLate, ReleasesTwice: t.releasesTwice,
			ReleasesNever: t.releasesNever, ReportsTwice: t.reportsTwice, ForeignEarly: t.foreignEarly, Crossed: t.crossed,
		},
		Incidents: t.incidents,
		Series:    r.series(preemption != nil),
	}
}

// alive counts the pods that have a node.
func (r *run) alive() int {
	n := 0
	for _, p := range r.pods.byKey {
		if !p.placeholder && (p.state == starting || p.state == running) {
			n++
		}
	}
	return n
}

// waitsOf is the distribution of times, which it sorts.
func waitsOf(times []time.Duration) *Waiting {
	if len(times) == 0 {
		return nil
	}
	slices.Sort(times)
	sum := Seconds(0) // ten years times the most pods there are fits
	for _, w := range times {
		sum += seconds(w)
	}
	// The nearest rank: the smallest time that at least so many waited at most.
	at := func(percent int) Seconds { return seconds(times[(len(times)*percent+99)/100-1]) }
	return &Waiting{Pods: len(times), Mean: sum / Seconds(len(times)), P50: at(50), P90: at(90), P99: at(99), Max: at(100)}
}

func perMille(part, whole int64) int64 {
	if part <= 0 || whole <= 0 {
		return 0
	}
	return resources.Share{Part: part, Whole: whole}.PerMille()
}

// shownKinds lists the kinds that nodes have or pods use, by name.
func (r *run) shownKinds() []resources.Kind {
	var shown []resources.Kind
	for i := range r.books.capacity { // the table of kinds may have grown since
		if r.books.capacity[i].peak > 0 || r.books.queues["root"].used[i].peak > 0 {
			shown = append(shown, resources.Kind(i))
		}
	}
	slices.SortFunc(shown, func(a, b resources.Kind) int {
		name := r.scenario.Kinds.Name
		return cmp.Or(cmp.Compare(rank(name(a)), rank(name(b))), cmp.Compare(name(a), name(b)))
	})
	return shown
}

// rank puts well-known kinds first.
func rank(kind string) int {
	if i := slices.Index([]string{resources.VCore, resources.Memory, gpuKind}, kind); i >= 0 {
		return i
	}
	return 3
}

func (r *run) resourceUse() []ResourceUse {
	root := r.books.queues["root"]
	uses := []ResourceUse{}
	for _, k := range r.shownKinds() {
		capacity, used, foreign := r.books.capacity[k], root.used[k], r.books.occupied[k]
		u := ResourceUse{
			Kind:        r.scenario.Kinds.Name(k),
			Capacity:    r.books.mean(capacity),
			Mean:        r.books.mean(used),
			Peak:        used.peak,
			ForeignMean: r.books.mean(foreign),
			ForeignPeak: foreign.peak,
		}
		u.MeanPerMille = perMille(u.Mean, u.Capacity)
		u.PeakPerMille = perMille(u.Peak, u.Capacity)
		u.OtherPerMille = perMille(u.ForeignMean, u.Capacity)
		uses = append(uses, u)
	}
	return uses
}

func (r *run) queueUse() []QueueUse {
	uses := []QueueUse{}
	for _, q := range r.books.order {
		u := QueueUse{
			Path:       string(q.path),
			Leaf:       q.leaf,
			Made:       q.made,
			Depth:      strings.Count(string(q.path), "."),
			Guaranteed: r.scenario.Kinds.Map(q.config.Guaranteed),
			Max:        r.scenario.Kinds.LimitMap(q.config.Max),
			Mean:       map[string]int64{},
			Peak:       map[string]int64{},
			Arrived:    q.pods.arrived,
			Placed:     q.pods.placed,
			Pending:    int(q.pending.value),
			GaveUp:     q.pods.gaveUp,
			Evicted:    q.pods.evicted,
			Preempted:  q.pods.preempted,
			Victims:    victimsByTrigger(q.pods.victims),
			Lost:       q.pods.lost,
			Waiting:    waitsOf(q.waits),
		}
		for _, k := range r.shownKinds() {
			name, mean := r.scenario.Kinds.Name(k), r.books.mean(q.used[k])
			u.Mean[name], u.Peak[name] = mean, q.used[k].peak
			if share := perMille(mean, r.books.mean(r.books.capacity[k])); share > u.Share {
				u.Share, u.ShareKind = share, name
			}
		}
		uses = append(uses, u)
	}
	return uses
}

// sortedAsks lists the asks of an application by key.
func sortedAsks(app *api.ApplicationView) []api.AskView {
	return slices.SortedFunc(slices.Values(app.Asks), func(a, b api.AskView) int { return cmp.Compare(a.Key, b.Key) })
}

// stillPending groups the asks that wait at the end.
func (r *run) stillPending(view *api.View) []PendingReason {
	groups := map[pendingReason]*pendingPods{}
	for _, app := range view.Applications {
		for _, ask := range app.Asks {
			if ask.Placeholder {
				continue
			}
			reason := r.reasonIn(app.Queue, ask)
			if groups[reason] == nil {
				groups[reason] = &pendingPods{example: ask.Key}
			}
			groups[reason].count++
			groups[reason].example = min(groups[reason].example, ask.Key)
		}
	}
	return pendingReasons(groups)
}

// pendingReasons lists the groups, the largest first.
func pendingReasons(groups map[pendingReason]*pendingPods) []PendingReason {
	var list []PendingReason
	for reason, pods := range groups {
		list = append(list, PendingReason{
			Queue: string(reason.queue), Reason: reason.reason, Detail: reason.detail,
			Pods: pods.count, Example: string(pods.example),
		})
	}
	slices.SortFunc(list, func(a, b PendingReason) int {
		return cmp.Or(cmp.Compare(b.Pods, a.Pods), cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Detail, b.Detail))
	})
	return list
}

func rejections(counts map[string]int) []Rejection {
	var list []Rejection
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, Rejection{Reason: reason, Count: counts[reason]})
	}
	return list
}

func (r *run) series(preempted bool) Series {
	b := r.books
	s := Series{
		Step: seconds(b.step), Pending: b.pending.peaks(), Running: b.means(b.running), Nodes: b.means(b.nodes),
		Resources: []ResourceSeries{}, Queues: []QueueSeries{},
	}
	kinds := r.shownKinds()
	for _, k := range kinds {
		s.Resources = append(s.Resources, ResourceSeries{
			Kind:     r.scenario.Kinds.Name(k),
			Capacity: b.means(b.capacity[k]),
			Used:     b.means(b.queues["root"].used[k]),
			Foreign:  b.means(b.occupied[k]),
		})
	}
	for _, q := range b.order {
		if !q.leaf {
			continue
		}
		one := QueueSeries{Path: string(q.path), Pending: q.pending.peaks(), Used: map[string][]int64{}}
		for _, k := range kinds {
			one.Used[r.scenario.Kinds.Name(k)] = b.means(q.used[k])
		}
		s.Queues = append(s.Queues, one)
	}
	if preempted {
		s.Preemption = r.preemptionSeries()
	}
	return s
}
