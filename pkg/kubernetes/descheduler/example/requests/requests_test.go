package requests_test

import (
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/example/requests"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

type handle struct {
	framework.Handle
	client kubernetes.Interface
}

func (h handle) ClientSet() kubernetes.Interface { return h.client }

// TestEvictorOutOfTree: an Evictor of the design is a plugin at filter and evict.
func TestEvictorOutOfTree(t *testing.T) {
	fixed, movable := ft.Pod("a/fixed", "n", ""), ft.Pod("a/movable", "n", "", ft.Labelled(requests.Movable+"=true"))
	gone := ft.Pod("a/gone", "n", "", ft.Labelled(requests.Movable+"=true"))
	client := fake.NewClientset(fixed, movable)
	d := requests.Definition()
	assert.Assert(t, d.Works(framework.Filter) && d.Works(framework.Evict))
	built, err := d.New(t.Context(), nil, handle{client: client})
	assert.NilError(t, err)

	filter, evict := built.(framework.FilterPlugin), built.(framework.EvictPlugin)
	assert.NilError(t, filter.Filter(movable))
	assert.Error(t, filter.Filter(fixed), "the evictor does not let it go")
	assert.NilError(t, evict.EvictPod(t.Context(), movable, framework.EvictOptions{Reason: "its node is full"}))
	asked, err := client.CoreV1().Pods("a").Get(t.Context(), "movable", metav1.GetOptions{})
	assert.NilError(t, err)
	assert.Equal(t, asked.Annotations[requests.Asked], "its node is full")
	err = evict.EvictPod(t.Context(), gone, framework.EvictOptions{})
	assert.ErrorContains(t, err, "RequestMove: the evictor did not evict it")
	assert.Equal(t, framework.StopAfter(err), framework.StopPod)
}
