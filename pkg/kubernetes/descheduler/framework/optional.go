package framework

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/drain"
)

// A Booking is a replacement that a Landing counts.
type Booking struct {
	// Pod is the pod that was evicted.
	Pod *v1.Pod
	// Node is where its replacement stands.
	Node string
}

// BookingLister is a Landing that lists what it counts. Plugins that compare
// numbers of pods then see the replacements of plugins before them in the cycle.
type BookingLister interface {
	// Bookings are those of this cycle, in the order in which they were made.
	Bookings() []Booking
}

// Expecter is a Landing that counts replacements which were booked with another Landing, such as
// in the cycle before or by a controller, and do not exist yet. Without it each Landing may give
// such a place again.
type Expecter interface {
	// Expect counts a pod on the node that it names. One that is counted already changes nothing.
	// It is the StandIn of a pod, which may still run: Place and Book of that pod then give this node.
	Expect(replacement *v1.Pod)
}

// Opener is a Landing that knows what may run elsewhere so that a pod which waits has room, with all that must start together with it.
type Opener interface {
	// Opening are pods that would run elsewhere, each with the node where its replacement would, and what is opened by that: a domain of
	// nodes, or nothing where the pod needs none. None where there is no such thing, or nothing has to move. It changes nothing. Stays says
	// which pods do not move; it must not ask the Landing.
	Opening(ctx context.Context, waiting *v1.Pod, stays func(pod *v1.Pod) bool) (moves []Booking, opens string)
}

// A NodeOrder is which nodes a scheduler prefers.
type NodeOrder string

// The orders of nodes, as they are written in a policy.
const (
	// LeastAllocated: those of which less is requested, as kube-scheduler does by default.
	LeastAllocated NodeOrder = "LeastAllocated"
	// MostAllocated: those of which more is requested.
	MostAllocated NodeOrder = "MostAllocated"
)

// OrderedLanding is a Landing that knows which nodes the scheduler prefers.
type OrderedLanding interface {
	NodeOrder() NodeOrder
}

// NamedLanding is a Landing that says in reports what it asks.
type NamedLanding interface {
	// CheckedBy is a word or two, such as core.
	CheckedBy() string
}

// Reserver is an EvictPlugin that may keep a place for the replacement before it has a pod evicted: on
// one of EvictOptions.Nodes, or else on any node but that of the pod.
type Reserver interface {
	// Reserves says whether it does that for a pod.
	Reserves(pod *v1.Pod) bool
}

// Placer is a PodEvictor that says what a plugin needs to know to choose a node for a replacement.
type Placer interface {
	Reserver
	// Refuses returns why a replacement should not come to a node, whatever the plugin thinks, or nil.
	Refuses(pod *v1.Pod, node string) error
}

// Installed is a Handle that names its installation of the descheduler: the same over restarts and changes of the policy, and another
// one than those of others in the cluster.
type Installed interface {
	Installation() string
}

// InstallationOf is the installation of a handle; empty: it has no name.
func InstallationOf(h Handle) string {
	if i, ok := h.(Installed); ok {
		return i.Installation()
	}
	return ""
}

// OfAnother says whether something that is marked with an installation is that of another one than a handle's. Without a mark it is
// that of none.
func OfAnother(h Handle, installation string) bool {
	return installation != "" && installation != InstallationOf(h)
}

// Warner is a Handle that tells operators what keeps a plugin from its work, or makes it useless: in the
// next report, and in the log where the report before did not say the same.
type Warner interface {
	Warn(text string)
}

// Decliner is a PodEvictor that keeps why a plugin left a pod where it is, although
// the plugin would have moved it: so that an operator can ask for the reason.
type Decliner interface {
	Declined(pod *v1.Pod, options EvictOptions, why error)
}

// Repeater is a BalancePlugin that a cycle may call again when others have evicted pods since,
// which can have made room for those that it left. What it must not do more than once in
// a cycle, such as counting an observation, it does once for each time of the Snapshot.
type Repeater interface {
	BalancePlugin
	// Repeats says whether it may be called again, with its arguments.
	Repeats() bool
}

// Sources of measured use, as they are written in a policy.
const (
	KubernetesMetrics = "KubernetesMetrics"
	Prometheus        = "Prometheus"
)

// MetricResource is the resource of a Usage that comes from a query, as a part of
// one: a node that is used to a half has 500m of it.
const MetricResource v1.ResourceName = "MetricResource"

// A UsageQuery says which measured use a plugin wants.
type UsageQuery struct {
	// Source is KubernetesMetrics or Prometheus.
	Source string
	// Query is what Prometheus is asked.
	Query string
	// MaxAge is the age above which a value is not given out. Zero: that of the source.
	MaxAge time.Duration
}

// A Measurement is what a node uses, and when that was measured. The use is CPU and memory, or the part of the node
// (MetricResource).
type Measurement struct {
	Node string
	At   time.Time
	Use  v1.ResourceList
}

// UsageSources is a Usage that has several sources. As a Usage it is the first one.
type UsageSources interface {
	Usage
	// Of returns the use of one source. An error says that the source is not
	// configured or does not answer.
	Of(ctx context.Context, query UsageQuery) (Usage, error)
}

// NodeAnnouncer is a Handle that writes events of nodes. The kind is one of Kubernetes; the reason is a word.
type NodeAnnouncer interface {
	AnnounceNode(node *v1.Node, kind, reason, note string)
}

// ProfileKnower is a Handle that knows the profiles of the policy.
type ProfileKnower interface {
	// OtherProfiles names those that have this controller too.
	OtherProfiles() []string
	// Selects says whether the selectors of the policy and of this profile select a node, ready or not.
	Selects(node *v1.Node) bool
}

// GroupEvictor is a PodEvictor that has pods evicted together, or none of them.
type GroupEvictor interface {
	// EvictTogether asks all that may keep one of the pods before the first is evicted. It returns those that were not: with an
	// error as of EvictPod, or with nil where others keep it. Where the first one goes all are tried. All with nil: the evict plugin
	// has each go in its own time.
	EvictTogether(ctx context.Context, pods []*v1.Pod, options EvictOptions) map[types.UID]error
}

// GroupEvictPlugin is an EvictPlugin that only requests evictions, and can have several pods evicted together, or none of them.
type GroupEvictPlugin interface {
	// EvictTogether asks for that. With an error, which is of one of the pods, it asks for none.
	EvictTogether(ctx context.Context, pods []*v1.Pod, options EvictOptions) (keeps *v1.Pod, err error)
}

// Withdrawer is an EvictPlugin, or a PodEvictor, that can take back an eviction which was asked for and has not
// begun. Of another pod, or of one for which another plugin has asked, it does nothing.
type Withdrawer interface {
	Withdraw(ctx context.Context, pod *v1.Pod, options EvictOptions) error
}

// Expirer is an evict plugin of which requests have an end. Expire is called before each cycle: it takes back what was asked for too long ago in
// its profile, and the cycles that follow ask for what still should go.
type Expirer interface {
	Expire(ctx context.Context) error
}

// ProgressReporter is an EvictPlugin, or a PodEvictor, whose evictions take longer than EvictPod. It is safe for
// concurrent use.
type ProgressReporter interface {
	// Progress says in words how far the eviction of a pod is; empty: it does not know.
	Progress(pod *v1.Pod) string
	// Failure says in words why the last eviction of a pod that is there has ended; empty: it does not know, or another pod is the
	// reason, with which it was to be evicted together.
	Failure(pod *v1.Pod) string
}

// Previewer is a ControllerPlugin of which a dry run of one cycle shows what it would do first.
type Previewer interface {
	ControllerPlugin
	// Preview asks for the evictions, and returns.
	Preview(ctx context.Context) error
}

// DrainReporter is a ControllerPlugin that drains nodes. It is safe for concurrent use.
type DrainReporter interface {
	ControllerPlugin
	// Drains are those under way, and those that came to their end and are not over, by node.
	Drains() map[string]drain.Status
}
