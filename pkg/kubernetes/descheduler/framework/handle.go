package framework

import (
	"cmp"
	"math/bits"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
)

// Handle is what a plugin is given when it is built. It is safe for concurrent
// use. It belongs to one plugin of one profile.
type Handle interface {
	// ClientSet talks to the API server. In a dry run it refuses to write.
	ClientSet() kubernetes.Interface
	// SharedInformerFactory has the informers. A factory of a plugin registers
	// those that it needs; they run when all plugins are built.
	SharedInformerFactory() informers.SharedInformerFactory
	// Evictor has pods evicted.
	Evictor() PodEvictor
	// Snapshot is the picture of the cycle that runs. For a controller it is a
	// fresh one at each call; where the plugin works at other points too, outside of
	// cycles, it may be a second old.
	Snapshot() *Snapshot
	// Landing says where pods would run.
	Landing() Landing
	// Usage is the measured use of nodes and pods, or nil where no source of it is
	// configured.
	Usage() Usage
	// Less is the order of the profile's sort plugin.
	Less(a, b *v1.Pod) bool
	// Clock is the only source of time.
	Clock() clock.WithTicker
	// ProfileName is the profile in which the plugin works.
	ProfileName() string
	// InstanceID is unique in a policy, and stable as long as the policy is.
	InstanceID() string
	// DryRun says that nothing is really evicted.
	DryRun() bool
}

// Landing says where the scheduler would run pods, with the evictions and the
// landings of this cycle counted. It is safe for concurrent use.
type Landing interface {
	// Place returns where a replacement of the pod would run if the pod was evicted, and
	// changes nothing. An error says why nowhere that will do.
	Place(pod *v1.Pod, choice Choice) (Place, error)
	// Book counts an eviction: from here on the pod is gone, and its replacement stands on a
	// node that Place gave. Of a pod that nothing makes anew there is no replacement: it is
	// gone, and the node is empty. With an error nothing is changed.
	Book(pod *v1.Pod, node string) error
}

// A Choice says which nodes will do for a replacement. The zero value takes any.
type Choice struct {
	// Accept returns nil for a node that will do, or else why not. It must not ask the Landing,
	// and may be asked several times, the last time of the node that is given. Nil: any will do.
	Accept func(node string) error
	// Alike says, of two pods of one workload that request the same, that it makes no difference to Accept which of them runs
	// where. Nil: it makes none.
	Alike func(a, b *v1.Pod) bool
	// Reserved says that the place is kept until the replacement comes, so that the scheduler takes
	// no other one.
	Reserved bool
}

// Accepts is Accept, also where that is nil.
func (c Choice) Accepts(node string) error {
	if c.Accept == nil {
		return nil
	}
	return c.Accept(node)
}

// A Place is where a replacement would run: of the nodes that will do the first one in the order of
// the scheduler, if that is known.
type Place struct {
	Node string
	// Equals are other nodes that the scheduler prefers as much, and that will do as well: it takes any of them.
	Equals []string
	// Open says that the scheduler may take another node: it is not of this project, and the
	// place is not reserved.
	Open bool
}

// Queues says how much the queues of the scheduler use. A Landing is one too, where the
// scheduler is this project's. It is safe for concurrent use.
type Queues interface {
	// ShareOf is how much the queue of a pod uses, without the pods that were evicted in
	// this cycle; false for a pod that has none.
	ShareOf(pod *v1.Pod) (QueueShare, bool)
	// ShortWithout returns a queue, of that of a pod and those above, that would use less
	// than it is guaranteed of a kind which the pod requests, if the pod was not there, and
	// how much that would be; false where there is none.
	ShortWithout(pod *v1.Pod) (QueueShare, bool)
}

// QueueShare is how much a queue uses of the kind of which it uses most in relation to its
// guarantee. Without any guarantee both amounts are zero.
type QueueShare struct {
	Queue            string
	Kind             string // of resource
	Used, Guaranteed int64
}

// Compare is less than zero where s uses less than the other in relation to its guarantee.
// A queue without any guarantee uses more than all others.
func (s QueueShare) Compare(other QueueShare) int {
	switch {
	case s.Guaranteed == 0 && other.Guaranteed == 0:
		return 0
	case s.Guaranteed == 0:
		return 1
	case other.Guaranteed == 0:
		return -1
	}
	return CompareShares(s.Used, s.Guaranteed, other.Used, other.Guaranteed)
}

// CompareShares compares a/b with c/d exactly. All are at least zero, b and d above it.
func CompareShares(a, b, c, d int64) int {
	high1, low1 := bits.Mul64(uint64(a), uint64(d))
	high2, low2 := bits.Mul64(uint64(c), uint64(b))
	return cmp.Or(cmp.Compare(high1, high2), cmp.Compare(low1, low2))
}

// Usage is the measured use of nodes and pods. It is safe for concurrent use.
type Usage interface {
	// Node returns what the node uses, and false where that is unknown or too old.
	Node(name string) (v1.ResourceList, bool)
	// Pod returns what the pod uses, and false where that is unknown or too old.
	Pod(namespace, name string) (v1.ResourceList, bool)
}

// DynamicHandle is a Handle for plugins that keep objects of kinds of their own. A Handle
// of the descheduler is one.
type DynamicHandle interface {
	Handle
	// DynamicClient talks to the API server. In a dry run it refuses to write.
	DynamicClient() dynamic.Interface
}
