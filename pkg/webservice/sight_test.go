package webservice

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// A busyWorld lets whoever wants a view wait until it is told to.
type busyWorld struct {
	*world
	on chan struct{}
}

func (w busyWorld) Glance(name string) (*core.View, error) {
	<-w.on
	return w.world.Glance(name)
}

// TestWaitingForViews takes no place at the desk: others are answered meanwhile. Who
// gets the same view gets the same reply.
func TestWaitingForViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.service(t)
		s.config.Views = busyWorld{w, make(chan struct{})}
		s.desk.places = make(chan struct{}, 1)
		var clients sync.WaitGroup
		read := func(path string, status int) (done *bool) {
			done = new(bool)
			clients.Go(func() {
				assert.Check(t, ask(s.Handler(), http.MethodGet, "/ws/v1/"+path).Code == status, path)
				*done = true
			})
			synctest.Wait()
			return done
		}
		nodes, again, all := read("partition/default/nodes", 200), read("partition/default/nodes", 200), read("partitions", 200)
		assert.Assert(t, !*nodes && !*again && !*all)
		assert.Assert(t, *read("config", 200) && *read("partition/none/nodes", 404) && *read("history/apps", 200))
		close(s.config.Views.(busyWorld).on)
		clients.Wait()
		assert.Assert(t, *nodes && *again && *all)
		assert.Equal(t, len(s.desk.next), 0)
	})
}
