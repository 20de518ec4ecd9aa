package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/driver"
)

// errUnused says that the core left room unused for too long.
var errUnused = errors.New("room that came free is not used")

// full fills all nodes, has more asks wait than fit, and then ends one pod after the other.
func full(r *run) error {
	const perNode = 10
	queues := queuesOf(1)
	err := r.register(queues, nodesOf(r.Size.Nodes, units(perNode)), applicationsOf(1, queues))
	if err != nil {
		return err
	}
	room := r.Size.Nodes * perNode
	running := podsOf("pod", room, 1, units(1))
	if err := r.driver.Send(running...); err != nil {
		return err
	}
	if _, err := r.driver.AwaitPlaced(r.ctx, room); err != nil {
		return err
	}
	if err := r.driver.Send(podsOf("waiting", r.Size.Waiting, 1, units(1))...); err != nil {
		return err
	}
	if _, err := r.driver.AwaitQuiet(r.ctx, r.Size.Watch); err != nil {
		return err
	}
	from := driver.Used()
	if _, err := r.driver.AwaitQuiet(r.ctx, r.Size.Watch); err != nil {
		return err
	}
	to := driver.Used()
	r.report("processor while idle", "ms/s", Lower, float64((to.Processor-from.Processor).Microseconds())/1e3/to.Wall.Sub(from.Wall).Seconds())
	var took []float64
	for i := range r.Size.Rounds {
		began := time.Now()
		if err := r.driver.Release(running[i]); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeoutCause(r.ctx, 20*time.Second, errUnused)
		at, err := r.driver.AwaitPlaced(ctx, room+i+1)
		cancel()
		if err != nil {
			return fmt.Errorf("round %d: %w", i+1, err)
		}
		took = append(took, float64(at.Sub(began).Nanoseconds())/1e3)
	}
	slices.Sort(took)
	r.report("room used again, median", "µs", Lower, took[len(took)/2])
	r.report("room used again, longest", "µs", Lower, took[len(took)-1])
	r.wrong(r.driver.CheckNothingFits())
	return nil
}
