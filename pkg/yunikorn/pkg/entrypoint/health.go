package entrypoint

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/apache/yunikorn-core/internal/defaults"
)

// keyHealth is the setting that says how often the health is checked: a duration, and zero or
// less is not again.
const keyHealth = "health.checkInterval"

// A healthWatch checks the health at the start and then from time to time, and tells the log
// of what is wrong. REST answers as of the moment in which it is asked.
type healthWatch struct {
	*background

	settings chan map[string]string // holds the last extra configuration that was not read yet
}

func newHealthWatch() *healthWatch {
	return &healthWatch{settings: make(chan map[string]string, 1)}
}

// configure takes over an extra configuration. It waits for nothing.
func (h *healthWatch) configure(extra map[string]string) {
	for {
		select {
		case h.settings <- extra:
			return
		case <-h.settings: // which is older
		}
	}
}

// start begins to check. The faults are what is wrong at a moment.
func (h *healthWatch) start(faults func(context.Context) ([]string, error), log *zap.Logger) {
	check := &healthCheck{faults: faults, log: log}
	h.background = inBackground(func(ctx context.Context) { h.run(ctx, check) })
}

// run checks until the context ends.
func (h *healthWatch) run(ctx context.Context, check *healthCheck) {
	check.once(ctx)
	timer := time.NewTimer(defaults.HealthInterval)
	defer timer.Stop()
	interval := defaults.HealthInterval
	for {
		select {
		case <-ctx.Done():
			return
		case extra := <-h.settings:
			interval = check.interval(extra)
		case <-timer.C:
			check.once(ctx)
		}
		if timer.Stop(); interval > 0 {
			timer.Reset(interval)
		}
	}
}

// A healthCheck checks the health and remembers how it was.
type healthCheck struct {
	faults func(context.Context) ([]string, error)
	log    *zap.Logger
	ill    bool
}

// interval reads the time between two checks from an extra configuration.
func (c *healthCheck) interval(extra map[string]string) time.Duration {
	text, ok := extra[keyHealth]
	if !ok {
		return defaults.HealthInterval
	}
	interval, err := time.ParseDuration(text)
	if err != nil {
		c.log.Warn("setting not understood", zap.String("key", keyHealth), zap.String("value", text), zap.Error(err))
		return defaults.HealthInterval
	}
	return interval
}

// once checks the health and tells of it.
func (c *healthCheck) once(ctx context.Context) {
	faults, err := c.faults(ctx)
	was := c.ill
	switch c.ill = err != nil || len(faults) > 0; {
	case ctx.Err() != nil: // it stops
	case c.ill:
		c.log.Warn("scheduler is not healthy", zap.Strings("faults", faults), zap.Error(err))
	case was:
		c.log.Info("scheduler is healthy again")
	default:
		c.log.Debug("scheduler is healthy")
	}
}
