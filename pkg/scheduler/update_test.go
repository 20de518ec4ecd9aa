package scheduler

import (
	"testing"

	siapi "github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// Where the partition goes while a request is read, it is read again: for the new partition of a resource manager that
// registers again, for none once its partition is out of the configuration, and not at all when the scheduler stops.
func TestARequestIsReadAgain(t *testing.T) {
	s, err := New(Config{})
	assert.NilError(t, err)
	register := func(config string) {
		_, err := s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: config}, struct{ siapi.ResourceManagerCallback }{})
		assert.NilError(t, err)
	}
	send := func(meanwhile func()) (read int, err error) {
		err = s.update("rm", func(c *conversion) {
			if read++; read == 1 {
				meanwhile()
			}
			to, err := c.partition("default")
			if err == nil {
				c.add(to, api.RemoveNode{ID: "none"})
			}
		})
		return read, err
	}
	for _, c := range []struct {
		name      string
		meanwhile func()
		read      int
		err       error
	}{
		{"nothing happens", func() {}, 1, nil},
		{"registers again", func() { register("") }, 2, nil},
		{"another partition", func() { register("partitions: [{name: gpu, queues: [{name: root}]}]") }, 2, nil},
		{"stops", s.Stop, 1, ErrStopped},
	} {
		register("")
		read, err := send(c.meanwhile)
		assert.Equal(t, read, c.read, c.name)
		assert.ErrorIs(t, err, c.err, c.name)
	}
}
