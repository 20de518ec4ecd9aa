package shim

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// The core asks about a pod after it has ended. Of ten times goneMax the last ones are known, and no
// more than twice that are remembered.
func TestTiesOfPodsThatEnded(t *testing.T) {
	w := newWaitingTies()
	pod := func(name string) *v1.Pod {
		p := ourPod("")
		p.Name, p.UID, p.Labels = name, types.UID(name), map[string]string{"app": "web"}
		return p
	}
	waiting := pod("waiting")
	waiting.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}}
	w.wait(waiting, "spread")
	ended := make([]*v1.Pod, 10*goneMax)
	for i := range ended {
		ended[i] = pod(fmt.Sprint("ended-", i))
		w.end(ended[i])
		assert.Assert(t, len(w.gone) <= 2*goneMax)
	}
	for i := range ended {
		switch got := w.to(pods.Key(ended[i]), nil); {
		case i >= len(ended)-goneMax:
			assert.DeepEqual(t, got, []string{"spread"})
		case i < len(ended)-2*goneMax:
			assert.Equal(t, len(got), 0, "it is forgotten")
		}
	}
	w.end(waiting)
	assert.Equal(t, len(w.classes)+len(w.of)+w.tied, 0)
}
