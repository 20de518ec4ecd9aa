package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	scheduling "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// A world is a cluster and a policy.
type world struct {
	o    framework.Objects
	s    settings
	core bool // the scheduler's core says where pods fit; else package nodefit
}

// copy copies what a run or a test changes.
func (w world) copy() world {
	c := w
	c.o = framework.Objects{}
	for _, n := range w.o.Nodes {
		c.o.Nodes = append(c.o.Nodes, n.DeepCopy())
	}
	for _, p := range w.o.Pods {
		c.o.Pods = append(c.o.Pods, p.DeepCopy())
	}
	for _, b := range w.o.Budgets {
		c.o.Budgets = append(c.o.Budgets, b.DeepCopy())
	}
	c.o.Namespaces = slices.Clone(w.o.Namespaces)
	c.o.PriorityClasses, c.o.Claims = slices.Clone(w.o.PriorityClasses), slices.Clone(w.o.Claims)
	c.s.Profiles = slices.Clone(w.s.Profiles)
	for i, p := range c.s.Profiles {
		c.s.Profiles[i].Plugins = slices.Clone(p.Plugins)
	}
	return c
}

// shuffle changes the order of the objects, of which nothing may depend.
func (w *world) shuffle(r *rand.Rand) {
	o := &w.o
	r.Shuffle(len(o.Nodes), func(i, j int) { o.Nodes[i], o.Nodes[j] = o.Nodes[j], o.Nodes[i] })
	r.Shuffle(len(o.Pods), func(i, j int) { o.Pods[i], o.Pods[j] = o.Pods[j], o.Pods[i] })
	r.Shuffle(len(o.Budgets), func(i, j int) { o.Budgets[i], o.Budgets[j] = o.Budgets[j], o.Budgets[i] })
	r.Shuffle(len(o.Namespaces), func(i, j int) { o.Namespaces[i], o.Namespaces[j] = o.Namespaces[j], o.Namespaces[i] })
}

var claimNamespaces, claimClasses = []string{"a", "b", "c"}, []string{"fast", "slow"}

// claims are those of all namespaces and storage classes. They are the same in all worlds, so
// that one API server will do.
func claims() (of []*v1.PersistentVolumeClaim) {
	for _, ns := range claimNamespaces {
		for _, class := range claimClasses {
			of = append(of, &v1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: ns, Name: class, UID: types.UID("pvc" + ns + "-" + class),
					Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"},
				},
				Spec: v1.PersistentVolumeClaimSpec{
					StorageClassName: &class, VolumeName: ns + "-" + class,
					AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteMany},
					Resources:   v1.VolumeResourceRequirements{Requests: oneGi()},
				},
				Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteMany}},
			})
		}
	}
	return of
}

// volumes are those of the claims.
func volumes() (of []*v1.PersistentVolume) {
	for _, c := range claims() {
		of = append(of, &v1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: c.Spec.VolumeName},
			Spec: v1.PersistentVolumeSpec{
				StorageClassName: c.Name, AccessModes: c.Spec.AccessModes, Capacity: oneGi(),
				ClaimRef:               &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID},
				PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: c.Spec.VolumeName}},
			},
			Status: v1.PersistentVolumeStatus{Phase: v1.VolumeBound},
		})
	}
	return of
}

func oneGi() v1.ResourceList {
	return v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
}

func namespaces() (of []*v1.Namespace) {
	for name, team := range map[string]string{"a": "x", "b": "y", "c": "x"} {
		labels := map[string]string{"team": team, "kubernetes.io/metadata.name": name}
		of = append(of, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	return of
}

func classes() []*scheduling.PriorityClass {
	return []*scheduling.PriorityClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "mid"}, Value: 100},
		{ObjectMeta: metav1.ObjectMeta{Name: "top"}, Value: 1000},
	}
}

// String is the world in a line for each object.
func (w world) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "core %v\n%s\n", w.core, compact(w.s.text()))
	for _, n := range w.o.Nodes {
		fmt.Fprintf(&b, "node %s %s %s allocatable %s ready %s\n",
			n.Name, short(n.Labels), short(n.Spec), short(n.Status.Allocatable), n.Status.Conditions[0].Status)
	}
	for _, p := range w.o.Pods {
		fmt.Fprintf(&b, "pod %s on %q of %s labels %s annotations %s ending %v spec %s status %s\n",
			id(p), p.Spec.NodeName, workload(p), short(p.Labels), short(p.Annotations), p.DeletionTimestamp != nil, short(p.Spec), short(p.Status))
	}
	for _, p := range w.o.Budgets {
		fmt.Fprintf(&b, "budget %s generation %d spec %s status %s\n", p.Name, p.Generation, short(p.Spec), short(p.Status))
	}
	return b.String()
}

var shorter = strings.NewReplacer(`"`, "", "DuringSchedulingIgnoredDuringExecution", "",
	"lastProbeTime:null,", "", `,lastState:{},ready:false`, "", `,image:,imageID:`, "")

func short(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return shorter.Replace(string(text))
}

// compact is a text of JSON in one line.
func compact(text string) string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		panic(err)
	}
	return b.String()
}
