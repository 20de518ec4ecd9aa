package pods

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultPlaceholderImage is what placeholders run: a program that waits for its end.
const DefaultPlaceholderImage = "registry.k8s.io/pause:3.10"

// nameMax is the most letters of a name that are taken over into the name of a placeholder.
const nameMax = 20

// PlaceholderName is the name of a placeholder. It depends on nothing else, so that none is made
// twice, whatever is known of those that there are.
func PlaceholderName(application, group string, index int) string {
	hash := sha256.Sum256([]byte(application + "\x00" + group))
	return fmt.Sprintf("tg-%s-%s-%x-%d", plain(application), plain(group), hash[:4], index)
}

// plain is what may stand in the name of a pod.
func plain(name string) string {
	letters := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return strings.Trim(letters[:min(len(letters), nameMax)], "-")
}

// Placeholder is the pod that holds room for a member of a task group. Of it is the pod that
// speaks for the application, and owns the placeholder if nothing else owns both. It says
// again what that pod says of the application, and which task groups those of its gang are.
// It runs as the user of its image, or as the one that the platform sets, and not as root.
func (a Application) Placeholder(group TaskGroup, index int, of *v1.Pod, image string) *v1.Pod {
	labels, annotations := maps.Clone(group.Labels), maps.Clone(group.Annotations)
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	carry(labels, of.Labels, LabelApplicationID, LabelQueue, LabelUser, labelOldApplicationID, labelOldQueue, labelSparkApplication)
	carry(annotations, of.Annotations, LabelApplicationID, LabelQueue, AnnotationUserInfo)
	annotations[AnnotationHolder], annotations[AnnotationTaskGroup] = "true", group.Name
	if annotations[AnnotationPolicy] = a.policy(); annotations[AnnotationPolicy] == "" {
		delete(annotations, AnnotationPolicy)
	}
	delete(annotations, AnnotationTaskGroups)
	annotations[AnnotationGroupsHash], annotations[AnnotationGroupMembers] = a.GroupsHash, strconv.Itoa(int(group.MinMember))
	least := v1.ResourceList{}
	for name, quantity := range group.MinResource {
		least[v1.ResourceName(name)] = quantity
	}
	no, yes := false, true
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: of.Namespace, Name: PlaceholderName(a.ID, group.Name, index), Labels: labels, Annotations: annotations,
			OwnerReferences: ownersWith(of),
		},
		Spec: v1.PodSpec{
			SchedulerName: of.Spec.SchedulerName, PriorityClassName: of.Spec.PriorityClassName, RestartPolicy: v1.RestartPolicyNever,
			NodeSelector: group.NodeSelector, Tolerations: group.Tolerations, Affinity: group.Affinity,
			TopologySpreadConstraints: group.TopologySpreadConstraints, ImagePullSecrets: of.Spec.ImagePullSecrets,
			AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
			SecurityContext: &v1.PodSecurityContext{RunAsNonRoot: &yes, SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault}},
			Containers: []v1.Container{{
				Name: "pause", Image: image, ImagePullPolicy: v1.PullIfNotPresent,
				Resources: v1.ResourceRequirements{Requests: least, Limits: least},
				SecurityContext: &v1.SecurityContext{
					AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, Capabilities: &v1.Capabilities{Drop: []v1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// Remember has an application say of its gang what its placeholders say, which were made for
// other task groups than its own. Where one of its pods says those, they are whole. Else the
// groups are those of which there is a placeholder, which is like the others of its group.
func (a *Application) Remember(all []*v1.Pod) {
	groups := map[string]TaskGroup{}
	for _, pod := range all {
		if !IsPlaceholder(pod) || groups[GroupName(pod)].Name != "" {
			continue
		}
		if len(groups) == 0 {
			a.Timeout, a.Hard = 0, false
			_ = a.readPolicy(pod.Annotations[AnnotationPolicy]) // as it was written by policy
			if a.GroupsHash == pod.Annotations[AnnotationGroupsHash] {
				return
			}
			a.GroupsHash = pod.Annotations[AnnotationGroupsHash]
		}
		groups[GroupName(pod)] = groupOf(pod)
	}
	if len(groups) == 0 {
		return
	}
	for _, pod := range all {
		if text := pod.Annotations[AnnotationTaskGroups]; text != "" && hashOf(text) == a.GroupsHash {
			other := Application{}
			_ = other.readGroups(pod) // that it can be read was seen when the placeholders were made
			a.TaskGroups = other.TaskGroups
			return
		}
	}
	a.TaskGroups = nil
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if group := groups[name]; group.Check() == nil {
			a.TaskGroups = append(a.TaskGroups, group)
		}
	}
}

// groupOf is the task group of a placeholder, as it says itself.
func groupOf(pod *v1.Pod) TaskGroup {
	members, _ := strconv.ParseInt(pod.Annotations[AnnotationGroupMembers], 10, 32) // zero is refused by Check
	least := map[string]resource.Quantity{}
	for _, container := range pod.Spec.Containers {
		for name, quantity := range container.Resources.Requests {
			least[string(name)] = quantity
		}
	}
	return TaskGroup{
		Name: GroupName(pod), MinMember: int32(members), MinResource: least,
		NodeSelector: pod.Spec.NodeSelector, Tolerations: pod.Spec.Tolerations, Affinity: pod.Spec.Affinity,
		TopologySpreadConstraints: pod.Spec.TopologySpreadConstraints, Labels: pod.Labels, Annotations: pod.Annotations,
	}
}

// carry has some names say what they say elsewhere, or nothing.
func carry(into, from map[string]string, names ...string) {
	for _, name := range names {
		delete(into, name)
		if value, there := from[name]; there {
			into[name] = value
		}
	}
}

// ownersWith are what a placeholder belongs to: the owners of a pod, or the pod itself. It ends
// when they do.
func ownersWith(of *v1.Pod) []metav1.OwnerReference {
	no := false
	if len(of.OwnerReferences) == 0 {
		return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: of.Name, UID: of.UID, Controller: &no, BlockOwnerDeletion: &no}}
	}
	owners := make([]metav1.OwnerReference, len(of.OwnerReferences))
	for i, owner := range of.OwnerReferences {
		owner.Controller, owner.BlockOwnerDeletion = &no, &no // the controller would count it as its own
		owners[i] = owner
	}
	return owners
}
