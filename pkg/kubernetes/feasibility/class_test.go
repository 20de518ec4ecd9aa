package feasibility

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unread are the fields that Class leaves out because no filter reads them. A field that
// is in neither list is new: find out which filters read it.
var unread = map[reflect.Type][]string{
	reflect.TypeFor[v1.PodSpec](): {
		"EphemeralContainers", "RestartPolicy", "TerminationGracePeriodSeconds", "ActiveDeadlineSeconds", "DNSPolicy",
		"ServiceAccountName", "DeprecatedServiceAccount", "AutomountServiceAccountToken", "HostPID", "HostIPC",
		"ShareProcessNamespace", "SecurityContext", "ImagePullSecrets", "Hostname", "Subdomain", "SchedulerName",
		"HostAliases", "PriorityClassName", "Priority", "DNSConfig", "ReadinessGates", "RuntimeClassName",
		"EnableServiceLinks", "PreemptionPolicy", "SetHostnameAsFQDN", "OS", "SchedulingGates", "HostnameOverride", "EvictionResponders",
	},
	reflect.TypeFor[v1.Container](): {
		"Name", "Image", "Command", "Args", "WorkingDir", "EnvFrom", "Env", "ResizePolicy", "VolumeMounts",
		"VolumeDevices", "LivenessProbe", "ReadinessProbe", "StartupProbe", "Lifecycle", "TerminationMessagePath",
		"TerminationMessagePolicy", "ImagePullPolicy", "SecurityContext", "Stdin", "StdinOnce", "TTY",
	},
	reflect.TypeFor[v1.ContainerPort](): {"Name", "ContainerPort"},
	reflect.TypeFor[metav1.ObjectMeta](): {
		"Name", "GenerateName", "SelfLink", "UID", "ResourceVersion", "Generation", "CreationTimestamp",
		"DeletionTimestamp", "DeletionGracePeriodSeconds", "Annotations", "Finalizers", "ManagedFields",
	},
	// Of a pod that waits; those that run count by their resources, too.
	reflect.TypeFor[v1.PodStatus](): {
		"ObservedGeneration", "Phase", "Conditions", "Message", "Reason", "NominatedNodeName", "HostIP", "HostIPs",
		"PodIP", "PodIPs", "StartTime", "InitContainerStatuses", "ContainerStatuses", "QOSClass",
		"EphemeralContainerStatuses", "Resize", "AllocatedResources", "Resources", "VolumeHealth",
	},
}

var read = map[reflect.Type][]string{
	reflect.TypeFor[v1.PodSpec](): {
		"Volumes", "InitContainers", "Containers", "NodeSelector", "NodeName", "HostNetwork", "Affinity", "Tolerations",
		"Overhead", "TopologySpreadConstraints", "HostUsers", "ResourceClaims", "Resources", "SchedulingGroup",
	},
	reflect.TypeFor[v1.Container]():      {"Ports", "Resources", "RestartPolicy", "RestartPolicyRules"},
	reflect.TypeFor[v1.ContainerPort]():  {"HostPort", "Protocol", "HostIP"},
	reflect.TypeFor[metav1.ObjectMeta](): {"Namespace", "Labels", "OwnerReferences"},
	reflect.TypeFor[v1.PodStatus]():      {"ResourceClaimStatuses", "ExtendedResourceClaimStatus", "NodeAllocatableResourceClaimStatuses"},
}

// TestClassCoversFields fails when a version of Kubernetes gives pods a new field.
func TestClassCoversFields(t *testing.T) {
	for kind, left := range unread {
		for field := range kind.Fields() {
			if slices.Contains(left, field.Name) == slices.Contains(read[kind], field.Name) {
				t.Errorf("%s.%s is in none or both of the lists of fields that filters read and do not read", kind, field.Name)
			}
		}
		if kind.NumField() != len(left)+len(read[kind]) {
			t.Errorf("%s has %d fields, listed are %d", kind, kind.NumField(), len(left)+len(read[kind]))
		}
	}
}

// differences are edits each of which a filter may see, and so makes another class.
func differences() map[string]func(*v1.Pod) {
	return map[string]func(*v1.Pod){
		"namespace":     inNamespace("other"),
		"label":         labelled("app", "b"),
		"node":          placedOn("n1"),
		"selector":      selecting("disk", "ssd"),
		"affinity":      near("app", "a", v1.LabelHostname),
		"anti-affinity": apart("app", "a", v1.LabelHostname),
		"node affinity": onNodes(named("n1")),
		"toleration":    tolerating("k"),
		"spread":        spread("app", "a", v1.LabelHostname),
		"requests":      requests("cpu=1"),
		"limits":        func(p *v1.Pod) { p.Spec.Containers[0].Resources.Limits = amounts("cpu=1") },
		"pod requests":  func(p *v1.Pod) { p.Spec.Resources = &v1.ResourceRequirements{Requests: amounts("cpu=1")} },
		"overhead":      func(p *v1.Pod) { p.Spec.Overhead = amounts("cpu=1") },
		"host port":     hostPorts(80),
		"disk":          disk("d"),
		"side-car": func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{{RestartPolicy: new(v1.ContainerRestartPolicyAlways)}}
		},
		"init container": func(p *v1.Pod) { p.Spec.InitContainers = []v1.Container{{}} },
		"host network":   func(p *v1.Pod) { p.Spec.HostNetwork = true },
		"host users":     func(p *v1.Pod) { p.Spec.HostUsers = new(false) },
		"restart rules": func(p *v1.Pod) {
			p.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers}}
		},
		"group":                func(p *v1.Pod) { p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: new("g")} },
		"no number":            func(p *v1.Pod) { delete(p.Labels, batchv1.JobCompletionIndexAnnotation) },
		"affinity to a number": near(batchv1.JobCompletionIndexAnnotation, "0", v1.LabelHostname),
		"spread of a number":   spread(batchv1.JobCompletionIndexAnnotation, "0", v1.LabelHostname),
		"owner": func(p *v1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "r", Controller: new(true)}}
		},
	}
}

// sames are edits that no filter sees.
func sames() []func(*v1.Pod) {
	return []func(*v1.Pod){
		func(p *v1.Pod) { p.Name += "-again"; p.UID += "-again" },
		func(p *v1.Pod) { p.Annotations = map[string]string{"a": "b"} },
		func(p *v1.Pod) { p.Spec.Priority = new(int32(7)) },
		func(p *v1.Pod) { p.Spec.Containers[0].Image = "other" },
		func(p *v1.Pod) { p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "INDEX", Value: "7"}} },
		func(p *v1.Pod) { p.Spec.Containers[0].Args = []string{"--index=7"} },
		func(p *v1.Pod) {
			p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{
				Name: "kube-api-access-x7f3q", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}},
			}, v1.Volume{Name: "s", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "s-7"}}})
		},
		numbered("7"), // which no selector names
		func(p *v1.Pod) { p.Spec.ServiceAccountName = "robot"; p.Spec.Hostname = "h-7" },
		func(p *v1.Pod) {
			p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse}}
		},
	}
}

func TestClassTellsPodsApart(t *testing.T) {
	c, _ := newChecker(t, Options{})
	seen := map[string]string{c.Class(aPod("x", labelled("app", "a"), numbered("0"))): "none"}
	for name, edit := range differences() {
		class := c.Class(aPod("x", labelled("app", "a"), numbered("0"), edit))
		if other, known := seen[class]; known || class == "" {
			t.Errorf("%s: the class is %q, as with %s", name, class, other)
		}
		seen[class] = name
	}
	plain := c.Class(aPod("x", numbered("0")))
	for i, edit := range sames() {
		if class := c.Class(aPod("x", numbered("0"), edit)); class != plain || len(class) == 0 || len(class) > 1024 {
			t.Errorf("edit %d, which no filter sees, makes class %q of %q", i, class, plain)
		}
	}
	ephemeral := func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}}}
	}
	for i, edit := range []func(*v1.Pod){claiming("c"), usingCard("c"), ephemeral} {
		if class := c.Class(aPod("x", edit)); class != "" {
			t.Errorf("pod %d with claims of its own has class %q", i, class)
		}
	}
}

// TestEqualClassEqualAnswers makes random pods in random clusters. Those of one class
// must get the same answers, and those made from one pod by edits that no filter sees
// must be of one class.
func TestEqualClassEqualAnswers(t *testing.T) {
	pairs, made := 0, 0
	for seed := range uint64(10) {
		c, _ := newChecker(t, Options{Workers: 1})
		h := newHistory(seed + 200)
		for range 80 {
			h.step(c)
		}
		edits := differences()
		for name := range edits { // after which the number of the pod makes a class
			if strings.HasSuffix(name, "number") {
				delete(edits, name)
			}
		}
		names := make([]string, 0, len(edits))
		for name := range edits {
			names = append(names, name)
		}
		slices.Sort(names)
		answers := make(map[string][]string)
		for range 300 {
			pod := aPod(fmt.Sprintf("x%d", made), labelled("app", h.app()), numbered("0"))
			made++
			for range h.IntN(3) {
				edits[names[h.IntN(len(names))]](pod)
			}
			class := c.Class(pod)
			for range h.IntN(4) {
				sames()[h.IntN(len(sames()))](pod)
			}
			if again := c.Class(pod); again != class {
				t.Fatalf("pod %s was of class %s and is of %s after edits that no filter sees", pod.Name, class, again)
			}
			got := texts(c.CheckNodes(pod, twinNodes))
			want, known := answers[class]
			if known && !slices.Equal(got, want) {
				t.Fatalf("seed %d, pod %s: %q, but another of its class got %q", seed, pod.Name, got, want)
			}
			if known {
				pairs++
			}
			answers[class] = got
		}
	}
	if pairs < made/10 {
		t.Errorf("%d pods, but only %d were like one before", made, pairs)
	}
	t.Logf("%d pods, %d like one before", made, pairs)
}
