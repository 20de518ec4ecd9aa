package nodefit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// Name is how reports call this check.
const Name = "NodeFit"

// Nodes are the nodes of a snapshot, and what is used there with the evictions of the cycle
// counted. They are a Landing that is safe for concurrent use.
type Nodes struct {
	snapshot *framework.Snapshot

	mu       sync.Mutex
	used     map[string]v1.ResourceList // by node; with the number of pods
	counted  map[types.UID]bool         // pods that are in used and may be evicted
	against  *against
	expects  map[types.UID]string // replacements with their nodes
	bookings []framework.Booking
}

var (
	_ framework.BookingLister = (*Nodes)(nil)
	_ framework.Expecter      = (*Nodes)(nil)
	_ framework.NamedLanding  = (*Nodes)(nil)
)

// New counts the pods of a snapshot, in time linear in their number.
func New(s *framework.Snapshot) *Nodes {
	n := &Nodes{
		snapshot: s, used: make(map[string]v1.ResourceList, len(s.Nodes())),
		counted: map[types.UID]bool{}, expects: map[types.UID]string{},
	}
	var standing []*v1.Pod
	for _, pod := range s.Standing() {
		if pods.IsBound(pod) && !pods.IsTerminal(pod) {
			n.counted[pod.UID] = !s.WasEvicted(pod.UID)
			n.count(pod.Spec.NodeName, requestsOf(pod), 1)
			standing = append(standing, pod)
		}
	}
	n.against = newAgainst(s, standing)
	return n
}

// CheckedBy implements framework.NamedLanding.
func (n *Nodes) CheckedBy() string { return Name }

// Place implements framework.Landing: the first other node by name that will do, or else its own one.
func (n *Nodes) Place(pod *v1.Pod, choice framework.Choice) (framework.Place, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	node, err := n.place(pod, choice)
	return framework.Place{Node: node, Open: !choice.Reserved}, err
}

// Book implements framework.Landing.
func (n *Nodes) Book(pod *v1.Pod, node string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.counted[pod.UID] {
		return framework.ErrUnknownPod
	}
	delete(n.counted, pod.UID)
	n.count(pod.Spec.NodeName, requestsOf(pod), -1)
	n.against.leave(pod)
	if node != "" {
		if _, is := n.expects[framework.StandInUID(pod)]; !is {
			n.expect(framework.StandIn(pod, node))
		}
		n.bookings = append(n.bookings, framework.Booking{Pod: pod, Node: node})
	}
	return nil
}

// Expect implements framework.Expecter.
func (n *Nodes) Expect(replacement *v1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, is := n.expects[replacement.UID]; !is {
		n.expect(replacement)
	}
}

// expect counts a replacement on its node.
func (n *Nodes) expect(replacement *v1.Pod) {
	node := replacement.Spec.NodeName
	n.expects[replacement.UID] = node
	n.count(node, requestsOf(replacement), 1)
	n.against.arrive(replacement)
}

// Bookings implements framework.BookingLister.
func (n *Nodes) Bookings() []framework.Booking {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.bookings)
}

func (n *Nodes) place(pod *v1.Pod, choice framework.Choice) (string, error) {
	if !n.counted[pod.UID] && pods.IsBound(pod) && !pods.IsTerminal(pod) {
		return "", framework.ErrUnknownPod
	}
	if node, expected := n.expects[framework.StandInUID(pod)]; expected {
		return node, choice.Accepts(node)
	}
	asked := n.ask(pod)
	var names []string
	for _, node := range n.snapshot.Nodes() {
		if node.Name != pod.Spec.NodeName {
			names = append(names, node.Name)
		}
	}
	refused, unsuited := refusals{}, framework.Refusals{}
	for _, name := range append(names, pod.Spec.NodeName) {
		if err := n.check(asked, name); err != nil {
			refused[err.Error()]++
		} else if unsuited[name] = choice.Accepts(name); unsuited[name] == nil {
			return name, nil
		}
	}
	if len(unsuited) > 0 {
		return "", unsuited.Unsuited()
	}
	return "", refused.error()
}

// refusals count nodes by why a pod cannot go there.
type refusals map[string]int

// reasonsMax is how many reasons an error names.
const reasonsMax = 5

// error names the most frequent reasons.
func (r refusals) error() error {
	type reason struct {
		text  string
		nodes int
	}
	var all []reason
	for text, nodes := range r { // sorted below
		all = append(all, reason{text, nodes})
	}
	if len(all) == 0 {
		return errors.New("there is no other node")
	}
	slices.SortFunc(all, func(a, b reason) int {
		return cmp.Or(cmp.Compare(b.nodes, a.nodes), cmp.Compare(a.text, b.text))
	})
	var texts []string
	for _, a := range all[:min(len(all), reasonsMax)] {
		texts = append(texts, fmt.Sprintf("%d nodes: %s", a.nodes, a.text))
	}
	if more := len(all) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("%d reasons more", more))
	}
	return errors.New(strings.Join(texts, "; "))
}
