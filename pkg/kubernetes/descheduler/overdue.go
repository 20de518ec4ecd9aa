package descheduler

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
)

// overdueFirst is how long a plugin may be called until the log, the metrics and Troubles say that it
// has not answered, and again after twice as long each time. A call cannot be ended from outside: a
// plugin that ignores its context keeps the cycle.
const overdueFirst = 5 * time.Minute

// landingCalled is how a landing is called where plugins are named.
const landingCalled = "landing"

// A watchedCall is one call that may take too long.
type watchedCall struct {
	profile, plugin string
	begun           time.Time
	told            time.Duration // how long it had run when that was told
}

// overdue are the calls that take too long. It is safe for concurrent use.
type overdue struct {
	mu   sync.Mutex
	list []*watchedCall
}

// texts say which plugins have not answered in time, such as "default/PodLifeTime has not
// answered for 10m0s". What says where pods would run is called landing.
func (o *overdue) texts() (all []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range o.list {
		all = append(all, fmt.Sprintf("%s has not answered for %s", strings.TrimPrefix(w.profile+"/"+w.plugin, "/"), w.told))
	}
	slices.Sort(all)
	return all
}

// guarded is watched for a call whose panic is an error.
func (d *Descheduler) guarded(profile, plugin string, call func() error) error {
	return contain(func() error { return d.watched(profile, plugin, call) })
}

// always is closed.
var always = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// watched calls a plugin, or what is named so, and says while it runs that it is overdue.
func (d *Descheduler) watched(profile, plugin string, call func() error) error {
	return d.watchedFrom(always, profile, plugin, call)
}

// watchedFrom is watched for a call that has to end only when a channel is closed.
func (d *Descheduler) watchedFrom(due <-chan struct{}, profile, plugin string, call func() error) error {
	ended, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		select {
		case <-ended:
		case <-due:
			d.await(&watchedCall{profile: profile, plugin: plugin, begun: d.options.Clock.Now()}, ended)
		}
	}()
	defer func() { // also where the plugin panics
		close(ended)
		<-told
	}()
	return call()
}

// await says again and again that a call has not ended, until it has.
func (d *Descheduler) await(w *watchedCall, ended <-chan struct{}) {
	for wait := overdueFirst; ; wait = w.told { // so that the next time is twice as late
		timer := d.options.Clock.NewTimer(wait)
		select {
		case <-ended:
			timer.Stop()
			d.endOverdue(w)
			return
		case <-timer.C():
			d.tellOverdue(w)
		}
	}
}

func (d *Descheduler) tellOverdue(w *watchedCall) {
	o := &d.overdue
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.told == 0 {
		o.list = append(o.list, w)
	}
	w.told = d.options.Clock.Since(w.begun)
	d.options.Metrics.overdue.WithLabelValues(w.plugin, w.profile).Set(w.told.Seconds())
	d.options.Log.Warn("plugin has not answered",
		zap.String("profile", w.profile), zap.String("plugin", w.plugin), zap.Duration("for", w.told))
}

func (d *Descheduler) endOverdue(w *watchedCall) {
	if w.told == 0 {
		return
	}
	o := &d.overdue
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = slices.DeleteFunc(o.list, func(other *watchedCall) bool { return other == w })
	if !slices.ContainsFunc(o.list, func(other *watchedCall) bool { return other.profile == w.profile && other.plugin == w.plugin }) {
		d.options.Metrics.overdue.DeleteLabelValues(w.plugin, w.profile)
	}
}
