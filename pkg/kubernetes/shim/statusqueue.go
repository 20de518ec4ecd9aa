package shim

import (
	"context"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
)

// A statusQueue is the pods whose status is to be written, those first that are urgent. It gives out so many in a
// second.
type statusQueue struct {
	workqueue.TypedRateLimitingInterface[string] // keys of pods
	ctx                                          context.Context
	pace                                         flowcontrol.RateLimiter
}

// newStatusQueue makes one; urgent says whether a pod comes before others when it is added.
func newStatusQueue(ctx context.Context, o Options, urgent func(key string) bool) statusQueue {
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Queue: &urgentFirst{is: urgent, waiting: map[string]bool{}}})
	return statusQueue{
		TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](o.RetryDelay, o.RetryMax),
			workqueue.TypedRateLimitingQueueConfig[string]{
				DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Queue: queue}),
			}),
		ctx:  ctx,
		pace: flowcontrol.NewTokenBucketRateLimiter(float32(o.StatusesPerSecond), o.StatusesPerSecond),
	}
}

// Get takes the next pod when its turn has come.
func (q statusQueue) Get() (key string, over bool) {
	_ = q.pace.Wait(q.ctx) // it fails at the end only, and then the queue is over
	return q.TypedRateLimitingInterface.Get()
}

// urgentFirst are two lines of keys, of which the urgent ones go first. It is a workqueue.Queue.
type urgentFirst struct {
	is      func(key string) bool
	urgent  []string
	others  []string
	waiting map[string]bool // the others that have not become urgent
}

// Touch moves a key forward that has become urgent.
func (q *urgentFirst) Touch(key string) {
	if q.waiting[key] && q.is(key) {
		delete(q.waiting, key)
		q.urgent = append(q.urgent, key)
	}
}

// Len is how many wait.
func (q *urgentFirst) Len() int { return len(q.urgent) + len(q.waiting) }

// Push puts a key at the end of its line.
func (q *urgentFirst) Push(key string) {
	if q.is(key) {
		q.urgent = append(q.urgent, key)
		return
	}
	q.others = append(q.others, key)
	q.waiting[key] = true
}

// Pop takes the next key. There is one.
func (q *urgentFirst) Pop() (key string) {
	if len(q.urgent) > 0 {
		key, q.urgent = q.urgent[0], q.urgent[1:]
		return key
	}
	for !q.waiting[key] {
		key, q.others = q.others[0], q.others[1:]
	}
	delete(q.waiting, key)
	return key
}
