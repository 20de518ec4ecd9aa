package feasibility

import (
	"iter"
	"sync"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// Several pods may name one claim of devices. It is allocated with the first of them, for the nodes that reach its devices, and the others
// may run on these alone. Where a pod group has the claim, it is kept for the group, and not for each pod.

// podGroups are those that were set, by namespace/name, as far as plugins look at them.
type podGroups map[string]*schedulingv1beta1.PodGroup

// Get implements fwk.PodGroupLister. A group that is not known has no claims.
func (g podGroups) Get(namespace, name string) (*schedulingv1beta1.PodGroup, error) {
	if group := g[namespace+"/"+name]; group != nil {
		return group, nil
	}
	return &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, nil
}

// SetPodGroup takes a group of pods in place of what was known of it: claims that are its own are reserved for it, not for its pods.
func (c *Checker) SetPodGroup(group pods.PodGroup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cluster.groups[group.Namespace+"/"+group.Name] = &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: group.Namespace, Name: group.Name, UID: group.UID},
		Spec:       schedulingv1beta1.PodGroupSpec{ResourceClaims: group.ResourceClaims},
	}
}

// RemovePodGroup forgets a group.
func (c *Checker) RemovePodGroup(namespace, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.cluster.groups, namespace+"/"+name)
}

// A start is pods that are being bound together and share claims: what one of them was given before the API server knows it counts for
// the others.
type start struct {
	key  string
	of   fwk.PodGroupCycleState // where the plugin keeps what they share
	pods int

	writes  sync.Mutex // held by one of them while it writes claims to the API server
	written bool       // by one, or it tried to: what the others have reserved may have changed; guarded by writes
}

// name is the key of a start; empty for no start.
func (s *start) name() string {
	if s == nil {
		return ""
	}
	return s.key
}

// sharesWith is equal for pods that share claims while they are being bound: those of a pod group, and others whose first claim that was not
// made for them is the same. It is empty for a pod that has no such claim.
func (d *deviceViews) sharesWith(pod *v1.Pod) string {
	for claim := range d.sharedClaims(pod) {
		if group := pods.PodGroupOf(pod); group != "" {
			return "group " + pod.Namespace + "/" + group
		}
		return "claim " + pod.Namespace + "/" + claim.Name
	}
	return ""
}

// sharedClaims visits the claims that a pod names and that were not made for it.
func (d *deviceViews) sharedClaims(pod *v1.Pod) iter.Seq[*resourcev1.ResourceClaim] {
	return func(yield func(*resourcev1.ResourceClaim) bool) {
		for claim := range d.claimsAsTheyAre(pod) {
			if !metav1.IsControlledBy(claim, pod) && !yield(claim) {
				return
			}
		}
	}
}

// enter has a pod be one of a start, until leave; nil if it shares nothing.
func (c *Checker) enter(pod *v1.Pod) *start {
	if c.views == nil {
		return nil
	}
	key := c.views.sharesWith(pod)
	if key == "" {
		return nil
	}
	c.reserved.Lock()
	defer c.reserved.Unlock()
	if c.starts[key] == nil {
		c.starts[key] = &start{key: key, of: framework.NewCycleState()}
	}
	c.starts[key].pods++
	return c.starts[key]
}

// leave ends what enter began: the pod is ready to be bound, or nothing is reserved for it.
func (c *Checker) leave(s *start) {
	if s == nil {
		return
	}
	c.reserved.Lock()
	defer c.reserved.Unlock()
	if s.pods--; s.pods == 0 {
		delete(c.starts, s.key)
	}
}
