package e2e

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// appLabel is on every pod; its value is what the pod was created as.
const appLabel = "app"

// A Pod says what is special about the pods of a scenario.
type Pod struct {
	CPU, Memory   string            // requests, as Kubernetes writes them; it requests nothing without a CPU
	PriorityClass string            // of PriorityClass, or nothing
	Node          string            // the only node on which it may run, or nothing
	Scheduler     string            // if not the one under test
	NoScheduler   bool              // it names none, which is kube-scheduler
	Annotations   map[string]string // those of package kubelet steer its life
	Labels        map[string]string
	Claims        []string // of volumes
	Devices       string   // the ResourceClaimTemplate of its devices, or nothing
	DeviceClaim   string   // the ResourceClaim of its devices, which others may name too, or nothing
	Group         string   // the PodGroup it belongs to, or nothing

	Spread   []corev1.TopologySpreadConstraint
	Affinity *corev1.Affinity
}

// template is a pod of an application, for a scheduler unless it names another.
func (p Pod) template(app, scheduler string) corev1.PodTemplateSpec {
	if p.Scheduler != "" {
		scheduler = p.Scheduler
	}
	if p.NoScheduler {
		scheduler = ""
	}
	labels := map[string]string{appLabel: app}
	maps.Copy(labels, p.Labels)
	spec := corev1.PodSpec{
		SchedulerName:     scheduler,
		PriorityClassName: p.PriorityClass,
		Containers:        []corev1.Container{{Name: "main", Image: "none"}},

		TopologySpreadConstraints: p.Spread,
		Affinity:                  p.Affinity,
	}
	if p.CPU != "" {
		spec.Containers[0].Resources.Requests = amounts(p.CPU, p.Memory)
	}
	if p.Node != "" {
		spec.NodeSelector = map[string]string{corev1.LabelHostname: p.Node}
	}
	p.claim(&spec)
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: p.Annotations}, Spec: spec}
}

// devicesName is what pods call their claim.
const devicesName = "devices"

// claim adds what the pod needs beside amounts.
func (p Pod) claim(spec *corev1.PodSpec) {
	for _, claim := range p.Claims {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
	if p.Devices != "" || p.DeviceClaim != "" {
		claim := corev1.PodResourceClaim{Name: devicesName}
		if p.Devices != "" {
			claim.ResourceClaimTemplateName = &p.Devices
		} else {
			claim.ResourceClaimName = &p.DeviceClaim
		}
		spec.ResourceClaims = []corev1.PodResourceClaim{claim}
		spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: devicesName}}
	}
	if p.Group != "" {
		spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &p.Group}
	}
}

// amounts panics if a text is no amount: it is written in the scenario.
func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
	}
}

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: app}}
}

func deployment(name string, replicas int32, template corev1.PodTemplateSpec) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector(name), Template: template},
	}
}

func job(name string, completions, parallelism int32, template corev1.PodTemplateSpec) *batchv1.Job {
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       batchv1.JobSpec{Completions: &completions, Parallelism: &parallelism, Template: template},
	}
}

func daemonSet(name string, template corev1.PodTemplateSpec) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.DaemonSetSpec{Selector: selector(name), Template: template},
	}
}

// pod is number i of the bare pods of an application.
func pod(app string, i int, template corev1.PodTemplateSpec) *corev1.Pod {
	object := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	object.Name = fmt.Sprintf("%s-%d", app, i)
	return object
}

func budget(app string, minAvailable int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(minAvailable)),
			Selector:     selector(app),
		},
	}
}

func priorityClass(name string, value int32) *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
}
