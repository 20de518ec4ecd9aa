package feasibility

import (
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// newChecker is a Checker on a fake API server with some objects, synced.
func newChecker(t testing.TB, o Options, objects ...runtime.Object) (*Checker, *fake.Clientset) {
	t.Helper()
	return newCheckerOf(t, o, &metav1.APIResourceList{GroupVersion: resourcev1.SchemeGroupVersion.String()}, objects...)
}

// newCheckerOf is newChecker with an API server that serves one group beside what all of them serve.
func newCheckerOf(t testing.TB, o Options, serves *metav1.APIResourceList, objects ...runtime.Object) (*Checker, *fake.Clientset) {
	t.Helper()
	client := fake.NewClientset(objects...)
	client.Resources = append(client.Resources, serves)
	factory := informers.NewSharedInformerFactory(client, 0)
	c, err := New(t.Context(), client, factory, o)
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown) // the context of the test has ended by then
	if err := c.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, client
}

// aNode makes a node of zone, with eight processors, 32Gi and room for 110 pods. Labels
// are key=value.
func aNode(name, zone string, labels ...string) *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		v1.LabelHostname:     name,
		v1.LabelTopologyZone: zone,
	}}}
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		node.Labels[key] = value
	}
	node.Status.Allocatable = amounts("cpu=8 memory=32Gi pods=110")
	return node
}

// amounts reads "cpu=1 memory=1Gi".
func amounts(text string) v1.ResourceList {
	list := v1.ResourceList{}
	for field := range strings.FieldsSeq(text) {
		name, quantity, _ := strings.Cut(field, "=")
		list[v1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return list
}

// aPod makes a pod of one container, in namespace "team", with edits.
func aPod(name string, edits ...func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "team", UID: types.UID("uid-" + name), Labels: map[string]string{},
		},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "image"}}},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func requests(text string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.Containers[0].Resources.Requests = amounts(text) }
}

func placedOn(node string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.NodeName = node }
}

func labelled(key, value string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Labels[key] = value }
}

func inNamespace(name string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Namespace = name }
}

func hostPorts(ports ...int32) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		for _, port := range ports {
			pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports,
				v1.ContainerPort{HostPort: port, ContainerPort: port, Protocol: v1.ProtocolTCP})
		}
	}
}

func selecting(key, value string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{key: value} }
}

func tolerating(key string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists})
	}
}

func affinityOf(pod *v1.Pod) *v1.Affinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &v1.Affinity{}
	}
	return pod.Spec.Affinity
}

func term(key, value, topology string) []v1.PodAffinityTerm {
	return []v1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
		TopologyKey:   topology,
	}}
}

func near(key, value, topology string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		affinityOf(pod).PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(key, value, topology)}
	}
}

func apart(key, value, topology string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		affinityOf(pod).PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(key, value, topology)}
	}
}

func onNodes(terms ...v1.NodeSelectorTerm) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		affinityOf(pod).NodeAffinity = &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms},
		}
	}
}

// named is the term by which daemonset pods are bound to their node.
func named(node string) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{
		{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{node}},
	}}
}

func spread(key, value, topology string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: topology, WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
		})
	}
}

func claiming(claim string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{
			Name: "data-" + strconv.Itoa(len(pod.Spec.Volumes)),
			VolumeSource: v1.VolumeSource{
				PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
			},
		})
	}
}

func namespaceOf(name string, labels map[string]string) *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// boundClaim is a claim that has its volume.
func boundClaim(namespace, name string, mode v1.PersistentVolumeAccessMode) *v1.PersistentVolumeClaim {
	class := ""
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + "-" + name),
			Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"},
		},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{mode}, StorageClassName: &class,
			VolumeName: "pv-" + namespace + "-" + name,
			Resources:  v1.VolumeResourceRequirements{Requests: amounts("storage=1Gi")},
		},
		Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound},
	}
}

// boundVolume is the volume of such a claim.
func boundVolume(claim *v1.PersistentVolumeClaim) *v1.PersistentVolume {
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName},
		Spec: v1.PersistentVolumeSpec{
			AccessModes: claim.Spec.AccessModes, Capacity: amounts("storage=1Gi"),
			ClaimRef: &v1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeBound},
	}
}
