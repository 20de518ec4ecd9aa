package nodefit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/constraints"
)

// Why a node takes no pod, whatever else is there.
var (
	errNoNode   = errors.New("it is not there")
	errCordoned = errors.New("it is cordoned")
	errLabels   = errors.New("the pod does not accept its labels")
	errTaints   = errors.New("the pod does not tolerate its taints")
)

// requestsOf is what a pod takes of a node, itself as one pod included.
func requestsOf(pod *v1.Pod) v1.ResourceList {
	requests := resource.PodRequests(pod, resource.PodResourcesOptions{})
	requests[v1.ResourcePods] = *apiresource.NewQuantity(1, apiresource.DecimalSI)
	return requests
}

// count adds requests to what is used on a node, or with sign below zero takes them off.
func (n *Nodes) count(node string, requests v1.ResourceList, sign int) {
	used := n.used[node]
	if used == nil {
		used = make(v1.ResourceList, len(requests))
		n.used[node] = used
	}
	for name, q := range requests { // each into a sum of its own
		sum := used[name]
		if sign < 0 {
			sum.Sub(q)
		} else {
			sum.Add(q)
		}
		used[name] = sum
	}
}

// An ask is a pod with what is the same of it for every node.
type ask struct {
	*v1.Pod
	requests v1.ResourceList
	terms    []fwk.AffinityTerm // its required anti-affinity
	unclear  error              // why that cannot be read
	labels   labels.Set         // of its namespace
}

func (n *Nodes) ask(pod *v1.Pod) *ask {
	a := &ask{Pod: pod, requests: requestsOf(pod), labels: n.snapshot.NamespaceLabels(pod.Namespace)}
	a.terms, a.unclear = termsOf(pod)
	return a
}

// check returns nil where a pod fits on a node beside all that stands there.
func (n *Nodes) check(pod *ask, name string) error {
	node := n.snapshot.Node(name)
	switch {
	case node == nil:
		return errNoNode
	case node.Spec.Unschedulable:
		return errCordoned
	case !constraints.LabelsAllow(pod.Pod, node):
		return errLabels
	case !constraints.TaintsAllow(pod.Pod, node):
		return errTaints
	}
	if err := n.room(pod, node); err != nil {
		return err
	}
	return n.against.check(pod, node)
}

// room returns which requests of a pod are more than is left on a node. The pod itself counts
// as gone from there.
func (n *Nodes) room(pod *ask, node *v1.Node) error {
	own := pod.Spec.NodeName == node.Name && n.counted[pod.UID]
	var short []string
	for kind, q := range pod.requests { // sorted below
		if q.Sign() <= 0 {
			continue
		}
		left := node.Status.Allocatable[kind].DeepCopy()
		left.Sub(n.used[node.Name][kind])
		if !own {
			left.Sub(q)
		}
		if left.Sign() < 0 {
			short = append(short, string(kind))
		}
	}
	if len(short) == 0 {
		return nil
	}
	slices.Sort(short)
	return fmt.Errorf("it has too little %s left", strings.Join(short, ", "))
}
