package config

import (
	"errors"
	"fmt"
	"math"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// defaultPreemption is what holds for the keys that are not given.
func defaultPreemption() core.PreemptionConfig {
	return core.PreemptionConfig{RequiredNode: preemptor.DefaultConfig(), VictimTimeout: core.DefaultVictimTimeout}
}

// preemption reads the section of a partition. A value that is not right is
// reported and leaves the default.
func preemption(c cursor) core.PreemptionConfig {
	p := defaultPreemption()
	plan := &p.RequiredNode
	c.fields(
		field{"enabled", func(c cursor) {
			enabled, ok := c.boolean()
			p.Disabled = ok && !enabled
		}},
		field{"quotapreemptionenabled", func(c cursor) {
			if p.Quota, _ = c.boolean(); p.Quota {
				c.later("a queue whose max was lowered gives nothing back")
			}
		}},
		field{"preemption_start_delay", func(c cursor) { startDelay(c, &plan.StartDelay) }},
		field{"preemption_victim_pods_selection_strategy", func(c cursor) { strategies(c, &plan.Strategies) }},
		field{"preemption_victim_deviation", func(c cursor) { deviation(c, &plan.DeviationMax) }},
		field{"preemption_victims_max", func(c cursor) { victimsMax(c, &plan.VictimsMax) }},
		field{"preemption_victim_timeout", func(c cursor) { victimTimeout(c, &p.VictimTimeout) }},
		field{"preemption_foreign_pods", func(c cursor) {
			victims, ok := c.boolean()
			plan.SpareForeign = ok && !victims
		}},
	)
	if err := plan.Validate(); err != nil {
		c.fail("%v", err) // the bounds here and there have come apart
	}
	return p
}

func startDelay(c cursor, delay *time.Duration) {
	switch d, err := time.ParseDuration(c.text()); {
	case c.node.Kind != yaml.ScalarNode:
	case err != nil:
		c.fail("%s is not right: write a duration such as 30s, or 0s for at once", describe(c.node))
	case d < 0:
		c.fail("%s is negative; write a duration such as 30s, or 0s for at once", describe(c.node))
	default:
		*delay = d
	}
}

func victimTimeout(c cursor, timeout *time.Duration) {
	switch d, err := duration(c.text(), time.Nanosecond); {
	case c.node.Kind != yaml.ScalarNode:
	case err != nil:
		c.fail("%s is not right: %v", describe(c.node), err)
	default:
		*timeout = d
	}
}

// strategies reports everything that is wrong with the list, one by one.
func strategies(c cursor, list *[]preemptor.Strategy) {
	parsed, err := preemptor.ParseStrategies(c.text())
	var several interface{ Unwrap() []error }
	switch {
	case c.node.Kind != yaml.ScalarNode: // which text has reported
	case err == nil:
		*list = parsed
	case errors.As(err, &several):
		for _, one := range several.Unwrap() {
			c.fail("%s", clip(fmt.Sprint(one)))
		}
	default:
		c.fail("%v", err)
	}
}

func deviation(c cursor, percent *int64) {
	switch n, ok := c.count(); {
	case !ok:
	case n > math.MaxInt64:
		c.fail("%d percent is more than can be counted", n)
	default:
		*percent = int64(n)
	}
}

func victimsMax(c cursor, most *int) {
	switch n, ok := c.count(); {
	case !ok:
	case n < 1 || n > preemptor.VictimsLimit:
		c.fail("%d is not from 1 to %d", n, preemptor.VictimsLimit)
	default:
		*most = int(n)
	}
}
