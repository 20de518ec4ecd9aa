package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
)

// A property is a named setting of a queue that the queues below inherit as
// text.
type property struct {
	name string
	// set reads a text. The error says what would have been right.
	set func(q *api.QueueProperties, text string) error
	// fresh is the text with which a queue below starts instead of that of its
	// parent; nil means that it inherits.
	fresh func(inherited string) string
}

const (
	preemptionPolicy       = "preemption.policy"
	quotaDelay             = "quota.preemption.delay"
	applicationSort        = "application.sort.policy"
	defaultPreemptionDelay = 30 * time.Second
	defaultBackoffDelay    = 30 * time.Second
)

// propertyTable lists every property that is known.
func propertyTable() []property {
	always := func(text string) func(string) string { return func(string) string { return text } }
	return []property{
		{name: applicationSort, set: setApplicationSort},
		{name: "application.sort.priority", set: func(q *api.QueueProperties, text string) error {
			i, err := oneOf(text, "enabled", "disabled")
			q.IgnorePriority = i == 1
			return err
		}},
		{name: "priority.policy", fresh: always("default"), set: func(q *api.QueueProperties, text string) error {
			i, err := oneOf(text, "default", "fence")
			q.PriorityFence = i == 1
			return err
		}},
		{name: "priority.offset", fresh: always("0"), set: setPriorityOffset},
		{name: preemptionPolicy, set: setPreemptionPolicy, fresh: freshPreemption},
		{name: api.TagGangStart, set: func(q *api.QueueProperties, text string) error {
			i, err := oneOf(text, "partial", api.GangWhole)
			q.GangWhole = i == 1
			return err
		}},
		{name: "preemption.guarantee", set: func(q *api.QueueProperties, text string) error {
			i, err := oneOf(text, "all", "kind")
			q.GuaranteePerKind = i == 1
			return err
		}},
		{name: "preemption.delay", set: func(q *api.QueueProperties, text string) (err error) {
			q.PreemptionDelay, err = duration(text, time.Nanosecond)
			return err
		}},
		{name: quotaDelay, set: func(q *api.QueueProperties, text string) (err error) {
			q.QuotaDelay, err = duration(text, 0)
			return err
		}},
		{
			name: "application.unschedasks.backoff",
			set: func(q *api.QueueProperties, text string) error {
				number, err := strconv.ParseUint(text, 10, 64)
				if err != nil {
					return errors.New("write a whole number of at least 0")
				}
				q.BackoffAfter = int(min(number, math.MaxInt32))
				return nil
			},
		},
		{
			name: "application.unschedasks.backoff.delay",
			set: func(q *api.QueueProperties, text string) (err error) {
				q.BackoffDelay, err = duration(text, time.Nanosecond)
				return err
			},
		},
	}
}

func setApplicationSort(q *api.QueueProperties, text string) error {
	switch text {
	case "fifo", "stateaware":
		q.ApplicationSort = api.FIFO
	case "fair":
		q.ApplicationSort = api.Fair
	default:
		return errors.New("write fifo or fair")
	}
	return nil
}

func setPriorityOffset(q *api.QueueProperties, text string) error {
	offset, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return fmt.Errorf("write a whole number from %d to %d", math.MinInt32, math.MaxInt32)
	}
	q.PriorityOffset = int32(offset)
	return nil
}

func setPreemptionPolicy(q *api.QueueProperties, text string) error {
	i, err := oneOf(text, "default", "fence", "disabled")
	q.PreemptionPolicy = [...]api.PreemptionPolicy{
		api.PreemptionDefault, api.PreemptionFence, api.PreemptionDisabled,
	}[max(i, 0)]
	return err
}

// freshPreemption keeps protection for the queues below and nothing else.
func freshPreemption(inherited string) string {
	if strings.EqualFold(inherited, "disabled") {
		return inherited
	}
	return "default"
}

// oneOf is the index of a word among those allowed, in any case, or -1.
func oneOf(text string, allowed ...string) (int, error) {
	i := slices.IndexFunc(allowed, func(word string) bool { return strings.EqualFold(word, text) })
	if i < 0 {
		last := len(allowed) - 1
		return i, fmt.Errorf("write %s or %s", strings.Join(allowed[:last], ", "), allowed[last])
	}
	return i, nil
}

func duration(text string, least time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, errors.New("write a duration such as 30s, 5m or 1h30m")
	case d < least && least > 0:
		return 0, errors.New("write a duration above zero, such as 30s")
	case d < least:
		return 0, errors.New("write a duration that is not negative, such as 30s, or 0s for never")
	}
	return d, nil
}

// properties reads the properties of a queue or template.
func properties(c cursor) map[string]string {
	out := map[string]string{}
	table := propertyTable()
	c.each(func(name string, value cursor) {
		switch {
		case len(name) > quotedMax:
			value.atKey().fail("the name of a property has at most %d bytes", quotedMax)
		case len(out) == PropertiesMax:
			value.atKey().fail("more than %d properties", PropertiesMax)
		case !value.IsScalar() || value.IsNull():
			value.fail("must be a text, not %s", value.Describe())
		default:
			out[name] = value.Node.Value
			checkProperty(value, name, table)
		}
	})
	return out
}

// checkProperty reports what is wrong with one property.
func checkProperty(c cursor, name string, table []property) {
	text := c.Node.Value
	i := slices.IndexFunc(table, func(p property) bool { return p.name == name })
	if i < 0 {
		hint := ""
		names := make([]string, len(table))
		for i, p := range table {
			names[i] = p.name
		}
		if meant := yamltree.Nearest(name, names); meant != "" {
			hint = "; did you mean " + meant + "?"
		}
		c.atKey().warn("unknown property, it is kept and has no effect%s", hint)
		return
	}
	if err := table[i].set(new(api.QueueProperties), text); err != nil {
		c.fail("%s is not right: %v", quote(text), err)
		return
	}
	if name == applicationSort && text == "stateaware" {
		c.warn("stateaware is an old name of fifo; write fifo")
	}
}

// inherit is what a queue has after its own properties are laid over those of
// its parent. It returns one of its arguments if that is the same.
func inherit(parent, own map[string]string) map[string]string {
	merged := maps.Clone(parent)
	changed := len(own) > 0
	for _, p := range propertyTable() {
		text, ok := parent[p.name]
		if !ok || p.fresh == nil {
			continue
		}
		merged[p.name] = p.fresh(text)
		changed = changed || merged[p.name] != text
	}
	if !changed {
		return parent
	}
	if merged == nil {
		return own
	}
	maps.Copy(merged, own)
	return merged
}

// workOut makes settings of merged properties, which are known to be right.
func workOut(texts map[string]string) api.QueueProperties {
	q := api.QueueProperties{PreemptionDelay: defaultPreemptionDelay, Texts: texts}
	for _, p := range propertyTable() {
		text, ok := texts[p.name]
		if !ok {
			continue
		}
		if err := p.set(&q, text); err != nil {
			panic(fmt.Sprintf("property %s was read as %q and is not right: %v", p.name, text, err))
		}
	}
	if q.BackoffAfter > 0 && q.BackoffDelay == 0 {
		q.BackoffDelay = defaultBackoffDelay
	}
	return q
}
