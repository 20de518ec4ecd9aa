package plugins_test

import (
	"errors"
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
)

// A countingHandle counts questions to the landing.
type countingHandle struct {
	*ft.Handle
	places int
}

func (h *countingHandle) Landing() framework.Landing { return countingLanding{h.Handle.Landing(), h} }

type countingLanding struct {
	framework.Landing
	handle *countingHandle
}

func (l countingLanding) Place(pod *v1.Pod, choice framework.Choice) (framework.Place, error) {
	l.handle.places++
	return l.Landing.Place(pod, choice)
}

func TestLikePodsAreAskedOnce(t *testing.T) {
	volume := func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{Name: "token-" + p.Name, VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}}}
		p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "token-" + p.Name}}
		p.Labels["apps.kubernetes.io/pod-index"] = p.Name
	}
	claim := func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: p.Name}}}}
	}
	refuse := func(string) error { return errors.New("no") }
	for name, c := range map[string]struct {
		edit func(*v1.Pod)
		want int
	}{
		"alike but for names": {volume, 1},
		"other labels":        {func(p *v1.Pod) { p.Labels["x"] = p.Name }, 20},
		"other annotations":   {func(p *v1.Pod) { p.Annotations["x"] = p.Name }, 20},
		"other requests":      {func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests = ft.Amounts("memory=" + p.Name[1:] + "Mi") }, 20},
		"other workloads":     {func(p *v1.Pod) { p.OwnerReferences[0].Name = p.Name }, 20},
		"claims":              {claim, 20},
	} {
		t.Run(name, func(t *testing.T) {
			o := framework.Objects{Nodes: []*v1.Node{ft.Node("n1", "", ""), ft.Node("n2", "", "")}}
			for i := range 20 {
				o.Pods = append(o.Pods, ft.Pod(fmt.Sprintf("a/p%d", i+1), "n1", "cpu=100m", ft.Owned("ReplicaSet/x"), c.edit))
			}
			h := &countingHandle{Handle: ft.NewHandle(t, o, ft.Options{})}
			run := eviction.Start(t.Context(), h, "Test")
			for _, pod := range o.Pods {
				assert.Assert(t, !run.Move(pod, "because", refuse))
			}
			assert.Equal(t, h.places, c.want)
			if name != "alike but for names" {
				return
			}
			// Each eviction changes where the others would go.
			for _, pod := range o.Pods {
				run.Move(pod, "because", func(string) error { return nil })
			}
			moved := len(h.Evictions())
			assert.Equal(t, moved, 10)
			assert.Equal(t, h.places, 2+moved) // and once for those that cannot move
		})
	}
}
