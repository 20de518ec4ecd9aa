package shim

import (
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"gotest.tools/v3/assert"
)

// requests is a core that counts the allocations of each request.
type requests struct {
	api.SchedulerAPI
	sizes []int
}

func (r *requests) UpdateAllocation(request *si.AllocationRequest) error {
	r.sizes = append(r.sizes, len(request.Allocations))
	return nil
}

// Messages that belong together become one request, although the core takes what waits as soon as it can.
func TestMessagesTogetherAreOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var core requests
		s := newSender(&core, "", zap.NewNop())
		go s.run(t.Context())
		put := func() {
			s.put(message{allocation: &si.Allocation{}})
			synctest.Wait() // the sender has done what it can
		}
		put()
		s.together(func() {
			put()
			put()
			put()
		})
		synctest.Wait()
		put()
		assert.DeepEqual(t, core.sizes, []int{1, 3, 1})
	})
}
