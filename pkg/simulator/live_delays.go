package simulator

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// scaleDelays is the text of a configuration with delays divided by the speed. Delays
// that it leaves out are set, as their defaults are for a speed of one.
func (l *Live) scaleDelays(text string) (string, error) {
	if l.options.Speed == 1 {
		return text, nil
	}
	return edited(text, func(partition map[string]any) error {
		preemption := child(partition, "preemption")
		l.scale(preemption, "preemption_start_delay", 30*time.Second)
		l.scale(preemption, "preemption_victim_timeout", core.DefaultVictimTimeout)
		l.scale(preemption, "preemption_loop_window", core.DefaultLoopWindow)
		l.scaleQueueDelays(partition, 30*time.Second)
		return nil
	})
}

// scaleQueueDelays divides the delays of the queues below. The delay that those have
// which set none is inherited, so it is set at the top alone.
func (l *Live) scaleQueueDelays(of map[string]any, unset time.Duration) {
	list, _ := of["queues"].([]any)
	for _, item := range list {
		if queue, ok := item.(map[string]any); ok {
			properties := child(queue, "properties")
			l.scale(properties, "preemption.delay", unset)
			l.scale(properties, "quota.preemption.delay", 0)
			if len(properties) == 0 {
				delete(queue, "properties")
			}
			l.scaleQueueDelays(queue, 0)
		}
	}
}

// scale divides a duration by the speed, or the one that holds where it is not set;
// zero is none.
func (l *Live) scale(of map[string]any, key string, unset time.Duration) {
	d := unset
	if value, set := of[key]; set {
		read, err := time.ParseDuration(fmt.Sprint(value))
		if err != nil {
			return // the scheduler refuses what is no duration
		}
		d = read
	}
	if d > 0 {
		of[key] = l.Real(d).String()
	}
}
