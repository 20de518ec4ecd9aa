package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// predicateTime is how long a question takes, as a shim that has to look at other pods needs.
const predicateTime = 20 * time.Microsecond

var (
	errLabel  = errors.New("the label does not match")
	errWaited = errors.New("the ask of the other queue is not placed")
)

// labels refuses the pods of the first application on every node.
func labels(key, _ string) error {
	if strings.HasPrefix(key, "refused") {
		return errLabel
	}
	return nil
}

// refusedAsks has asks wait that are refused wherever they fit, and asks for one pod after the
// other in another queue.
func refusedAsks(r *run) error {
	queues := []queue{{name: "calm"}, {name: "stormy"}}
	r.driver.Refuses = func(key, node string) error {
		for began := time.Now(); time.Since(began) < predicateTime; {
		}
		return labels(key, node)
	}
	err := r.register(queues, nodesOf(r.Size.Nodes, units(int64(r.Size.Waiting))), applicationsOf(2, queues))
	if err != nil {
		return err
	}
	storm := podsOf("refused", r.Size.Waiting, 1, units(1))
	for _, p := range storm {
		p.Application = applicationID(1)
	}
	if err := r.driver.Send(storm...); err != nil {
		return err
	}
	var took []float64
	for i, p := range podsOf("other", r.Size.Rounds, 1, units(1)) {
		ctx, cancel := context.WithTimeoutCause(r.ctx, time.Minute, errWaited)
		began := time.Now()
		if err := r.driver.Send(p); err != nil {
			cancel()
			return err
		}
		at, err := r.driver.AwaitPlaced(ctx, i+1)
		cancel()
		if err != nil {
			return fmt.Errorf("ask %d: %w", i+1, err)
		}
		took = append(took, float64(at.Sub(began).Nanoseconds())/1e6)
	}
	slices.Sort(took)
	r.report("ask of another queue, median", "ms", Lower, took[len(took)/2])
	r.report("ask of another queue, longest", "ms", Lower, took[len(took)-1])
	if waiting := r.driver.Waiting(); waiting != len(storm) {
		r.wrong([]string{fmt.Sprintf("%d of %d asks that are refused everywhere wait", waiting, len(storm))})
	}
	r.wrong(r.driver.Check())
	return nil
}
