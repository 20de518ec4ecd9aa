package preferences

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// BenchmarkBest places the pods of a hundred deployments one after the other on nodes of three zones: the choice, and
// what is counted then. With images, each is on a third of the nodes, and comes to one more with every tenth pod.
func BenchmarkBest(b *testing.B) {
	for _, size := range []int{1000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d/images", size), func(b *testing.B) {
			d := newDeployments(b, size)
			for i := range d.nodes {
				d.pull(i, i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				d.place(i)
				if i%10 == 0 {
					d.pull(i/10%size, i/10%size+1+i/10/size)
				}
			}
		})
		b.Run(fmt.Sprint("nodes=", size), func(b *testing.B) {
			d := newDeployments(b, size)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				d.place(i)
			}
		})
	}
}

// deployments are pods of many ReplicaSets.
type deployments struct {
	t      testing.TB
	scorer *Scorer
	nodes  []string
}

func newDeployments(t testing.TB, nodes int) *deployments {
	t.Helper()
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	s, err := New(factory, Options{})
	assert.NilError(t, err)
	d := &deployments{t: t, scorer: s}
	for i := range nodes {
		name := fmt.Sprintf("node-%04d", i)
		d.nodes = append(d.nodes, name)
		s.SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			v1.LabelHostname: name, v1.LabelTopologyZone: fmt.Sprint("zone-", i%3),
		}}})
	}
	for i := range deploymentsMade {
		object := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: spaceOf(i), Name: fmt.Sprint("app-", i)}}
		object.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint("app-", i)}}
		assert.NilError(t, factory.Apps().V1().ReplicaSets().Informer().GetIndexer().Add(object))
	}
	return d
}

const deploymentsMade = 100

func spaceOf(i int) string { return fmt.Sprint("team-", i%10) }

// pod is the next pod of one of the deployments in turn.
func (d *deployments) pod(i int) *v1.Pod {
	app := fmt.Sprint("app-", i%deploymentsMade)
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: spaceOf(i % deploymentsMade), Name: fmt.Sprint("pod-", i), UID: types.UID(fmt.Sprint(i)), Labels: map[string]string{"app": app},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, Controller: new(true)}},
	}, Spec: v1.PodSpec{Containers: []v1.Container{{Image: imageOf(i)}}}}
}

// pull has a node say that it has the images of a third of the deployments, from one of them on.
func (d *deployments) pull(node, from int) {
	d.scorer.mu.Lock()
	n := *d.scorer.nodes[node]
	d.scorer.mu.Unlock()
	n.Status.Images = nil
	for i := range deploymentsMade / 3 {
		name := imageOf(from + i)
		n.Status.Images = append(n.Status.Images, v1.ContainerImage{Names: []string{name, "sha256:" + name}, SizeBytes: 400 << 20})
	}
	d.scorer.SetNode(&n)
}

func imageOf(i int) string { return fmt.Sprintf("registry.example/team/app-%d:1", i%deploymentsMade) }

// place places one.
func (d *deployments) place(i int) string {
	pod := d.pod(i)
	best := d.scorer.Best(pod, func(yield func(string, int64) bool) {
		for i, name := range d.nodes {
			if !yield(name, int64(100*i/len(d.nodes))) {
				return
			}
		}
	}, 1)
	d.scorer.PlacePod(pod, best[0])
	return best[0]
}
