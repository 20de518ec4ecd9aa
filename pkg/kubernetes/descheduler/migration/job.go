package migration

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// Domain is the group of PodMigrationJob, and the prefix of labels and annotations.
const Domain = "descheduler.narwhal-scheduler.io"

// Kind and its names in the API, as in docs/deploy/descheduler/crd.yaml.
const (
	Kind    = "PodMigrationJob"
	Version = "v1alpha1"
)

// Resource is where the API server has jobs. They belong to no namespace.
var Resource = schema.GroupVersionResource{Group: Domain, Version: Version, Resource: "podmigrationjobs"}

// Annotations of jobs and pods.
const (
	// AnnotationPassed is of a job that arbitration has let pass.
	AnnotationPassed = Domain + "/passed-arbitration"
	// AnnotationReason, AnnotationTrigger and AnnotationProfile say why a job was made, by
	// which plugin and in which profile.
	AnnotationReason  = Domain + "/evict-reason"
	AnnotationTrigger = Domain + "/evict-trigger"
	AnnotationProfile = Domain + "/profile"
	// AnnotationInstallation is which installation of the descheduler made a job or let it pass. Others leave it.
	AnnotationInstallation = Domain + "/installation"
	// LabelEvictionPolicy of a job or a pod chooses another way of eviction.
	LabelEvictionPolicy = Domain + "/evict-policy"
	// AnnotationSoftEviction of a pod asks what owns it to end it.
	AnnotationSoftEviction = Domain + "/soft-eviction"
	// AnnotationEvictionCost of a pod is a whole number: less is migrated first, and the
	// largest one of 32 bits, or a larger one, never.
	AnnotationEvictionCost = framework.AnnotationEvictionCost
)

// Mode is how a job begins.
type Mode string

// The modes.
const (
	// ReservationFirst evicts the pod when a place for its replacement is reserved.
	ReservationFirst Mode = "ReservationFirst"
	// EvictDirectly evicts it at once.
	EvictDirectly Mode = "EvictDirectly"
)

// Phase is how far a job is. Succeeded, Failed and Aborted are final.
type Phase string

// The phases.
const (
	Pending   Phase = "Pending"
	Running   Phase = "Running"
	Succeeded Phase = "Succeeded"
	Failed    Phase = "Failed"
	Aborted   Phase = "Aborted" // nothing was evicted
)

// ConditionType is a step of a job.
type ConditionType string

// The conditions, in the order in which they come.
const (
	ReservationCreated   ConditionType = "ReservationCreated"
	Preemption           ConditionType = "Preemption"
	ReservationScheduled ConditionType = "ReservationScheduled"
	GroupReserved        ConditionType = "GroupReserved" // of the job that leads a group
	Eviction             ConditionType = "Eviction"
	ReservationBound     ConditionType = "ReservationBound"
	PodScheduled         ConditionType = "PodScheduled"
	PodBoundReservation  ConditionType = "PodBoundReservation"
	BoundPodReady        ConditionType = "BoundPodReady"
)

// Reason is why a job or a condition is as it is.
type Reason string

// The reasons.
const (
	Timeout                   Reason = "Timeout"
	FailedCreateReservation   Reason = "FailedCreateReservation"
	ReservationExpired        Reason = "ReservationExpired"
	Unschedulable             Reason = "Unschedulable"
	ForbiddenMigratePod       Reason = "ForbiddenMigratePod"
	MissingPod                Reason = "MissingPod"
	MissingReservation        Reason = "MissingReservation"
	Preempting                Reason = "Preempting"
	PreemptComplete           Reason = "PreemptComplete"
	Evicting                  Reason = "Evicting"
	FailedEvict               Reason = "FailedEvict"
	EvictComplete             Reason = "EvictComplete"
	WaitForLimit              Reason = "WaitForLimit"
	WaitForGroup              Reason = "WaitForGroup"
	GroupAborted              Reason = "GroupAborted"
	WaitForPodBindReservation Reason = "WaitForPodBindReservation"
	WaitForBoundPodReady      Reason = "WaitForBoundPodReady"
	Withdrawn                 Reason = "Withdrawn"
)

// Job is a PodMigrationJob: the wish that a pod runs on another node, and how far that is.
// All that is known of a migration is in it and in the pods, so a descheduler that starts
// goes on where another one ended.
type Job struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status"`
}

// Spec is what is wished.
type Spec struct {
	// Paused holds the job where it is. Its time to live does not end it then.
	Paused bool `json:"paused,omitempty"`
	// TTL is the time to live from its creation; 0 or nothing is without end, and one that is
	// negative is over at once.
	TTL *metav1.Duration `json:"ttl,omitempty"`
	// Mode is ReservationFirst if it is empty.
	Mode Mode `json:"mode,omitempty"`
	// PodRef is the pod. Without a UID it is the one that has the name when the job begins.
	PodRef PodRef `json:"podRef"`
	// Group is that of jobs which evict together or not at all; nil: it is alone.
	Group *Group `json:"group,omitempty"`
	// Reservation says how the place is reserved.
	Reservation *ReservationOptions `json:"reservationOptions,omitempty"`
	// DeleteOptions go with the eviction.
	DeleteOptions *metav1.DeleteOptions `json:"deleteOptions,omitempty"`
}

// PodRef names a pod.
type PodRef struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
}

// Group is of so many jobs, all with the same group. None evicts before all have a place, and what ends one before that ends all.
type Group struct {
	// Name is that of one of the jobs, which leads the group.
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// ReservationOptions say how a place is reserved.
type ReservationOptions struct {
	// Ref is a reservation that exists already, in the namespace of the pod. It is not
	// deleted with the job.
	Ref *PodRef `json:"reservationRef,omitempty"`
	// NodeNames are the nodes where the place may be. Empty: any where the pod may run but its own.
	NodeNames []string `json:"nodeNames,omitempty"`
	// Template replaces the pod as the pattern of the reservation.
	Template *v1.PodTemplateSpec `json:"template,omitempty"`
	// Preemption lets the reservation have other pods evicted, if it is there.
	Preemption *PreemptionOptions `json:"preemptionOptions,omitempty"`
}

// PreemptionOptions has no fields yet.
type PreemptionOptions struct{}

// Status is how far a job is.
type Status struct {
	Phase   Phase  `json:"phase,omitempty"`
	Status  string `json:"status,omitempty"` // the latest condition
	Reason  Reason `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// NodeName is where the pod runs, TargetNode where its replacement shall run.
	NodeName   string `json:"nodeName,omitempty"`
	TargetNode string `json:"targetNodeName,omitempty"`
	// PodUID is the pod that is migrated, and Workload its controller.
	PodUID   types.UID    `json:"podUID,omitempty"`
	Workload *WorkloadRef `json:"workload,omitempty"`
	// Reservation is the reservation, and PodRef the pod that got its place.
	Reservation *PodRef     `json:"reservationRef,omitempty"`
	PodRef      *PodRef     `json:"podRef,omitempty"`
	Conditions  []Condition `json:"conditions,omitempty"`
}

// WorkloadRef names a controller.
type WorkloadRef struct {
	Kind string    `json:"kind"`
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
}

// Condition is one step of a job.
type Condition struct {
	Type               ConditionType          `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	Reason             Reason                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime"`
}

// Ended says whether a job is in a final phase.
func (j *Job) Ended() bool {
	return j.Status.Phase == Succeeded || j.Status.Phase == Failed || j.Status.Phase == Aborted
}

// InFlight says whether a job counts in limits: it has passed arbitration and not ended.
func (j *Job) InFlight() bool { return !j.Ended() && j.passed() }

// began is when a job was let begin. One that was not, or of which that is not known, has the time of its creation.
func (j *Job) began() (at time.Time, passed bool) {
	if at, err := time.Parse(time.RFC3339, j.Annotations[AnnotationPassed]); err == nil {
		return at, true
	}
	return j.CreationTimestamp.Time, false
}

func (j *Job) passed() bool {
	return j.Annotations[AnnotationPassed] != "" || j.Status.Phase == Running
}

// mode is the mode with its default, which is the careful one: what is no mode counts as it too.
func (j *Job) mode() Mode {
	if j.Spec.Mode == EvictDirectly {
		return EvictDirectly
	}
	return ReservationFirst
}

// ttl is the time to live; 0 is without end.
func (j *Job) ttl() (d metav1.Duration) {
	if j.Spec.TTL == nil {
		return d
	}
	return *j.Spec.TTL
}

// podUID is the pod that is migrated, as far as it is known.
func (j *Job) podUID() types.UID {
	if j.Status.PodUID != "" {
		return j.Status.PodUID
	}
	return j.Spec.PodRef.UID
}

// is says whether a condition holds.
func (j *Job) is(of ConditionType) bool {
	c := j.condition(of)
	return c != nil && c.Status == metav1.ConditionTrue
}

// condition is a condition of the job, or nil.
func (j *Job) condition(of ConditionType) *Condition {
	for i := range j.Status.Conditions {
		if j.Status.Conditions[i].Type == of {
			return &j.Status.Conditions[i]
		}
	}
	return nil
}

// set puts a condition, and says whether that changed anything. Its time changes with its
// status only.
func (j *Job) set(c Condition) bool {
	j.Status.Status, j.Status.Reason, j.Status.Message = string(c.Type), c.Reason, c.Message
	known := j.condition(c.Type)
	if known == nil {
		j.Status.Conditions = append(j.Status.Conditions, c)
		return true
	}
	if known.Status == c.Status {
		c.LastTransitionTime = known.LastTransitionTime
	}
	if *known == c {
		return false
	}
	*known = c
	return true
}
