package migration

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// A waitingJob is a job that arbitration looks at, and its pod.
type waitingJob struct {
	*Job
	pod *v1.Pod
}

// sortJobs puts jobs into the order in which they are let pass. Jobs of workloads that have
// more pods under way come first, so that few workloads are disturbed at a time; then jobs
// of one Job stand together; then the least important pod comes first, and the newest job.
func sortJobs(jobs []waitingJob, underWay map[types.UID]int) {
	slices.SortFunc(jobs, leastHarm)
	first := map[types.UID]int{}
	for i, j := range jobs {
		if uid := batchJob(j.pod); uid != "" {
			if _, known := first[uid]; !known {
				first[uid] = i
			}
		}
	}
	place := make(map[types.UID]int, len(jobs)) // by the UID of the migration job
	for i, j := range jobs {
		place[j.UID] = i
		if uid := batchJob(j.pod); uid != "" {
			place[j.UID] = first[uid]
		}
	}
	slices.SortStableFunc(jobs, func(a, b waitingJob) int { return cmp.Compare(place[a.UID], place[b.UID]) })
	slices.SortStableFunc(jobs, func(a, b waitingJob) int {
		return cmp.Compare(underWay[workloadUID(b.pod)], underWay[workloadUID(a.pod)])
	})
}

// leastHarm orders jobs by the harm that the eviction of their pods does.
func leastHarm(a, b waitingJob) int {
	return cmp.Or(
		cmp.Compare(corev1helpers.PodPriority(a.pod), corev1helpers.PodPriority(b.pod)),
		cmp.Compare(classOf(a.pod), classOf(b.pod)),
		cmp.Compare(framework.DeletionCost(a.pod), framework.DeletionCost(b.pod)),
		cmp.Compare(framework.EvictionCost(a.pod), framework.EvictionCost(b.pod)),
		b.pod.CreationTimestamp.Compare(a.pod.CreationTimestamp.Time),
		b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

// classOf is the class of service as a number: the least is evicted first.
func classOf(pod *v1.Pod) int {
	return slices.Index([]v1.PodQOSClass{v1.PodQOSBestEffort, v1.PodQOSBurstable, v1.PodQOSGuaranteed}, qos.GetPodQOS(pod))
}

// batchJob is the Job that a pod belongs to; empty for others.
func batchJob(pod *v1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind == "Job" {
		return owner.UID
	}
	return ""
}

// workloadUID is the controller of a pod; empty if it has none.
func workloadUID(pod *v1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.UID
	}
	return ""
}
