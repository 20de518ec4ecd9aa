package feasibility

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// Class names what filters look at in a pod: pods of equal class get equal answers on
// every node at every moment. The name is empty if the pod is like no other, since it
// uses volumes or devices that are its own, also by an extended resource.
//
// It is a hash over
//
//   - namespace and labels, which selectors of other pods match, without the numbers of pods of
//     one controller (podlabels.Numbers) that no selector names
//   - the kind and name of the controller, from which default spread constraints follow
//   - node selector, affinity, tolerations, spread constraints
//   - what containers and the pod request, and the overhead; limits, since a request
//     that is not given is taken from them
//   - host ports, and what a node must declare it can do (user namespaces on the host's
//     network, restart rules)
//   - volumes that are attached, by their content
//   - the group in which the pod is scheduled, and the node if it names one
//   - what plugins that are none of kube-scheduler's say of it; if one that filters says nothing, the pod is like no other
//   - how often labels of namespaces changed, by which terms of affinity select: after that
//     the same pod is in another class, so that what was answered before is asked again
//
// Other fields, such as images, commands, environment, names and priorities, are read by
// no filter. TestClassCoversFields lists every field of a pod and says which it is, so
// that a new version of Kubernetes with new fields does not go unnoticed.
func (c *Checker) Class(pod *v1.Pod) string {
	c.Learn(pod)
	if hasClaims(pod) || requestsAny(pod, c.servedByDevices) || len(pod.Status.ResourceClaimStatuses) > 0 ||
		pod.Status.ExtendedResourceClaimStatus != nil || len(pod.Status.NodeAllocatableResourceClaimStatuses) > 0 {
		return ""
	}
	signature, ok := c.outOfTree.Sign(pods.ForFilters(pod))
	if !ok {
		return ""
	}
	traits := c.traitsOf(pods.ForFilters(pod))
	traits.Signature = signature
	text, err := json.Marshal(traits)
	if err != nil {
		return "" // a quantity that cannot be written: like no other
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// podTraits is what filters look at in a pod. As JSON, maps are in order.
type podTraits struct {
	Namespace   string
	Labels      map[string]string
	Left        []string // the names of labels that are left out
	Owner       string
	Node        string
	Selector    map[string]string
	Affinity    *v1.Affinity
	Tolerations []v1.Toleration
	Spread      []v1.TopologySpreadConstraint
	Init        []containerTraits
	Containers  []containerTraits
	Requests    *v1.ResourceRequirements
	Overhead    v1.ResourceList
	HostNetwork bool
	HostUsers   *bool
	Volumes     []v1.VolumeSource
	Group       *v1.PodSchedulingGroup
	Relabelled  uint64
	Signature   string `json:",omitempty"`
}

// containerTraits is what filters look at in a container.
type containerTraits struct {
	Resources v1.ResourceRequirements
	Ports     []hostPort
	Restart   *v1.ContainerRestartPolicy
	Rules     []v1.ContainerRestartRule
}

type hostPort struct {
	Port     int32
	Protocol v1.Protocol
	IP       string
}

func (c *Checker) traitsOf(pod *v1.Pod) *podTraits {
	spec := &pod.Spec
	traits := &podTraits{
		Namespace:   pod.Namespace,
		Node:        spec.NodeName,
		Selector:    spec.NodeSelector,
		Affinity:    spec.Affinity,
		Tolerations: spec.Tolerations,
		Spread:      spec.TopologySpreadConstraints,
		Init:        containersOf(spec.InitContainers),
		Containers:  containersOf(spec.Containers),
		Requests:    spec.Resources,
		Overhead:    spec.Overhead,
		HostNetwork: spec.HostNetwork,
		HostUsers:   spec.HostUsers,
		Volumes:     attachedOf(spec.Volumes),
		Group:       spec.SchedulingGroup,
		Relabelled:  c.relabelled.Load(),
	}
	traits.Labels, traits.Left = c.labelsOf(pod)
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		traits.Owner = owner.APIVersion + " " + owner.Kind + " " + owner.Name
	}
	return traits
}

func containersOf(containers []v1.Container) []containerTraits {
	all := make([]containerTraits, len(containers))
	for i := range containers {
		container := &containers[i]
		all[i] = containerTraits{
			Resources: container.Resources,
			Restart:   container.RestartPolicy,
			Rules:     container.RestartPolicyRules,
		}
		for _, port := range container.Ports {
			if port.HostPort > 0 {
				all[i].Ports = append(all[i].Ports, hostPort{port.HostPort, port.Protocol, port.HostIP})
			}
		}
	}
	return all
}

// attachedOf is the volumes but those that every node can make by itself. Those often
// have names of their own in each pod.
func attachedOf(volumes []v1.Volume) []v1.VolumeSource {
	var attached []v1.VolumeSource
	for i := range volumes {
		source := &volumes[i].VolumeSource
		local := source.EmptyDir != nil || source.ConfigMap != nil || source.Secret != nil ||
			source.DownwardAPI != nil || source.Projected != nil || source.HostPath != nil ||
			source.Image != nil
		if !local {
			attached = append(attached, *source)
		}
	}
	return attached
}
