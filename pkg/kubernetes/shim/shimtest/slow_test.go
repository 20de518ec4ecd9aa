package shimtest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// A webhook, or a volume, holds up each pod of one team for half a minute. There are ten
// times as many of them as there are workers. Pods of another team are bound within seconds
// all the same, and pods of the same team after those that came before them.
func TestSlowPodsHoldUpNoOthers(t *testing.T) {
	for _, volumes := range []bool{false, true} {
		t.Run(fmt.Sprintf("volumes %t", volumes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := shimtest.NewFeasibility()
				f.OnPreBind = func(pod *v1.Pod, _ string) error {
					if strings.HasPrefix(pod.Name, "slow") {
						time.Sleep(30 * time.Second)
						return errors.New("the webhook did not answer")
					}
					return nil
				}
				m := shimtest.New(t, shimtest.Options{Shim: shim.Options{Feasibility: f}})
				m.Create(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, shimtest.NewNode("node-1", "cpu=10k pods=10k"))
				m.Start()
				for i := range 640 {
					m.Put(teamPod(fmt.Sprintf("slow-%d", i), volumes, "team"))
				}
				m.Advance(time.Second / 2)
				m.Create(teamPod("team-mate", volumes, "team"))
				m.Create(teamPod("other", volumes, metav1.NamespaceDefault))
				m.Advance(2 * time.Second)
				assert.DeepEqual(t, m.API.Bindings(), []string{"other node-1"})
				m.Advance(20 * time.Second) // 641 pods, 32 workers, a second each
				assert.DeepEqual(t, m.API.Bindings(), []string{"other node-1", "team-mate node-1"})
			})
		})
	}
}

// teamPod is a pod of a namespace, with an application of its own, and perhaps with a volume.
func teamPod(name string, volume bool, namespace string) *v1.Pod {
	pod := shimtest.NewPod(name, "cpu=1", shimtest.Application("of-"+namespace))
	pod.Namespace, pod.CreationTimestamp = namespace, metav1.Now()
	if volume {
		pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}
	}
	return pod
}
