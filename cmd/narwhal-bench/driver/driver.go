package driver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

// ID is the name of the resource manager.
const ID = "rm"

// Amounts is what a pod asks for or a node has: thousandths of a core, bytes, and
// thousandths of a GPU.
type Amounts struct{ Vcore, Memory, GPU int64 }

// A Pod is what a core is asked to place, or told of.
type Pod struct {
	Key, Application string
	Wants            Amounts
	Priority         int32
	Node             string // where it runs already
	Required         string // the only node where it may run
	Foreign          bool   // placed by another scheduler, on Node
	Aged             bool   // is sent as if it had been created an hour ago
	OptedOut         bool   // asks not to be preempted
	Owner            bool   // others of its application depend on it
}

// A Node is a machine.
type Node struct {
	ID  string
	Has Amounts
}

// A Driver is a resource manager. Fields are set before Register. Its methods may be called
// from any goroutine.
type Driver struct {
	core api.SchedulerAPI

	// Refuses says why a pod may not run on a node; nil refuses nothing. It may be called
	// by several goroutines at once.
	Refuses func(key, node string) error

	resources map[Amounts]*si.Resource // shared by requests
	nodes     map[string]Node
	pods      map[string]*Pod

	mu           sync.Mutex
	log          []entry
	accepted     counter // nodes
	applications counter
	placed       counter
	victims      counter
	heard        time.Time // when the last answer about a pod came
}

// New makes a driver of a core.
func New(core api.SchedulerAPI) *Driver {
	return &Driver{core: core, resources: map[Amounts]*si.Resource{}, nodes: map[string]Node{}, pods: map[string]*Pod{}}
}

// A counter counts answers, and says when there are enough.
type counter struct {
	n, goal int
	reached chan struct{} // nil while nothing waits
	at      time.Time     // when the goal was reached
}

func (c *counter) add(n int) {
	c.n += n
	if c.reached != nil && c.n >= c.goal {
		c.at = time.Now()
		close(c.reached)
		c.reached = nil
	}
}

// await returns when the counter has come to the goal, and when that was.
func (d *Driver) await(ctx context.Context, c *counter, goal int, what string) (time.Time, error) {
	d.mu.Lock()
	if c.n >= goal {
		d.mu.Unlock()
		return time.Now(), nil
	}
	reached := make(chan struct{})
	c.goal, c.reached = goal, reached
	d.mu.Unlock()
	select {
	case <-reached:
		return c.at, nil
	case <-ctx.Done():
		d.mu.Lock()
		defer d.mu.Unlock()
		return time.Time{}, fmt.Errorf("%d of %d %s: %w", c.n, goal, what, context.Cause(ctx))
	}
}

// AwaitPlaced returns when so many pods have been placed since the beginning, and when that was.
// Pods of this scheduler that run already count when the core has echoed them.
func (d *Driver) AwaitPlaced(ctx context.Context, pods int) (time.Time, error) {
	return d.await(ctx, &d.placed, pods, "pods are placed")
}

// AwaitQuiet returns when nothing was heard of pods for a time, and when the last was heard.
func (d *Driver) AwaitQuiet(ctx context.Context, quiet time.Duration) (time.Time, error) {
	began := time.Now()
	for {
		d.mu.Lock()
		last := d.heard
		d.mu.Unlock()
		if last.Before(began) {
			last = began
		}
		left := quiet - time.Since(last)
		if left <= 0 {
			return last, nil
		}
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("pods are still placed: %w", context.Cause(ctx))
		}
	}
}

// Placed is how many pods have been placed or echoed so far.
func (d *Driver) Placed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.placed.n
}

// Victims is how many releases the core has started so far.
func (d *Driver) Victims() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.victims.n
}
