// Package flight lets readers that ask for the same share one answer.
//
// A call is made by a goroutine of its own, on behalf of all readers that joined
// it before it began. A reader never gets an answer that was begun before it
// asked. A reader whose context ends leaves at once; a call that all its readers
// have left is cancelled.
//
// With golang.org/x/sync/singleflight a reader joins a call that has begun, and so gets an
// answer from before it asked, and a call that all its readers have left runs on. It also
// limits no calls at once, and does not know when the last reader is done with an answer.
package flight

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// A PanicError is what the readers of a call get whose function panicked.
type PanicError struct {
	Value any    // of the panic
	Stack []byte // where it was
}

// Error is the value of the panic.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// ErrExit is what the readers of a call get whose function ended its goroutine.
var ErrExit = errors.New("the call ended without an answer")

// A Group makes calls, a limited number at once. Its memory grows with what is
// asked for, not with the number of readers. All methods may be called from any
// goroutine.
type Group[K comparable, V any] struct {
	places chan struct{} // taken by calls that run

	mu      sync.Mutex
	waiting map[K]*call[V] // calls that have not begun
}

// A call is one answer that is made or going to be made.
type call[V any] struct {
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed when value and err are final
	value  V
	err    error

	readers int // that wait for it; guarded by the group
}

// New makes a group in which at most limit calls run at once, at least one.
func New[K comparable, V any](limit int) *Group[K, V] {
	return &Group[K, V]{places: make(chan struct{}, max(1, limit)), waiting: map[K]*call[V]{}}
}

// Use hands what f returns to use, unless there is an error. Readers with the same key
// share the answer if it has not begun when they ask. The context of f has the values of
// that of the first reader, and is cancelled when no reader waits any more and use has
// returned for all. A panic of f is a *PanicError for all readers. If ctx ends first, Use
// returns its cause.
func (g *Group[K, V]) Use(ctx context.Context, key K, f func(context.Context) (V, error), use func(V)) error {
	c := g.join(ctx, key, f)
	defer g.leave(key, c)
	select {
	case <-c.done:
		if c.err == nil {
			use(c.value)
		}
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Waiting is the number of calls that have not begun.
func (g *Group[K, V]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

// join is the waiting call for the key, or a new one.
func (g *Group[K, V]) join(ctx context.Context, key K, f func(context.Context) (V, error)) *call[V] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.waiting[key]; c != nil {
		c.readers++
		return c
	}
	c := &call[V]{done: make(chan struct{}), readers: 1, err: ErrExit}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	g.waiting[key] = c
	go g.run(key, c, f)
	return c
}

// leave counts a reader out. The last one cancels the call.
func (g *Group[K, V]) leave(key K, c *call[V]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.readers--; c.readers == 0 {
		g.close(key, c)
		c.cancel()
	}
}

// close lets no reader join a call any more.
func (g *Group[K, V]) close(key K, c *call[V]) {
	if g.waiting[key] == c {
		delete(g.waiting, key)
	}
}

// run makes the answer when there is a place for it.
func (g *Group[K, V]) run(key K, c *call[V], f func(context.Context) (V, error)) {
	defer close(c.done)
	select {
	case g.places <- struct{}{}:
		defer func() { <-g.places }()
	case <-c.ctx.Done():
		return
	}
	g.mu.Lock()
	g.close(key, c)
	g.mu.Unlock()
	if c.ctx.Err() != nil {
		return
	}
	defer func() {
		if value := recover(); value != nil {
			c.err = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	c.value, c.err = f(c.ctx)
}
