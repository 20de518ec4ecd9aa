package flight

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
)

// A testGroup makes one answer at a time, each when it is told to, and numbers them.
type testGroup struct {
	*Group[string, int]
	made    int
	on      chan struct{}
	readers sync.WaitGroup
}

func newTestGroup() *testGroup {
	return &testGroup{Group: New[string, int](1), on: make(chan struct{})}
}

// An answer is what a reader got.
type answer struct {
	value int
	err   error
	there bool
}

// do is Use for an answer that is kept.
func do[K comparable, V any](ctx context.Context, g *Group[K, V], key K, f func(context.Context) (V, error)) (value V, err error) {
	err = g.Use(ctx, key, f, func(answer V) { value = answer })
	return value, err
}

// read asks for a key, and waits until nothing goes on.
func (k *testGroup) read(ctx context.Context, key string) *answer {
	got := new(answer)
	k.readers.Go(func() {
		got.value, got.err = do(ctx, k.Group, key, k.next)
		got.there = true
	})
	synctest.Wait()
	return got
}

func (k *testGroup) next(ctx context.Context) (int, error) {
	k.made++
	number := k.made
	select {
	case <-k.on:
		return number, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// TestReadersShare has readers of one key: those that come while another answer is
// made share the next one, and one that comes after an answer was begun gets a
// later one.
func TestReadersShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTestGroup()
		first := k.read(t.Context(), "a")
		second, third := k.read(t.Context(), "a"), k.read(t.Context(), "a")
		other := k.read(t.Context(), "b")
		assert.Equal(t, k.Waiting(), 2)
		close(k.on)
		k.readers.Wait()
		assert.Equal(t, first.value, 1)
		assert.Equal(t, second.value, third.value)
		assert.Assert(t, second.value > 1 && other.value > 1 && second.value != other.value)
		assert.Equal(t, k.made, 3)
		assert.Equal(t, k.Waiting(), 0)
	})
}

// TestReadersLeave without an answer. A call that nothing waits for is not begun,
// or is cancelled, and one with a reader left goes on. No goroutine stays: the
// bubble would not end.
func TestReadersLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTestGroup()
		why := errors.New("gone")
		ctx, leave := context.WithCancelCause(t.Context())
		first, leaveFirst := context.WithCancelCause(t.Context())
		running := k.read(first, "running")
		alone := k.read(ctx, "alone")
		shared := k.read(ctx, "shared")
		stays := k.read(t.Context(), "shared")
		leave(why)
		synctest.Wait()
		assert.Assert(t, !running.there)
		leaveFirst(why)
		synctest.Wait()
		for _, got := range []*answer{running, alone, shared} {
			assert.Assert(t, got.there && errors.Is(got.err, why))
		}
		assert.Assert(t, !stays.there)
		k.on <- struct{}{}
		k.readers.Wait()
		assert.NilError(t, stays.err)
		assert.Equal(t, stays.value, 2) // nothing was made for the one that was alone
		assert.Equal(t, len(k.places), 0)
		assert.Equal(t, k.Waiting(), 0)
	})
}

// TestALateReaderStartsAnew: a call that was left before it began is not joined.
func TestALateReaderStartsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTestGroup()
		first := k.read(t.Context(), "busy")
		ctx, leave := context.WithCancel(t.Context())
		left := k.read(ctx, "a")
		leave()
		late := k.read(t.Context(), "a")
		close(k.on)
		k.readers.Wait()
		assert.ErrorIs(t, left.err, context.Canceled)
		assert.NilError(t, first.err)
		assert.NilError(t, late.err)
		assert.Equal(t, late.value, 2)
	})
}

// TestPanic is an error for all readers, and the place is free again.
func TestPanic(t *testing.T) {
	for name, broken := range map[string]func(context.Context) (int, error){
		"panic": func(context.Context) (int, error) { panic("broken") },
		"exit":  func(context.Context) (int, error) { runtime.Goexit(); return 0, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newTestGroup()
				k.read(t.Context(), "busy")
				var errs [3]error
				for i := range errs {
					k.readers.Go(func() { _, errs[i] = do(t.Context(), k.Group, "a", broken) })
				}
				synctest.Wait()
				assert.Equal(t, k.Waiting(), 1)
				close(k.on)
				k.readers.Wait()
				for _, err := range errs {
					var panicked *PanicError
					if name == "exit" {
						assert.ErrorIs(t, err, ErrExit)
					} else {
						assert.Assert(t, errors.As(err, &panicked) && len(panicked.Stack) > 0)
						assert.Error(t, err, "panic: broken")
					}
				}
				assert.Equal(t, k.read(t.Context(), "a").err, nil)
			})
		})
	}
}

// TestLimit: so many calls run at once, and no more.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[int, int](2)
		var readers sync.WaitGroup
		var mu sync.Mutex
		running, most := 0, 0
		on := make(chan struct{})
		for i := range 5 {
			readers.Go(func() {
				_, err := do(t.Context(), g, i, func(context.Context) (int, error) {
					mu.Lock()
					running++
					most = max(most, running)
					mu.Unlock()
					<-on
					mu.Lock()
					running--
					mu.Unlock()
					return i, nil
				})
				assert.Check(t, err)
			})
		}
		synctest.Wait()
		assert.Equal(t, g.Waiting(), 3)
		close(on)
		readers.Wait()
		assert.Equal(t, most, 2)
	})
}

// TestAnswersInUse: the context of a call ends when all readers are done with its
// answer, and not before.
func TestAnswersInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string, context.Context](1)
		var readers sync.WaitGroup
		done := []chan struct{}{make(chan struct{}), make(chan struct{})}
		var answer context.Context
		busy := make(chan struct{})
		readers.Go(func() {
			_, _ = do(t.Context(), g, "busy", func(ctx context.Context) (context.Context, error) { <-busy; return ctx, nil })
		})
		synctest.Wait()
		for i := range done {
			readers.Go(func() {
				give := func(ctx context.Context) (context.Context, error) { return ctx, nil }
				assert.Check(t, g.Use(t.Context(), "a", give, func(ctx context.Context) {
					if i == 0 {
						answer = ctx
					}
					<-done[i]
				}))
			})
			synctest.Wait()
		}
		close(busy)
		synctest.Wait()
		for _, one := range done {
			assert.NilError(t, answer.Err())
			close(one)
			synctest.Wait()
		}
		assert.ErrorIs(t, answer.Err(), context.Canceled)
		readers.Wait()
	})
}
