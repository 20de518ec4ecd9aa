package descheduler

import (
	"time"

	"go.uber.org/zap"
)

// overdueFirst is how long a plugin may be called until the log and the metrics say that it has not
// answered, and again after twice as long each time. A call cannot be ended from outside: a plugin
// that ignores its context keeps the cycle.
const overdueFirst = 5 * time.Minute

// watched calls a plugin, or what is named so, and says while it runs that it is overdue.
func (d *Descheduler) watched(p *profile, plugin string, call func() error) error {
	ended, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		d.sayOverdue(p, plugin, ended)
	}()
	defer func() { // also where the plugin panics
		close(ended)
		<-told
	}()
	return call()
}

// sayOverdue says again and again that a call has not ended, until it has.
func (d *Descheduler) sayOverdue(p *profile, plugin string, ended <-chan struct{}) {
	begun, wait := d.options.Clock.Now(), overdueFirst
	gauge := d.options.Metrics.overdue
	for {
		timer := d.options.Clock.NewTimer(wait)
		select {
		case <-ended:
			timer.Stop()
			gauge.DeleteLabelValues(plugin, p.name)
			return
		case <-timer.C():
		}
		since := d.options.Clock.Since(begun)
		gauge.WithLabelValues(plugin, p.name).Set(since.Seconds())
		d.options.Log.Warn("plugin has not answered", append(field(p, plugin, nil), zap.Duration("for", since))...)
		wait = since // so that the next time is twice as late
	}
}
