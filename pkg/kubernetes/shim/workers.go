package shim

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// slowAfter is how long one pod keeps a worker. What takes longer goes on beside the workers,
// so that pods which a webhook or a volume holds up hold up no others.
const slowAfter = time.Second

// serve takes what is in a queue, one after the other, until the queue is shut down.
func serve[T comparable](c *Context, queue workqueue.TypedInterface[T], do func(T)) {
	for {
		next, over := queue.Get()
		if over {
			return
		}
		finished := make(chan struct{})
		c.run(func() {
			do(next)
			queue.Done(next)
			close(finished)
		})
		slow := time.NewTimer(slowAfter)
		select {
		case <-finished:
		case <-slow.C:
		}
		slow.Stop()
	}
}

// work is serve for a queue in which what returns an error is tried again.
func work(c *Context, queue workqueue.TypedRateLimitingInterface[string], do func(key string) error) {
	serve(c, queue, func(key string) {
		if err := do(key); err != nil {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
	})
}

// newQueue is a queue of keys in which what fails is tried again later and later.
func newQueue(o Options) workqueue.TypedRateLimitingInterface[string] {
	return workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](o.RetryDelay, o.RetryMax))
}

// Turns are a queue in which namespaces take turns, so that thousands of pods of one hold up
// those of another by one pod each time. It is a workqueue.Queue.
type turns struct {
	lines map[string][]*binding // by namespace; none is empty
	order []string              // the namespaces of lines, the next one first
	count int
}

func newTurns() *workqueue.Typed[*binding] {
	return workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[*binding]{Queue: &turns{lines: map[string][]*binding{}}})
}

// Touch does nothing: a binding is put once.
func (q *turns) Touch(*binding) {}

// Len is how many wait.
func (q *turns) Len() int { return q.count }

// Push puts a binding at the end of the line of its namespace.
func (q *turns) Push(x *binding) {
	name := x.pod.Namespace
	if len(q.lines[name]) == 0 {
		q.order = append(q.order, name)
	}
	q.lines[name] = append(q.lines[name], x)
	q.count++
}

// Pop takes the first binding of the namespace whose turn it is. There is one.
func (q *turns) Pop() *binding {
	name := q.order[0]
	q.order = q.order[1:]
	line := q.lines[name]
	first := line[0]
	line[0] = nil
	if line = line[1:]; len(line) > 0 {
		q.lines[name] = line
		q.order = append(q.order, name)
	} else {
		delete(q.lines, name)
	}
	q.count--
	return first
}
