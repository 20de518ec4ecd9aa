package simulator

import (
	"strconv"
	"time"
)

// A Result is what came out of a run. Its JSON form is what --output json
// prints; the same scenario and seed give the same bytes. Quantities are in the
// units of the core: thousandths of a core for vcore, bytes for memory,
// thousandths of a device for gpu.
type Result struct {
	Scenario    string           `json:"scenario"`
	Description string           `json:"description,omitempty"`
	Seed        uint64           `json:"seed"`
	Time        Seconds          `json:"virtualSeconds"`
	Stopped     *Stop            `json:"stopped,omitempty"` // absent at until, and when no timer was due
	Nodes       NodeCounts       `json:"nodes"`
	Pods        PodCounts        `json:"pods"`
	Waiting     *Waiting         `json:"waiting,omitempty"` // absent when nothing was placed
	Resources   []ResourceUse    `json:"resources"`
	Queues      []QueueUse       `json:"queues"`
	Pending     []PendingReason  `json:"pending,omitempty"`
	GaveUp      []PendingReason  `json:"gaveUp,omitempty"`
	Rejections  []Rejection      `json:"rejections,omitempty"`
	Foreign     ForeignCounts    `json:"foreign"`
	Gangs       GangCounts       `json:"gangs,omitzero"`
	Preemption  *Preemption      `json:"preemption,omitempty"` // absent without evictions and nominations
	Faults      FaultCounts      `json:"faults"`
	Incidents   []IncidentRecord `json:"incidents,omitempty"`
	Series      Series           `json:"series"`
}

// Seconds is a virtual time in milliseconds, written as seconds.
type Seconds int64

// MarshalJSON writes seconds with at most three decimals.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return []byte(strconv.FormatFloat(float64(s)/1000, 'f', -1, 64)), nil
}

// Duration is the time as Go counts it.
func (s Seconds) Duration() time.Duration { return time.Duration(s) * tick }

func seconds(d time.Duration) Seconds { return Seconds(d / tick) }

// A Stop is the end of a run without until, at which the scheduler still had timers.
type Stop struct {
	At    Seconds `json:"at"`
	Quiet Seconds `json:"quiet"` // for so long after the last event timers are followed
	Due   Seconds `json:"due"`   // the next timer
}

// NodeCounts is what happened to the nodes.
type NodeCounts struct {
	AtEnd     int `json:"atEnd"`
	Joined    int `json:"joined"`
	Failed    int `json:"failed"`
	Returned  int `json:"returned"`
	Drained   int `json:"drained"`
	Undrained int `json:"undrained"`
}

// PodCounts is what became of the pods. Arrived counts every ask, also the
// successors of pods that were lost:
//
//	Arrived = Placed + Pending + GaveUp + Rejected + Cancelled
type PodCounts struct {
	Arrived    int `json:"arrived"`
	Placed     int `json:"placed"`
	Running    int `json:"running"` // at the end
	Ended      int `json:"ended"`
	Pending    int `json:"pending"` // at the end
	GaveUp     int `json:"gaveUp"`  // left before they were placed
	Rejected   int `json:"rejected"`
	Cancelled  int `json:"cancelled"` // taken back by the resource manager
	Evicted    int `json:"evicted"`   // by drains and by preemption
	Preempted  int `json:"preempted"` // of these
	Lost       int `json:"lost"`      // with their node
	Restarted  int `json:"restarted"`
	Placements int `json:"placements"` // with those that could not be bound
}

// Waiting is how long pods waited, from their arrival to their placement.
type Waiting struct {
	Pods int     `json:"pods"`
	Mean Seconds `json:"mean"`
	P50  Seconds `json:"p50"`
	P90  Seconds `json:"p90"`
	P99  Seconds `json:"p99"`
	Max  Seconds `json:"max"`
}

// ResourceUse is one kind over the whole cluster and run. Shares are in
// thousandths of the capacity that was there on average.
type ResourceUse struct {
	Kind          string `json:"kind"`
	Capacity      int64  `json:"capacityMean"`
	Mean          int64  `json:"usedMean"`
	Peak          int64  `json:"usedPeak"`
	ForeignMean   int64  `json:"foreignMean"`
	ForeignPeak   int64  `json:"foreignPeak"`
	MeanPerMille  int64  `json:"usedMeanPerMille"`
	PeakPerMille  int64  `json:"usedPeakPerMille"`
	OtherPerMille int64  `json:"foreignMeanPerMille"`
}

// QueueUse is one queue with everything below it.
type QueueUse struct {
	Path       string           `json:"queue"`
	Leaf       bool             `json:"leaf"`
	Made       bool             `json:"made,omitempty"` // by a rule of placement
	Depth      int              `json:"depth"`
	Guaranteed map[string]int64 `json:"guaranteed,omitempty"`
	Max        map[string]int64 `json:"max,omitempty"`
	Mean       map[string]int64 `json:"usedMean"`
	Peak       map[string]int64 `json:"usedPeak"`
	// Share is the largest of the mean shares of the cluster over all kinds,
	// in thousandths.
	Share     int64  `json:"sharePerMille"`
	ShareKind string `json:"shareKind,omitempty"`
	Arrived   int    `json:"arrived"`
	Placed    int    `json:"placed"`
	Pending   int    `json:"pending"`
	GaveUp    int    `json:"gaveUp"`
	Evicted   int    `json:"evicted"`   // by drains and by preemption
	Preempted int    `json:"preempted"` // of these
	// Victims is, by trigger, how many were evicted, also of those that did not end.
	Victims map[string]int `json:"victims,omitempty"`
	Lost    int            `json:"lost"`
	Waiting *Waiting       `json:"waiting,omitempty"`
}

// A PendingReason is why some pods were not placed.
type PendingReason struct {
	Queue   string `json:"queue"`
	Reason  string `json:"reason"`
	Detail  string `json:"detail,omitempty"`
	Pods    int    `json:"pods"`
	Example string `json:"example"`
}

// A Rejection is why the core refused something.
type Rejection struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// ForeignCounts is what became of foreign pods.
type ForeignCounts struct {
	Reported int `json:"reported"`
	Static   int `json:"static"`
	Resized  int `json:"resized"`
	Ended    int `json:"ended"`
	Lost     int `json:"lost"` // with their node
	AtEnd    int `json:"atEnd"`
}

// Preemption is evictions and nominations.
type Preemption struct {
	// Plans counts, by what they came to, the plans that chose victims, led to a
	// nomination, or were reported to have failed.
	Plans        map[string]int `json:"plans"`
	Victims      int            `json:"victims"` // evicted
	Foreign      int            `json:"foreignVictims"`
	Ran          Seconds        `json:"victimsRan,omitzero"` // those of this scheduler, together, until they were told to end
	Overdue      int            `json:"overdue"`             // did not end in time
	Releasing    int            `json:"releasingAtEnd"`      // evicted, and not ended at the end
	Reservations int            `json:"reservationsCancelled"`
	Nominations  int            `json:"nominations"`
	Cleared      int            `json:"nominationsCleared"` // given up
	Loops        int            `json:"loopsStopped"`
	// Wasted counts the victims whose room was not used, by cause.
	Wasted map[string]int `json:"wasted,omitempty"`
	// NodesLookedAt is how often a node was looked at for room that could be made, for
	// all plans and attempts together.
	NodesLookedAt int64            `json:"nodesLookedAt"`
	Violations    int              `json:"budgetViolations"` // victims that exceeded one
	ByTrigger     []TriggerCount   `json:"byTrigger"`
	ByKind        []VictimCount    `json:"victimsByKind"`
	ByQueue       []QueueVictims   `json:"victimsByQueue"`
	Failed        []FailedAttempts `json:"failedAttempts,omitempty"` // of the pods that wait at the end
	Budgets       []BudgetUse      `json:"budgets,omitempty"`
	// Waiting is of all pods of daemonsets, Helped of those with victims.
	Waiting *Waiting     `json:"daemonSetPodsWaiting,omitempty"`
	Helped  *Waiting     `json:"helpedPodsWaiting,omitempty"`
	Records []PlanRecord `json:"records"` // the first ten thousand
}

// A TriggerCount is what one reason to make room came to.
type TriggerCount struct {
	Trigger     string   `json:"trigger"`
	Plans       int      `json:"plans"`  // that chose victims
	Failed      int      `json:"failed"` // reported to have failed
	Victims     int      `json:"victims"`
	Nominations int      `json:"nominations"`
	Cleared     int      `json:"cleared"`
	Elsewhere   int      `json:"placedElsewhere"`             // than where room was made
	Helped      *Waiting `json:"helpedPodsWaiting,omitempty"` // of pods with victims
}

// A QueueVictims is the victims from one queue for another. From is empty for foreign
// pods; a queue over its max has victims from itself or from queues below it.
type QueueVictims struct {
	Trigger string `json:"trigger"`
	By      string `json:"by"`
	From    string `json:"from,omitempty"`
	Victims int    `json:"victims"`
}

// A FailedAttempts is pods that wait at the end and why no room can be made for them
// by one trigger, with the nodes of the first of them: how many there were, and how
// many were of no use and why. Each counts once.
type FailedAttempts struct {
	Queue        string `json:"queue"`
	Trigger      string `json:"trigger"`
	Summary      string `json:"summary"`
	Pods         int    `json:"pods"`
	Example      string `json:"example"`
	Nodes        int    `json:"nodes"`
	Closed       int    `json:"closed"`       // cordoned, kept for others, or with victims that do not end
	TooSmall     int    `json:"tooSmall"`     // could never hold the pod
	Insufficient int    `json:"insufficient"` // too little could be freed
	Refused      int    `json:"refused"`      // by the resource manager
	NearMiss     string `json:"nearMiss,omitempty"`
}

// A BudgetUse is a disruption budget, and how many of its pods were down at once
// at most, for any time and whatever the reason.
type BudgetUse struct {
	Name    string `json:"name"`
	Allowed int    `json:"allowed"`
	Peak    int    `json:"downPeak"`
}

// A VictimCount is the victims of one class that one strategy chose.
type VictimCount struct {
	Trigger  string `json:"trigger"`
	Class    string `json:"class"`
	Strategy string `json:"strategy"`
	Victims  int    `json:"victims"`
}

// A PlanRecord is a plan that chose victims, led to a nomination, or was reported
// to have failed.
type PlanRecord struct {
	At          Seconds      `json:"at"`
	Trigger     string       `json:"trigger"`
	Ask         string       `json:"ask"`   // or the queue over its max
	Queue       string       `json:"queue"` // of the ask
	Node        string       `json:"node"`  // that was chosen or required; empty for a queue
	Outcome     string       `json:"outcome"`
	Strategy    string       `json:"strategy,omitempty"`
	Summary     string       `json:"summary"`
	Victims     []PlanVictim `json:"victims"`
	Violations  int          `json:"budgetViolations,omitempty"`
	Explanation []string     `json:"explanation"` // line by line
}

// A PlanVictim is one that was chosen.
type PlanVictim struct {
	Key      string `json:"key"`
	Queue    string `json:"queue,omitempty"` // empty for a foreign pod
	Class    string `json:"class"`
	Priority int32  `json:"priority"`
}

// FaultCounts is how often the virtual resource manager misbehaved.
type FaultCounts struct {
	BindFailures  int `json:"bindFailures"`
	ReleasesLate  int `json:"releasesLate"`
	ReleasesTwice int `json:"releasesTwice"`
	ReleasesNever int `json:"releasesNever"`
	ReportsTwice  int `json:"reportsTwice"`
	ForeignEarly  int `json:"foreignEarly"`
	Crossed       int `json:"crossed,omitempty"` // times that the core scheduled before all messages had come
}

// An IncidentRecord is something that happened to nodes or the scheduler, or new limits of a queue.
type IncidentRecord struct {
	At     Seconds  `json:"at"`
	What   string   `json:"what"` // fail, return, drain, undrain, refuse, restart, clock, limit
	Nodes  []string `json:"nodes,omitempty"`
	Queue  string   `json:"queue,omitempty"`
	Detail string   `json:"detail,omitempty"`
}

// Series is how things went over time: one value for each step, the mean of it
// unless it says otherwise.
type Series struct {
	Step      Seconds          `json:"step"`
	Pending   []int64          `json:"pendingPeak"`
	Running   []int64          `json:"running"`
	Nodes     []int64          `json:"nodes"`
	Resources []ResourceSeries `json:"resources"`
	Queues    []QueueSeries    `json:"queues"` // leaf queues only
	// Preemption is absent without evictions and nominations.
	Preemption *PreemptionSeries `json:"preemption,omitempty"`
}

// PreemptionSeries is preemption over time, the most in each step.
type PreemptionSeries struct {
	Victims   []int64         `json:"victimsSoFar"`
	ByTrigger []TriggerSeries `json:"byTrigger"`
	Releasing []int64         `json:"releasingPeak"`
	Nominated []int64         `json:"nominatedPeak"`
	Daemons   []int64         `json:"daemonSetPodsPendingPeak"`
}

// TriggerSeries is the victims of one trigger over time.
type TriggerSeries struct {
	Trigger string  `json:"trigger"`
	Victims []int64 `json:"victimsSoFar"`
}

// ResourceSeries is one kind over time.
type ResourceSeries struct {
	Kind     string  `json:"kind"`
	Capacity []int64 `json:"capacity"`
	Used     []int64 `json:"used"`
	Foreign  []int64 `json:"foreign"`
}

// QueueSeries is one leaf queue over time.
type QueueSeries struct {
	Path    string             `json:"queue"`
	Pending []int64            `json:"pendingPeak"`
	Used    map[string][]int64 `json:"used"`
}
