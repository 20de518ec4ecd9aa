package scheduler

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/events"
)

// updateExtra takes over the extra configuration of a resource manager.
func (s *Scheduler) updateExtra(request *si.UpdateConfigurationRequest) error {
	s.mu.Lock()
	r, err := s.registered(request.RmID)
	if err == nil {
		r.extra = maps.Clone(request.ExtraConfig)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	s.applyExtra(request.ExtraConfig)
	r.track(request.ExtraConfig)
	s.limitEvents(r, request.ExtraConfig)
	return nil
}

// track says whether event records are made where there is no history, which has a
// configuration of its own. A value that is neither true nor false means true.
func (r *registration) track(extra map[string]string) {
	on, err := strconv.ParseBool(extra[keyTracking])
	r.untracked.Store(err == nil && !on)
}

// limitEvents changes the bounds of events as a resource manager says.
func (s *Scheduler) limitEvents(r *registration, extra map[string]string) {
	if s.config.Events == nil {
		return
	}
	limits, requests, err := eventLimits(s.limits, extra)
	if err = errors.Join(err, s.config.Events.Configure(limits)); err != nil {
		s.loggers.of(logEvents).Warn("event limits not understood", zap.String("resourceManager", r.id), zap.Error(err))
	}
	r.store.Bound(requests)
}

// The keys of the extra configuration that bound events.
const (
	keyTracking      = "event.trackingEnabled"
	keyRing          = "event.ringBufferCapacity"
	keyRequests      = "event.requestCapacity"
	keyStreams       = "event.maxStreams"
	keyClientStreams = "event.maxStreamsPerHost"
	keyPage          = "event.RESTResponseSize"
)

// eventLimits reads the bounds of events from an extra configuration. What is not
// in it is as it was at the beginning; so is what is wrong, and the error names
// all of that.
func eventLimits(base events.Config, extra map[string]string) (limits events.Config, requests int, err error) {
	limits = base
	var problems []error
	if text, ok := extra[keyTracking]; ok {
		on, err := strconv.ParseBool(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %q is neither true nor false", keyTracking, text))
		} else {
			limits.Disabled = !on
		}
	}
	number := func(key string, into *int, most int) {
		text, ok := extra[key]
		if !ok {
			return
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > most {
			problems = append(problems, fmt.Errorf("%s: %q is not a number from 0 to %d", key, text, most))
			return
		}
		*into = n
	}
	number(keyRing, &limits.Capacity, events.CapacityMax)
	number(keyRequests, &requests, events.CapacityMax)
	number(keyStreams, &limits.StreamsMax, events.CapacityMax)
	number(keyClientStreams, &limits.StreamsPerClientMax, events.CapacityMax)
	number(keyPage, &limits.PageMax, events.CapacityMax)
	return limits, requests, errors.Join(problems...)
}

// ExtraConfig is the extra configuration that a resource manager sent last. The
// map is a copy; it is nil for a resource manager that is not registered.
func (s *Scheduler) ExtraConfig(id string) map[string]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r, ok := s.registrations[id]; ok {
		return maps.Clone(r.extra)
	}
	return nil
}

// idleKeys are keys of the extra configuration that other schedulers know and that have
// no effect here, with the reason.
var idleKeys = map[string]string{
	"health.checkInterval": "the health is checked when it is asked for, as it is then",
}

// applyExtra sets the levels of the log, and has Config.Extra act on what else there is. It
// warns of keys that have no effect. Other keys are kept for ExtraConfig.
func (s *Scheduler) applyExtra(extra map[string]string) {
	s.loggers.configure(extra, s.config.Level)
	if s.config.Extra != nil {
		s.config.Extra(maps.Clone(extra))
		return
	}
	for _, key := range slices.Sorted(maps.Keys(idleKeys)) {
		if value, ok := extra[key]; ok {
			s.loggers.of(logConfig).Warn("setting has no effect",
				zap.String("key", key), zap.String("value", value), zap.String("reason", idleKeys[key]))
		}
	}
}
