package shim

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// However much changes within a second, a pod that waits for volumes is sent once, and no other
// pod is.
func TestWakingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallback(t)
		for i := range 10 {
			pod := ourPod("")
			pod.Name, pod.UID = fmt.Sprint("web-", i), types.UID(fmt.Sprint("web-", i))
			if i > 0 {
				pod.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{PersistentVolumeClaim: new(v1.PersistentVolumeClaimVolumeSource)}}}
			}
			c.AddPod(pod)
		}
		c.sent()
		c.run(c.waker.run)
		before := c.waker.classOf(c.tasks["web-1"].pod)
		for range 10_000 {
			c.waker.note()
		}
		time.Sleep(time.Minute)
		assert.Equal(t, len(c.sent()), 9)
		assert.Assert(t, c.waker.classOf(c.tasks["web-1"].pod) != before)
		time.Sleep(time.Minute)
		assert.Equal(t, len(c.sent()), 0)
		c.Stop(t.Context())
	})
}
