package pods

import (
	"strconv"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
)

// Tags of allocations that the scheduler core documents and the scheduler-interface has no
// constants for.
const (
	tagQoS    = "qosClass"
	tagGrace  = "terminationGracePeriodSeconds"
	tagOptOut = common.DomainYuniKorn + "allow-preemption"

	// TagRequired is the node of a pod of a daemonset.
	TagRequired = common.DomainYuniKorn + common.KeyRequiredNode
	// TagOwner marks, with "true", a pod that owns others. Its owner references do not say
	// so: those of the others do.
	TagOwner = "owner"
	// TagNominated is the node that a pod was nominated to before a restart. It is read in
	// the first message about an ask only.
	TagNominated = "nominatedNodeName"
	// TagQuorum and TagQuorumLeast say of how many asks some must start together.
	TagQuorum      = "quorum.name"
	TagQuorumLeast = "quorum.least"
	// TagQuorumPriority and the next four say more about all members of the group: their priority, whether others are evicted
	// for them, what ends together, and the labels of which they run in one value, or in few.
	TagQuorumPriority = "quorum.priority"
	TagQuorumPreempts = "quorum.preempts"
	TagQuorumUnit     = "quorum.unit"
	TagQuorumRequire  = "quorum.require"
	TagQuorumPrefer   = "quorum.prefer"
	// TagQuorumBalanced marks a group whose pods are evenly divided where they run in several values of a label.
	TagQuorumBalanced = "quorum.balanced"
	// TagQuorumEach is the label of which the pods of each subgroup run in one value, after a comma that of the part of it that one is in, and so on.
	// TagQuorumSplit says that they run in few where none has room for all, and TagQuorumSubgroup which subgroup one is in.
	TagQuorumEach     = "quorum.each"
	TagQuorumSplit    = "quorum.each.split"
	TagQuorumSubgroup = "quorum.subgroup"
	// TagQuorumSubgroupLeast is how many pods of its subgroup start together; the group counts subgroups then.
	TagQuorumSubgroupLeast = "quorum.subgroup.least"
	// TagQuorumEndBelow is after how many seconds below its minimum what runs of a group ends.
	TagQuorumEndBelow = "quorum.endbelow"
	// TagQuorumIndex is the completion index of a pod of a job, and TagQuorumDone marks one that has succeeded.
	TagQuorumIndex = "quorum.index"
	TagQuorumDone  = "quorum.done"
	// UnitAll is the unit of a group that ends as a whole.
	UnitAll = "all"
	// Succeeded is the message of a release by which a pod counts in its quorum still.
	Succeeded = "succeeded"
	// TagTerminating is when an allocation began to end, in seconds since 1970.
	TagTerminating = "terminating"
)

// CreateTagsForTask is what a pod says beside its amounts, as tags: its name, labels and
// age for people and rules, and what preemption looks at. A pod of another scheduler says
// whether it is static, which the design of foreign pods calls a hard skip.
func CreateTagsForTask(pod *v1.Pod, foreign bool) map[string]string {
	tags := map[string]string{
		common.DomainK8s + common.GroupMeta + common.KeyNamespace: pod.Namespace,
		common.DomainK8s + common.GroupMeta + common.KeyPodName:   pod.Name,
		common.CreationTime: strconv.FormatInt(pod.CreationTimestamp.Unix(), 10),
		tagQoS:              string(qos.GetPodQOS(pod)),
	}
	for name, value := range pod.Labels {
		tags[common.DomainK8s+common.GroupLabel+name] = value
	}
	if optOut, ok := pod.Annotations[tagOptOut]; ok {
		tags[tagOptOut] = optOut
	}
	if grace := graceOf(pod); grace != nil {
		tags[tagGrace] = strconv.FormatInt(*grace, 10)
	}
	if since, ok := terminatingSince(pod); ok {
		tags[TagTerminating] = strconv.FormatInt(since.Unix(), 10)
	}
	if foreign {
		tags[common.Foreign] = common.AllocTypeDefault
		if IsStatic(pod) {
			tags[common.Foreign] = common.AllocTypeStatic
		}
		return tags
	}
	if node := RequiredNode(pod); node != "" {
		tags[TagRequired] = node
	}
	if needs := NodeSelector(pod); needs != "" {
		tags[TagNodeSelector] = needs
	}
	if node := pod.Status.NominatedNodeName; node != "" && !IsBound(pod) {
		tags[TagNominated] = node
	}
	return tags
}

// graceOf is how many seconds a pod may take to end. Its deletion may have given it another time
// than its own.
func graceOf(pod *v1.Pod) *int64 {
	if pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil {
		return pod.DeletionGracePeriodSeconds
	}
	return pod.Spec.TerminationGracePeriodSeconds
}

// terminatingSince is when a pod began to end. Kubernetes states when its grace period
// ends.
func terminatingSince(pod *v1.Pod) (time.Time, bool) {
	if pod.DeletionTimestamp == nil {
		return time.Time{}, false
	}
	since := pod.DeletionTimestamp.Time
	if grace := pod.DeletionGracePeriodSeconds; grace != nil {
		since = since.Add(-time.Duration(*grace) * time.Second)
	}
	return since, true
}
