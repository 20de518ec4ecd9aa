package migration

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// reservationName is the name of the reservation of a job: the same after a restart, so that
// no second one is made, and another one for a job that was made again.
func reservationName(job *Job) string { return "reservation-" + string(job.UID) }

// reservationOf makes the reservation of a job: a pod that does nothing, asks for what the
// pod asks for, and may run where the pod may run but for its present node, on the nodes that the job
// names. It has no label of
// the pod, so that no workload, service or budget counts it. An annotation tells the labels to
// the filters of the scheduler.
func (c *checks) reservationOf(ctx context.Context, job *Job, pod *v1.Pod) (*v1.Pod, error) {
	pattern := pod
	if o := job.Spec.Reservation; o != nil && o.Template != nil {
		pattern = &v1.Pod{ObjectMeta: o.Template.ObjectMeta, Spec: o.Template.Spec}
		pattern.Namespace, pattern.Name = pod.Namespace, pod.Name
	}
	spec := pattern.Spec.DeepCopy()
	reservation := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: reservationName(job),
			Labels:          map[string]string{pods.LabelReservation: string(job.UID)},
			Annotations:     reservationAnnotations(job, pod, pattern.Labels),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: Domain + "/" + Version, Kind: Kind, Name: job.Name, UID: job.UID, Controller: new(true)}},
		},
		Spec: v1.PodSpec{
			SchedulerName: spec.SchedulerName, PriorityClassName: spec.PriorityClassName, NodeSelector: spec.NodeSelector,
			Affinity: spec.Affinity, Tolerations: spec.Tolerations, TopologySpreadConstraints: spec.TopologySpreadConstraints,
			RestartPolicy: v1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64(1)),
			AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false), OS: spec.OS,
			Containers: []v1.Container{c.container(pattern)},
		},
	}
	if ttl := job.ttl().Duration; ttl > 0 {
		// The place comes free even if no descheduler runs any more.
		reservation.Spec.ActiveDeadlineSeconds = new(min(max(int64(ttl.Seconds()), 1), math.MaxInt32)) // of 32 bits there
	}
	withoutMerged(&reservation.Spec, pattern.Labels)
	terms, err := c.volumeTerms(ctx, pod)
	if err != nil {
		return nil, err
	}
	for _, of := range terms {
		requireAny(&reservation.Spec, of)
	}
	if o := job.Spec.Reservation; o != nil && len(o.NodeNames) > 0 {
		onOneOf(&reservation.Spec, o.NodeNames)
	}
	notOn(&reservation.Spec, pod.Spec.NodeName)
	return reservation, nil
}

// container asks for what all containers of a pod ask for together.
func (c *checks) container(pod *v1.Pod) v1.Container {
	requests := resource.PodRequests(pod, resource.PodResourcesOptions{})
	limits := v1.ResourceList{}
	for name, quantity := range requests {
		if helper.IsExtendedResourceName(name) || helper.IsHugePageResourceName(name) {
			limits[name] = quantity // the API server wants both to be the same
		}
	}
	container := v1.Container{
		Name: "reservation", Image: c.args.ReservationImage,
		Resources: v1.ResourceRequirements{Requests: requests, Limits: limits}, Ports: hostPorts(pod),
	}
	if pod.Spec.OS == nil || pod.Spec.OS.Name != v1.Windows {
		container.SecurityContext = &v1.SecurityContext{
			AllowPrivilegeEscalation: new(false), RunAsNonRoot: new(true), RunAsUser: new(int64(65535)),
			Capabilities:   &v1.Capabilities{Drop: []v1.Capability{"ALL"}},
			SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault},
		}
	}
	return container
}

// hostPorts are the ports of its node that a pod needs, those of side-cars included. Each is
// there once: a side-car and a container may name the same, and one container may not twice.
func hostPorts(pod *v1.Pod) []v1.ContainerPort {
	var ports []v1.ContainerPort
	for _, p := range schedutil.GetHostPorts(pod) {
		p.Name = ""
		if !slices.ContainsFunc(ports, func(q v1.ContainerPort) bool {
			return q.HostPort == p.HostPort && q.Protocol == p.Protocol && q.HostIP == p.HostIP
		}) {
			ports = append(ports, p)
		}
	}
	return ports
}

// reservationAnnotations say for which pod a reservation is, with which labels filters see it,
// and have it counted in the application and queue of the pod.
func reservationAnnotations(job *Job, pod *v1.Pod, labels map[string]string) map[string]string {
	of := pods.ReservedFor{Pod: pod.UID}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner != nil {
		of.Owner = owner.UID
	}
	if owner == nil || owner.Kind == "StatefulSet" {
		of.Name = pod.Name
	}
	app, _ := pods.Rules{}.ApplicationOf(pod, nil) // what cannot be read is left out, as for the pod
	annotations := map[string]string{
		pods.AnnotationReservedFor: of.Text(), pods.LabelApplicationID: app.ID, pods.LabelQueue: app.Queue,
	}
	if seen, err := json.Marshal(labels); err == nil {
		annotations[pods.AnnotationReservedLabels] = string(seen)
	}
	if app.User != "" {
		user, err := json.Marshal(map[string]any{"user": app.User, "groups": app.Groups})
		if err == nil {
			annotations[pods.AnnotationUserInfo] = string(user)
		}
	}
	if app.Queue == "" {
		delete(annotations, pods.LabelQueue)
	}
	if o := job.Spec.Reservation; o != nil && o.Preemption != nil {
		annotations[pods.AnnotationReservationPreempts] = "true"
	}
	return annotations
}

// withoutMerged replaces the label keys of spread constraints by the values of the pod, and
// drops those of affinity, which the API server has put into selectors already. The
// reservation has none of the labels.
func withoutMerged(spec *v1.PodSpec, labels map[string]string) {
	for i := range spec.TopologySpreadConstraints {
		t := &spec.TopologySpreadConstraints[i]
		for _, key := range t.MatchLabelKeys {
			value, ok := labels[key]
			if !ok || t.LabelSelector == nil || slices.ContainsFunc(t.LabelSelector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return r.Key == key }) {
				continue
			}
			t.LabelSelector.MatchExpressions = append(t.LabelSelector.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}})
		}
		t.MatchLabelKeys = nil
	}
	if spec.Affinity == nil {
		return
	}
	var required []v1.PodAffinityTerm
	var preferred []v1.WeightedPodAffinityTerm
	if a := spec.Affinity.PodAffinity; a != nil {
		required, preferred = a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution
	}
	dropKeys(required, preferred)
	required, preferred = nil, nil
	if a := spec.Affinity.PodAntiAffinity; a != nil {
		required, preferred = a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution
	}
	dropKeys(required, preferred)
}

func dropKeys(required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) {
	for i := range required {
		required[i].MatchLabelKeys, required[i].MismatchLabelKeys = nil, nil
	}
	for i := range preferred {
		preferred[i].PodAffinityTerm.MatchLabelKeys, preferred[i].PodAffinityTerm.MismatchLabelKeys = nil, nil
	}
}
