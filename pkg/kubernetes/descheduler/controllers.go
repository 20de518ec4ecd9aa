package descheduler

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/drain"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// newController is that of a plugin.
func newController(p *profile, name string, plugin framework.ControllerPlugin) controller {
	c := controller{profile: p, plugin: name, run: plugin.Run}
	if of, ok := plugin.(framework.Previewer); ok {
		c.preview = of.Preview
	}
	if of, ok := plugin.(framework.DrainReporter); ok {
		c.drains = of.Drains
	}
	return c
}

// How long a controller that failed waits until it is started again: twice as long each
// time, and again the least after it has run for the most.
const (
	restartFirst = time.Second
	restartMax   = 5 * time.Minute
)

// A controller is one plugin that events trigger.
type controller struct {
	profile *profile
	plugin  string
	run     func(context.Context) error
	preview func(context.Context) error    // nil: it has none
	drains  func() map[string]drain.Status // nil: it drains no nodes
}

func (c controller) name() string { return c.profile.name + "/" + c.plugin }

// errReturned is why a controller is started again that returned without an error.
var errReturned = errors.New("it returned, and is to run until its context ends")

// supervise runs a controller until the context ends. One that returns before or panics is started
// again.
func (d *Descheduler) supervise(ctx context.Context, c controller) {
	wait := restartFirst
	defer d.troubles.controllerEnded(c.name())
	for ctx.Err() == nil {
		started := d.options.Clock.Now()
		err := d.runController(ctx, c)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errReturned
		}
		if d.options.Clock.Since(started) >= restartMax {
			wait = restartFirst
		}
		d.controllerFailed(c, err, wait)
		timer := d.options.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		d.troubles.startedAgain(c.name(), d.options.Clock.Now())
		wait = min(2*wait, restartMax)
	}
}

// runController runs a controller once, and says that it is overdue where it goes on although its
// context has ended: no other policy is used, and the process does not end, until it has.
func (d *Descheduler) runController(ctx context.Context, c controller) error {
	return contain(func() error {
		return d.watchedFrom(ctx.Done(), c.profile.name, c.plugin, func() error { return c.run(ctx) })
	})
}

func (d *Descheduler) controllerFailed(c controller, err error, wait time.Duration) {
	d.troubles.controllerFailed(c.name(), err, wait)
	d.options.Metrics.restarts.WithLabelValues(c.plugin, c.profile.name).Inc()
	d.options.Log.Error("controller failed", append(field(c.profile, c.plugin, err), zap.Duration("startedAgainAfter", wait))...)
}
