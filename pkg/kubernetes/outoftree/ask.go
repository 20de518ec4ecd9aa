package outoftree

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

const (
	// answerMax is how long a plugin may take for an answer in a scheduling cycle, which other pods wait for.
	answerMax = time.Second
	// hangingMax is how many calls of a plugin may not have returned. With so many of them it is asked nothing.
	hangingMax = 4
	// firstPause and longestPause are how long a plugin is not asked about a pod after it gave no answer about it in time.
	firstPause, longestPause = 10 * time.Second, 10 * time.Minute
	// pausesMax is about how many pods that is remembered.
	pausesMax = 1024
	// logPause is how long the same problem of a plugin is not logged again.
	logPause = 10 * time.Second
)

// A Failure says that a plugin gave no answer about a pod: it panicked, failed, or took too long.
type Failure struct {
	Plugin string
	Err    error
}

// Error names the plugin. It names neither pod nor node, so that failures on many nodes can be counted.
func (f *Failure) Error() string { return fmt.Sprintf("plugin %s failed: %v", f.Plugin, f.Err) }

// OutOfTree is the plugin.
func (f *Failure) OutOfTree() string { return f.Plugin }

// Unwrap is what the plugin said.
func (f *Failure) Unwrap() error { return f.Err }

var (
	errLate    = fmt.Errorf("no answer within %v; it is asked about the pod again after a while", answerMax)
	errEnded   = errors.New("no answer when the time for it was over")
	errHanging = errors.New("it is not asked while earlier calls do not return")
)

// calls are the calls of a plugin that have not returned in time.
type calls struct {
	mu      sync.Mutex
	hanging int
	pauses  map[types.UID]pause
}

// A pause is until when a plugin is not asked about a pod.
type pause struct {
	until time.Time
	last  time.Duration
}

// mayAsk is why a plugin is not asked about a pod now, or nil.
func (c *calls) mayAsk(uid types.UID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hanging >= hangingMax {
		return errHanging
	}
	if p, ok := c.pauses[uid]; ok && time.Now().Before(p.until) {
		return errLate
	}
	return nil
}

// hang notes a call that has not returned in time.
func (c *calls) hang(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hanging++
	if len(c.pauses) >= pausesMax || c.pauses == nil {
		c.pauses = map[types.UID]pause{}
	}
	last := min(max(2*c.pauses[uid].last, firstPause), longestPause)
	c.pauses[uid] = pause{until: time.Now().Add(last), last: last}
}

// back notes that it has returned.
func (c *calls) back() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hanging--
}

// An outcome is what came of a call. Failed is a panic, with its stack.
type outcome[T any] struct {
	answer T
	failed error
	stack  []byte
}

// ask calls a plugin in a scheduling cycle. Pods wait meanwhile, so a call that takes long is left to itself.
func ask[T any](g *guarded, at string, pod *v1.Pod, do func() T) (answer T, failure *Failure) {
	if err := g.calls.mayAsk(pod.UID); err != nil {
		return answer, &Failure{g.name, err}
	}
	return inTime(call{g, at, pod}, do)
}

// inTime makes a call that may not take long.
func inTime[T any](c call, do func() T) (answer T, failure *Failure) {
	timer := time.NewTimer(answerMax)
	defer timer.Stop()
	return wait(c, timer.C, errLate, do)
}

// A call is what a plugin is asked, about which pod.
type call struct {
	*guarded
	at  string
	pod *v1.Pod
}

// wait calls a plugin, and waits until it has returned or the time is over.
func wait[T any](c call, over <-chan time.Time, late error, do func() T) (answer T, failure *Failure) {
	returned := make(chan outcome[T], 1)
	go func() {
		o := outcome[T]{failed: errors.New("it ended its goroutine")}
		defer func() {
			if p := recover(); p != nil {
				o.failed, o.stack = fmt.Errorf("panic: %v", p), debug.Stack()
			}
			returned <- o
		}()
		answer := do()
		o.answer, o.failed = answer, nil
	}()
	select {
	case o := <-returned:
		if o.failed == nil {
			return o.answer, nil
		}
		return answer, c.fails(c.at, c.pod, fmt.Errorf("%s: %w", c.at, o.failed), o.stack)
	case <-over:
		c.calls.hang(c.pod.UID)
		go func() {
			<-returned
			c.calls.back()
		}()
		return answer, c.fails(c.at, c.pod, late, nil)
	}
}

// askStatus is ask for what answers with a status. An error is a Failure then.
func (g *guarded) askStatus(at string, pod *v1.Pod, call func() *fwk.Status) *fwk.Status {
	status, failure := ask(g, at, pod, call)
	return g.told(at, pod, status, failure)
}

// told is the status for the framework: a failure, or what the plugin said, never without a reason.
func (g *guarded) told(at string, pod *v1.Pod, status *fwk.Status, failure *Failure) *fwk.Status {
	if failure == nil && status.Code() == fwk.Error {
		failure = g.fails(at, pod, status.AsError(), nil)
	}
	if failure != nil {
		return fwk.AsStatus(failure)
	}
	if status.IsRejected() && status.Message() == "" {
		return fwk.NewStatus(status.Code(), fmt.Sprintf("plugin %s refuses the pod", g.name))
	}
	return status
}

// fails logs that a plugin gave no answer, the same problem not more often than every ten seconds.
func (g *guarded) fails(at string, pod *v1.Pod, err error, stack []byte) *Failure {
	if g.set.mayLog(g.name + at) {
		fields := []zap.Field{
			zap.String("plugin", g.name), zap.String("at", at), zap.Error(err),
			zap.Stringer("pod", types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}),
		}
		if stack != nil {
			fields = append(fields, zap.ByteString("stack", stack))
		}
		g.set.log.Error("plugin failed", fields...)
	}
	return &Failure{g.name, err}
}

// mayLog reports whether a problem was not logged lately, and notes that it is logged now.
func (s *Set) mayLog(problem string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if last, ok := s.logged[problem]; ok && now.Sub(last) < logPause {
		return false
	}
	s.logged[problem] = now
	return true
}

// afterEnd is a time a second after a context has ended.
func afterEnd(ctx context.Context) (over <-chan time.Time, stop func()) {
	c := make(chan time.Time, 1)
	after := context.AfterFunc(ctx, func() {
		time.AfterFunc(answerMax, func() { c <- time.Now() })
	})
	return c, func() { after() }
}
