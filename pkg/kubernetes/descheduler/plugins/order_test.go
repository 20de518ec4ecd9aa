package plugins_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/order"
)

func TestOrder(t *testing.T) {
	guaranteed := func(p *v1.Pod) {
		p.Spec.Containers[0].Resources.Limits = ft.Amounts("cpu=1 memory=1Gi")
		p.Spec.Containers[0].Resources.Requests = ft.Amounts("cpu=1 memory=1Gi")
	}
	want := []*v1.Pod{
		ft.Pod("a/none", "n", "", ft.Aged(time.Hour)),
		ft.Pod("a/low", "n", "", ft.Priority(-5)),
		ft.Pod("a/zero", "n", "", ft.Priority(0)),
		ft.Pod("a/young", "n", "cpu=1", ft.Priority(0), ft.Aged(time.Minute)),
		ft.Pod("a/burst", "n", "cpu=1", ft.Priority(0)),
		ft.Pod("a/named", "n", "", guaranteed, ft.Priority(0)),
		ft.Pod("b/named", "n", "", guaranteed, ft.Priority(0)),
		ft.Pod("a/high", "n", "", ft.Priority(9)),
		ft.Pod("a/stays", "n", "", ft.Annotated(order.PreferNoEviction)),
		ft.Pod("a/stays-high", "n", "", ft.Annotated(order.PreferNoEviction), ft.Priority(1)),
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		pods := slices.Clone(want)
		random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		slices.SortFunc(pods, order.Compare)
		for i := range pods {
			assert.Equal(t, pods[i].Name, want[i].Name)
		}
	}
}

// Of two different pods exactly one is less, also of two that differ in nothing but
// their names: what upstream compares is not an order there.
func TestLessIsATotalOrder(t *testing.T) {
	p, err := order.Definition().New(t.Context(), nil, nil)
	assert.NilError(t, err)
	sort := p.(framework.SortPlugin)
	a, b := ft.Pod("a/p", "n", ""), ft.Pod("a/q", "n", "")
	assert.Assert(t, sort.Less(a, b) && !sort.Less(b, a) && !sort.Less(a, a))
}
