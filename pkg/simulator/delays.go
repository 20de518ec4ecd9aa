package simulator

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// Configurations are the texts of the queues: the first, and what each change comes to. Their
// delays are what scale makes of them, where it is set. Delays that a text leaves out
// are set then, as scale does not know their defaults.
func (s *Scenario) Configurations(scale func(time.Duration) time.Duration) ([]string, error) {
	var texts []string
	for i := range len(s.Changes) + 1 {
		text := s.queues
		if i > 0 {
			text = s.changed[i-1].Text
		}
		text, err := scaleDelays(text, scale)
		if err != nil {
			return nil, fmt.Errorf("queues: %w", err)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func scaleDelays(text string, scale func(time.Duration) time.Duration) (string, error) {
	if scale == nil {
		return text, nil
	}
	partition, err := partitionOf(text)
	if err != nil {
		return "", err
	}
	d := delayScale(scale)
	preemption := child(partition, "preemption")
	d.set(preemption, "preemption_start_delay", 30*time.Second)
	d.set(preemption, "preemption_victim_timeout", api.DefaultVictimTimeout)
	d.set(preemption, "preemption_loop_window", api.DefaultLoopWindow)
	d.setQueues(partition, 30*time.Second)
	return textOf(partition)
}

// A delayScale is what becomes of a delay.
type delayScale func(time.Duration) time.Duration

// setQueues changes the delays of the queues below. The delay that those have which set
// none is inherited, so it is set at the top alone.
func (d delayScale) setQueues(of map[string]any, unset time.Duration) {
	list, _ := of["queues"].([]any)
	for _, item := range list {
		if queue, ok := item.(map[string]any); ok {
			properties := child(queue, "properties")
			d.set(properties, "preemption.delay", unset)
			d.set(properties, "quota.preemption.delay", 0)
			if len(properties) == 0 {
				delete(queue, "properties")
			}
			d.setQueues(queue, 0)
		}
	}
}

// set changes a delay, or the one that holds where it is not set; zero is none.
func (d delayScale) set(of map[string]any, key string, unset time.Duration) {
	delay := unset
	if value, set := of[key]; set {
		read, err := time.ParseDuration(fmt.Sprint(value))
		if err != nil {
			return // the scheduler refuses what is no duration
		}
		delay = read
	}
	if delay > 0 {
		of[key] = d(delay).String()
	}
}
