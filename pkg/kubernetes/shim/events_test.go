package shim

import (
	"fmt"
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
		time.Sleep(15*time.Second - 1)
		assert.Equal(t, said("web", "no room"), 0)
		time.Sleep(time.Nanosecond)
		assert.Equal(t, said("web", "no room"), 1)
	})
}

// counted counts events.
type counted int

func (c *counted) Record(Event) { *c++ }

// Of what is said at once 4,096 wait, and the rest is dropped; 50 are written in a second.
func TestEventsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written counted
		w := newEventWriter(&written)
		for i := range 5000 {
			w.warn(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i))}}, reasonFailedScheduling, "no room")
		}
		assert.Equal(t, len(w.waiting), 4096)
		assert.Equal(t, int(w.dropped.Load()), 5000-4096)
		go w.run(t.Context())
		synctest.Wait()
		assert.Equal(t, int(written), 50)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		assert.Equal(t, int(written), 200)
	})
}
