package preferences

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// holding is a node with images of 500 MB.
func holding(name string, images ...string) *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, image := range images {
		node.Status.Images = append(node.Status.Images, v1.ContainerImage{Names: []string{image, "sha256:" + image}, SizeBytes: 500 << 20})
	}
	return node
}

func running(images ...string) *v1.Pod {
	pod := &v1.Pod{}
	for _, image := range images {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Image: image})
	}
	return pod
}

// A pod goes where its image is. Where all nodes have it, or none has, the order of nodes decides.
func TestPodsGoToTheirImages(t *testing.T) {
	s, err := New(informers.NewSharedInformerFactory(fake.NewClientset(), 0), Options{})
	assert.NilError(t, err)
	nodes := []string{"n0", "n1", "n2"}
	best := func() []string {
		return s.Best(running("web"), func(yield func(string, int64) bool) {
			for _, name := range nodes {
				if !yield(name, 0) {
					return
				}
			}
		}, 1)
	}
	for _, step := range []struct {
		set  *v1.Node
		want []string
	}{
		{holding("n0"), nil},
		{holding("n1"), nil},
		{holding("n2", "web:latest"), []string{"n2"}},
		{holding("n1", "web:latest", "db:1"), []string{"n1"}},
		{holding("n0", "web:latest"), nil},
		{holding("n1", "db:1"), []string{"n0"}},
		{holding("n0", "db:1"), []string{"n2"}},
		{holding("n2"), nil},
	} {
		s.SetNode(step.set)
		assert.DeepEqual(t, best(), step.want)
	}
	s.SetNode(holding("n2", "web:latest"))
	s.RemoveNode("n2")
	assert.DeepEqual(t, best(), []string(nil))
	assert.Equal(t, len(s.images.byName), 2) // db:1 by both of its names
}

// What a node says again takes no memory. Another image of it lets the points of a class be, and one of the class does not.
func TestImagesThatStayCostNothing(t *testing.T) {
	s, err := New(informers.NewSharedInformerFactory(fake.NewClientset(), 0), Options{})
	assert.NilError(t, err)
	var names []string
	for i := range 50 {
		names = append(names, fmt.Sprint("registry.example/team/app:", i))
	}
	for i := range 10 {
		s.SetNode(holding(fmt.Sprint("n", i), names[i:40]...))
	}
	again := holding("n1", names[1:40]...)
	assert.Equal(t, testing.AllocsPerRun(100, func() { s.SetNode(again) }), 0.0)

	c := s.classOf(running(names[20]))
	const mark = -7 // as long as it is there, the points were not worked out
	c.images.points[0] = mark
	s.SetNode(holding("n1", names[2:45]...))
	assert.Equal(t, s.classOf(running(names[20])).images.points[0], int64(mark))
	s.SetNode(holding("n1", names[21:45]...))
	assert.Assert(t, s.classOf(running(names[20])) == c)
	assert.Equal(t, c.images.points[0], int64(43)) // 450 of 1,000 MB, both without 23
}
