package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
)

// preemption is what holds for the keys that are not given.
func (d Defaults) preemption() api.PreemptionConfig {
	plan := preemptor.DefaultConfig()
	if d.StartDelay != nil {
		plan.StartDelay = *d.StartDelay
	}
	plan.SpareForeign = d.SpareForeign
	return api.PreemptionConfig{
		RequiredNode:  plan,
		Priority:      d.Priority,
		VictimTimeout: api.DefaultVictimTimeout,
		LoopMax:       api.DefaultLoopMax,
		LoopWindow:    api.DefaultLoopWindow,
		ByQoS:         !d.VictimsByAge,
	}
}

// loopMaxLimit is the most that preemption_loop_max may be.
const loopMaxLimit = 1000

// preemption reads the section of a partition. A value that is not right is
// reported and does not count.
func (r *reader) preemption(c cursor) api.PreemptionConfig {
	p := r.defaults.preemption()
	plan := &p.RequiredNode
	c.fields(
		field{"enabled", func(c cursor) {
			enabled, ok := c.boolean()
			p.Disabled = ok && !enabled
		}},
		field{"quotapreemptionenabled", func(c cursor) {
			enabled, ok := c.boolean()
			p.Quota = enabled || !ok // what cannot be read is reported once, and not by every queue
		}},
		field{"preemption_priority", func(c cursor) {
			p.Priority = [...]api.PriorityPreemption{api.StrictlyLower, api.EqualToo, api.PriorityOff}[oneWord(c, "strict", "equal", "off")]
		}},
		field{"preemption_disruption_budgets", func(c cursor) {
			p.Budgets = [...]preemptor.BudgetPolicy{
				preemptor.PreferBudgets, preemptor.StrictPriority, preemptor.HardBudgets,
			}[oneWord(c, "prefer", "strict", "hard")]
		}},
		field{"preemption_victim_order", func(c cursor) { p.ByQoS = oneWord(c, "qos", "age") == 0 }},
		field{"preemption_loop_max", func(c cursor) { between(c, &p.LoopMax, loopMaxLimit) }},
		field{"preemption_loop_window", func(c cursor) { aboveZero(c, &p.LoopWindow) }},
		field{"preemption_start_delay", func(c cursor) { startDelay(c, &plan.StartDelay) }},
		field{"preemption_victim_pods_selection_strategy", func(c cursor) { strategies(c, &plan.Strategies) }},
		field{"preemption_victim_deviation", func(c cursor) { deviation(c, &plan.DeviationMax) }},
		field{"preemption_victims_max", func(c cursor) { between(c, &plan.VictimsMax, preemptor.VictimsLimit) }},
		field{"preemption_victim_timeout", func(c cursor) { aboveZero(c, &p.VictimTimeout) }},
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
	case !c.IsScalar():
	case err != nil:
		c.fail("%s is not right: write a duration such as 30s, or 0s for at once", c.Describe())
	case d < 0:
		c.fail("%s is negative; write a duration such as 30s, or 0s for at once", c.Describe())
	default:
		*delay = d
	}
}

func aboveZero(c cursor, value *time.Duration) {
	switch d, err := duration(c.text(), time.Nanosecond); {
	case !c.IsScalar():
	case err != nil:
		c.fail("%s is not right: %v", c.Describe(), err)
	default:
		*value = d
	}
}

// strategies reports everything that is wrong with the list, one by one.
func strategies(c cursor, list *[]preemptor.Strategy) {
	parsed, err := preemptor.ParseStrategies(c.text())
	var several interface{ Unwrap() []error }
	switch {
	case !c.IsScalar(): // which text has reported
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

// between reads a whole number from 1 to the most there may be.
func between(c cursor, value *int, most uint64) {
	switch n, ok := c.count(); {
	case !ok:
	case n < 1 || n > most:
		c.fail("%d is not from 1 to %d", n, most)
	default:
		*value = int(n)
	}
}

// oneWord is the index of a word among those known, as they are written here; of
// the first, which is the default, if it is none of them.
func oneWord(c cursor, known ...string) int {
	text := c.text()
	if !c.IsScalar() {
		return 0
	}
	if i := slices.Index(known, text); i >= 0 {
		return i
	}
	last, hint := len(known)-1, ""
	if meant := yamltree.Nearest(text, known); meant != "" {
		hint = "; did you mean " + meant + "?"
	}
	c.fail("%s is not right: write %s or %s%s", quote(text), strings.Join(known[:last], ", "), known[last], hint)
	return 0
}

// warnQuota reports, on the way down, each delay that a queue was given for nothing
// because a key of the partition is false.
func (r *reader) warnQuota(q *Queue, key string) {
	if q.quotaDelay != nil {
		r.add(Problem{
			Place: *q.quotaDelay, Severity: Warning,
			Message: "without effect while preemption." + key + " of the partition is false: a queue that is above its max gives nothing back",
		})
	}
	for _, child := range q.Queues {
		r.warnQuota(child, key)
	}
}
