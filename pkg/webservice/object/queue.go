package object

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/guarantee"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/planned"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// queueJSON is a queue. A limit that is not there is none; one of zero is there.
type queueJSON struct {
	QueueName          api.QueuePath     `json:"queuename"`
	Status             string            `json:"status"`
	Partition          string            `json:"partition"`
	PendingResource    resources.Amounts `json:"pendingResource,omitempty"`
	MaxResource        resources.Limits  `json:"maxResource,omitempty"`
	GuaranteedResource resources.Amounts `json:"guaranteedResource,omitempty"`
	AllocatedResource  resources.Amounts `json:"allocatedResource,omitempty"`
	PreemptingResource resources.Amounts `json:"preemptingResource,omitempty"`
	Headroom           resources.Limits  `json:"headroom,omitempty"`
	IsLeaf             bool              `json:"isLeaf"`
	IsManaged          bool              `json:"isManaged"`
	Properties         map[string]string `json:"properties,omitempty"`
	Parent             api.QueuePath     `json:"parent,omitempty"`
	Template           *templateJSON     `json:"template,omitempty"`
	Children           []*queueJSON      `json:"children,omitempty"`
	ChildNames         []api.QueuePath   `json:"childNames,omitempty"`
	AbsUsedCapacity    resources.Amounts `json:"absUsedCapacity,omitempty"` // percent of its own max
	MaxRunningApps     int               `json:"maxRunningApps,omitempty"`
	RunningApps        int               `json:"runningApps,omitempty"`
	CurrentPriority    int32             `json:"currentPriority"`
	// AllocatingAcceptedApps count for limits of applications before anything of them runs,
	// as room is being made for them.
	AllocatingAcceptedApps []api.ApplicationID `json:"allocatingAcceptedApps,omitempty"`
	SortingPolicy          string              `json:"sortingPolicy"`
	PrioritySorting        bool                `json:"prioritySorting"`
	PreemptionEnabled      bool                `json:"preemptionEnabled"`
	IsPreemptionFence      bool                `json:"isPreemptionFence"`
	PreemptionDelay        string              `json:"preemptionDelay"`
	QuotaPreemptionDelay   string              `json:"quotaPreemptionDelay"`
	// Since what a queue uses beyond its max is given back when the delay is over, the
	// start is there from when it is beyond its max until it is not.
	IsQuotaPreemptionRunning bool      `json:"isQuotaPreemptionRunning"`
	QuotaPreemptionStartTime time.Time `json:"quotaPreemptionStartTime,omitempty"`
	UnschedAskBackoff        uint64    `json:"unschedAskBackoff,omitempty"`
	AskBackoffDelay          string    `json:"askBackoffDelay,omitempty"`
	IsPriorityFence          bool      `json:"isPriorityFence"`
	PriorityOffset           int32     `json:"priorityOffset,omitempty"`

	// What is new: what nominated asks are going to get, since when the queue is
	// over its max, the last plan to bring it below its max, in words, and the limits of
	// users and groups.
	NominatedResource resources.Amounts `json:"nominatedResource,omitempty"`
	Applications      int               `json:"applications,omitempty"` // in any state, of a leaf
	OverMaxSince      time.Time         `json:"overMaxSince,omitempty"`
	QuotaPlan         string            `json:"quotaPlan,omitempty"`
	QuotaPlanned      time.Time         `json:"quotaPlanned,omitempty"`
	// How it stands to what is guaranteed to it, how much of that it uses of the kind that
	// decides, and how it stands in each kind.
	GuaranteeState       string            `json:"guaranteeState,omitempty"`
	GuaranteedKind       string            `json:"guaranteedKind,omitempty"`
	GuaranteedPercent    int64             `json:"guaranteedPercent,omitempty"`
	GuaranteeStateByKind map[string]string `json:"guaranteeStateByKind,omitempty"`

	Limits []limitJSON `json:"limits,omitempty"`
}

// limitJSON is what each of some users and groups may have in a queue and below.
type limitJSON struct {
	Users           []string         `json:"users,omitempty"`
	Groups          []string         `json:"groups,omitempty"`
	MaxResources    resources.Limits `json:"maxResources,omitempty"`
	MaxApplications int              `json:"maxApplications,omitempty"`
}

func (l *limitJSON) Encode(e *encoder.Encoder) {
	e.Open('{')
	encoder.Names(e, "users", l.Users)
	encoder.Names(e, "groups", l.Groups)
	e.Limits("maxResources", l.MaxResources)
	e.IntegerIf("maxApplications", int64(l.MaxApplications))
	e.Close('}')
}

func (q *queueJSON) Encode(e *encoder.Encoder) {
	e.Open('{')
	e.Text("queuename", string(q.QueueName))
	e.Text("status", q.Status)
	e.Text("partition", q.Partition)
	e.Amounts("pendingResource", q.PendingResource)
	e.Limits("maxResource", q.MaxResource)
	e.Amounts("guaranteedResource", q.GuaranteedResource)
	e.Amounts("allocatedResource", q.AllocatedResource)
	e.Amounts("preemptingResource", q.PreemptingResource)
	e.Limits("headroom", q.Headroom)
	e.Truth("isLeaf", q.IsLeaf)
	e.Truth("isManaged", q.IsManaged)
	e.Texts("properties", q.Properties)
	e.TextIf("parent", string(q.Parent))
	if q.Template != nil {
		e.Other("template", q.Template)
	}
	q.encodeChildren(e)
	e.Amounts("absUsedCapacity", q.AbsUsedCapacity)
	e.IntegerIf("maxRunningApps", int64(q.MaxRunningApps))
	e.IntegerIf("runningApps", int64(q.RunningApps))
	e.Integer("currentPriority", int64(q.CurrentPriority))
	encoder.Names(e, "allocatingAcceptedApps", q.AllocatingAcceptedApps)
	e.Text("sortingPolicy", q.SortingPolicy)
	e.Truth("prioritySorting", q.PrioritySorting)
	e.Truth("preemptionEnabled", q.PreemptionEnabled)
	e.Truth("isPreemptionFence", q.IsPreemptionFence)
	e.Text("preemptionDelay", q.PreemptionDelay)
	e.Text("quotaPreemptionDelay", q.QuotaPreemptionDelay)
	e.Truth("isQuotaPreemptionRunning", q.IsQuotaPreemptionRunning)
	e.TimeIf("quotaPreemptionStartTime", q.QuotaPreemptionStartTime)
	e.IntegerIf("unschedAskBackoff", int64(q.UnschedAskBackoff))
	e.TextIf("askBackoffDelay", q.AskBackoffDelay)
	e.Truth("isPriorityFence", q.IsPriorityFence)
	e.IntegerIf("priorityOffset", int64(q.PriorityOffset))
	e.Amounts("nominatedResource", q.NominatedResource)
	e.IntegerIf("applications", int64(q.Applications))
	e.TimeIf("overMaxSince", q.OverMaxSince)
	e.TextIf("quotaPlan", q.QuotaPlan)
	e.TimeIf("quotaPlanned", q.QuotaPlanned)
	e.TextIf("guaranteeState", q.GuaranteeState)
	e.TextIf("guaranteedKind", q.GuaranteedKind)
	e.IntegerIf("guaranteedPercent", q.GuaranteedPercent)
	e.Texts("guaranteeStateByKind", q.GuaranteeStateByKind)
	encoder.Objects(e, "limits", q.Limits)
	e.Close('}')
}

func (q *queueJSON) encodeChildren(e *encoder.Encoder) {
	if len(q.Children) > 0 && e.Member("children") {
		e.Open('[')
		for _, child := range q.Children {
			e.Next()
			child.Encode(e)
			e.Spare()
		}
		e.Close(']')
	}
	encoder.Names(e, "childNames", q.ChildNames)
}

// templateJSON is what a queue gives to those that are made below it.
type templateJSON struct {
	MaxApplications    uint64            `json:"maxApplications,omitempty"`
	MaxResource        map[string]int64  `json:"maxResource,omitempty"`
	GuaranteedResource map[string]int64  `json:"guaranteedResource,omitempty"`
	Properties         map[string]string `json:"properties,omitempty"`
}

// A tree shows the queues of one snapshot.
type tree struct {
	*Snapshot
	runs       map[api.QueuePath]int
	allocating map[api.QueuePath][]api.ApplicationID // by leaf
	configured map[api.QueuePath]*config.Queue
	limits     map[api.QueuePath][]limitJSON
}

// Queues answers GET /ws/v1/partition/{partition}/queues.
func Queues(at *Snapshot, r *http.Request) (any, error) {
	return query.One(r, at.queues())
}

// Queue answers GET /ws/v1/partition/{partition}/queue/{queue}, with what is
// below only if the query has subtree.
func Queue(at *Snapshot, r *http.Request) (any, error) {
	way, err := at.wayTo(r)
	if err != nil {
		return nil, err
	}
	t, left := at.tree(), resources.Limits(nil)
	for _, above := range way[:len(way)-1] {
		left = t.headroom(above, left)
	}
	out := t.show(way[len(way)-1], left, r.URL.Query().Has("subtree"))
	return query.One(r, out)
}

// wayTo is the queue that a request is about, after all above it from the root on.
// Case does not count.
func (at *Snapshot) wayTo(r *http.Request) ([]*api.QueueView, error) {
	name, err := unescaped(r, "queue")
	if err != nil {
		return nil, err
	}
	return at.findQueue(api.QueuePath(strings.ToLower(name)))
}

// queues is the whole tree.
func (at *Snapshot) queues() *queueJSON { return at.tree().show(at.Root, nil, true) }

func (at *Snapshot) tree() *tree {
	t := &tree{Snapshot: at, runs: at.running(), allocating: at.allocating(), configured: map[api.QueuePath]*config.Queue{}, limits: map[api.QueuePath][]limitJSON{}}
	if at.written != nil && at.written.Root != nil {
		t.index(at.written.Root)
	}
	t.indexLimits("", &at.Config.Root)
	return t
}

// allocating is, by leaf, the applications that count for limits of applications before anything
// of them runs.
func (at *Snapshot) allocating() map[api.QueuePath][]api.ApplicationID {
	out := map[api.QueuePath][]api.ApplicationID{}
	for _, app := range at.Applications {
		if app.Counts && !app.Ran {
			out[app.Queue] = append(out[app.Queue], app.ID)
		}
	}
	return out
}

// index remembers how the queues were written.
func (t *tree) index(q *config.Queue) {
	t.configured[q.Path] = q
	for _, child := range q.Queues {
		t.index(child)
	}
}

// indexLimits remembers the limits of users and groups in the queues that have any.
func (t *tree) indexLimits(above api.QueuePath, q *api.QueueConfig) {
	path := above + api.QueuePath(q.Name)
	for _, l := range q.Limits {
		t.limits[path] = append(t.limits[path], limitJSON{l.Users, l.Groups, l.Max, l.ApplicationsMax})
	}
	for i := range q.Queues {
		t.indexLimits(path+".", &q.Queues[i])
	}
}

// max is the limits of a queue. That of the root is what the partition has, of
// whatever is not limited otherwise.
func (t *tree) max(q *api.QueueView) resources.Limits {
	if q != t.Root {
		return q.Max
	}
	var all resources.Limits
	for k, quantity := range t.Capacity {
		if quantity != 0 {
			all.Set(resources.Kind(k), quantity)
		}
	}
	return all.Least(q.Max)
}

// headroom is what may still be charged to a queue, given what may be to those
// above.
func (t *tree) headroom(q *api.QueueView, above resources.Limits) resources.Limits {
	return above.Least(t.max(q).Minus(q.Used))
}

// show is a queue, and with below the queues below.
func (t *tree) show(q *api.QueueView, above resources.Limits, below bool) *queueJSON {
	left, most := t.headroom(q, above), t.max(q)
	out := &queueJSON{
		QueueName: q.Path, Status: "Active", Partition: t.name,
		PendingResource: q.Pending, MaxResource: most, GuaranteedResource: q.Guaranteed,
		AllocatedResource: q.Used, PreemptingResource: q.Releasing, Headroom: left,
		IsLeaf: q.Leaf, IsManaged: !q.Dynamic, Parent: parentOf(q.Path),
		AbsUsedCapacity: used(q.Used, most), RunningApps: t.runningBelow(q), CurrentPriority: q.Priority,
		MaxRunningApps: q.ApplicationsMax, AllocatingAcceptedApps: t.allocating[q.Path],
		NominatedResource: q.Nominated, Applications: q.Applications, OverMaxSince: q.OverMaxSince, QuotaPlanned: q.QuotaPlanned,
		Limits: t.limits[q.Path],
	}
	if s := guarantee.StandingOf(q); s.State != guarantee.None {
		out.GuaranteeState, out.GuaranteedKind, out.GuaranteedPercent = s.State.String(), t.kinds.Name(s.Kind), share(s.Share.Part, s.Share.Whole, 100)
		out.GuaranteeStateByKind = statesByKind(q, t.kinds)
	}
	if q.Draining {
		out.Status = "Draining"
	}
	if q.QuotaPlan != nil {
		out.QuotaPlan = planned.Summary(q.QuotaPlan, t.kinds)
		out.IsQuotaPreemptionRunning = slices.ContainsFunc(q.QuotaPlan.Victims, func(v preemptor.Victim) bool {
			return t.evicted()[api.AllocationKey(v.Key)]
		})
	}
	if p := t.Config.Preemption; !q.OverMaxSince.IsZero() && q.Properties.QuotaDelay > 0 && p.Quota && !p.Disabled {
		out.QuotaPreemptionStartTime = q.OverMaxSince.Add(q.Properties.QuotaDelay)
	}
	out.configure(q.Properties)
	if w := t.configured[q.Path]; w != nil {
		out.Template = templateOf(w.Template)
	}
	for _, child := range q.Queues {
		out.ChildNames = append(out.ChildNames, child.Path)
		if below {
			out.Children = append(out.Children, t.show(child, left, true))
		}
	}
	return out
}

// configure fills in what the properties of the queue say.
func (q *queueJSON) configure(p api.QueueProperties) {
	q.Properties = p.Texts
	q.SortingPolicy = "fifo"
	if p.ApplicationSort == api.Fair || !q.IsLeaf {
		q.SortingPolicy = "fair"
	}
	q.PrioritySorting = !p.IgnorePriority
	q.PreemptionEnabled = p.PreemptionPolicy != api.PreemptionDisabled
	q.IsPreemptionFence = p.PreemptionPolicy == api.PreemptionFence
	q.PreemptionDelay, q.QuotaPreemptionDelay = p.PreemptionDelay.String(), p.QuotaDelay.String()
	q.UnschedAskBackoff, _ = strconv.ParseUint(p.Texts["application.unschedasks.backoff"], 10, 64) // it is valid or not there
	q.AskBackoffDelay = p.Texts["application.unschedasks.backoff.delay"]
	q.IsPriorityFence, q.PriorityOffset = p.PriorityFence, p.PriorityOffset
}

func (t *tree) runningBelow(q *api.QueueView) int {
	n := t.runs[q.Path]
	for _, child := range q.Queues {
		n += t.runningBelow(child)
	}
	return n
}

func parentOf(path api.QueuePath) api.QueuePath {
	i := strings.LastIndexByte(string(path), '.')
	return path[:max(i, 0)]
}

// used is the part of each limit that is used, in whole percent. Of a limit of
// zero nothing is a part.
func used(amounts resources.Amounts, most resources.Limits) resources.Amounts {
	var of resources.Amounts
	for k, limit := range most {
		if limit != resources.Unlimited {
			of.Set(resources.Kind(k), limit)
		}
	}
	return percent(amounts, of)
}

func templateOf(t *config.Template) *templateJSON {
	if t == nil {
		return nil
	}
	return &templateJSON{
		MaxApplications: t.ApplicationsMax, MaxResource: values(t.Max), GuaranteedResource: values(t.Guaranteed), Properties: t.Properties,
	}
}

// values is quantities as bare numbers.
func values(q config.Quantities) map[string]int64 {
	if len(q) == 0 {
		return nil
	}
	out := make(map[string]int64, len(q))
	for kind, quantity := range q {
		out[kind] = quantity.Value
	}
	return out
}
