package shim

import (
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The same is said of a pod once in a while. Something else, or of another pod, is said at once.
func TestEventsAreNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEventWriter(clientEvents{}) // it is not run, so nothing is recorded
		said := func(name, note string) int {
			before := len(w.waiting)
			w.warn(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(name)}}, reasonFailedScheduling, note)
			return len(w.waiting) - before
		}
		assert.Equal(t, said("web", "no room"), 1)
		assert.Equal(t, said("web", "no room"), 0)
		assert.Equal(t, said("web", "no quota"), 1)
		assert.Equal(t, said("db", "no room"), 1)
		time.Sleep(eventPause - 1)
		assert.Equal(t, said("web", "no room"), 0)
		time.Sleep(time.Nanosecond)
		assert.Equal(t, said("web", "no room"), 1)
	})
}
