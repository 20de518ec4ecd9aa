package feasibility

import (
	"sync"
	"sync/atomic"
)

// stride is how many nodes a worker takes at a time. Below it, other goroutines cost
// more than they bring.
const stride = 32

// inParallel calls do for 0 to n-1, on several goroutines if there is enough to do. A
// panic of do is a panic of inParallel, so that the caller can catch it.
func inParallel(workers, n int, do func(i int)) {
	workers = min(workers, (n+stride-1)/stride)
	if workers <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var (
		next   atomic.Int64
		failed atomic.Pointer[any]
		group  sync.WaitGroup
	)
	for range workers {
		group.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					failed.Store(&p)
				}
			}()
			for failed.Load() == nil {
				end := int(next.Add(stride))
				for i := end - stride; i < min(end, n); i++ {
					do(i)
				}
				if end >= n {
					return
				}
			}
		})
	}
	group.Wait()
	if p := failed.Load(); p != nil {
		panic(*p)
	}
}
