package entrypoint

import "context"

// A background is work in a goroutine of its own.
type background struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// inBackground begins to work. The work ends with its context.
func inBackground(work func(context.Context)) *background {
	ctx, cancel := context.WithCancel(context.Background())
	b := &background{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(b.ended)
		work(ctx)
	}()
	return b
}

// stop ends the work and waits until it has ended.
func (b *background) stop() {
	b.cancel()
	<-b.ended
}
