package worlds

import (
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// text is what is done in a world, as the commands of a scenario.
func (w *world) text() string {
	g, _ := play(w, nil)
	return g.script.String()
}

func when(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

// yaml is the configuration as lines.
func (w *world) yaml() []string {
	lines := []string{"partitions:", "  - name: default"}
	var preemption []string
	if w.Policy != preemptor.PreferBudgets {
		preemption = append(preemption, "preemption_disruption_budgets: "+[]string{"prefer", "strict", "hard"}[w.Policy])
	}
	if w.Priority != api.StrictlyLower {
		preemption = append(preemption, "preemption_priority: "+[]string{"strict", "equal", "off"}[w.Priority])
	}
	if w.Lowered.Queue != "" {
		preemption = append(preemption, "quotapreemptionenabled: true")
	}
	if len(preemption) > 0 {
		lines = append(lines, "    preemption: {"+strings.Join(preemption, ", ")+"}")
	}
	if w.Levels {
		lines = append(lines, "    topology: {levels: [[rack]]}")
	}
	if w.Devices || w.Scarcity {
		order := "devices"
		if w.Scarcity {
			order = "scarcity"
		}
		lines = append(lines, "    nodesortpolicy: {type: "+order+when(w.Devices, ", devices: {pods: 1}")+"}")
	}
	lines = append(lines, "    queues:", "      - name: root")
	if limits := w.limitsYAML(""); limits != "" {
		lines = append(lines, "        "+limits)
	}
	var own []string
	if w.Backoff > 0 {
		own = append(own, fmt.Sprintf("application.unschedasks.backoff: \"%d\"", w.Backoff))
	}
	if w.Whole {
		own = append(own, "gang.start: whole")
	}
	if w.Lowered.Queue != "" {
		own = append(own, fmt.Sprintf("quota.preemption.delay: %ds", w.Lowered.Delay))
	}
	if len(own) > 0 {
		lines = append(lines, "        properties: {"+strings.Join(own, ", ")+"}")
	}
	lines = append(lines, "        queues:")
	for _, q := range w.Queues {
		indent := strings.Repeat("    ", strings.Count(q.Name, ".")+2) + "  "
		lines = append(lines, indent+"- name: "+q.Name[strings.LastIndexByte(q.Name, '.')+1:])
		var most, properties []string
		if q.Guaranteed != (amounts{}) {
			most = append(most, "guaranteed: "+q.Guaranteed.yaml())
		}
		if q.Max != (amounts{}) {
			most = append(most, "max: "+q.Max.yaml())
		}
		if q.Policy != api.PreemptionDefault {
			properties = append(properties, "preemption.policy: "+[]string{"default", "fence", "disabled"}[q.Policy])
		}
		if q.Fence {
			properties = append(properties, "priority.policy: fence")
		}
		if q.Offset != 0 {
			properties = append(properties, fmt.Sprintf("priority.offset: \"%d\"", q.Offset))
		}
		if len(most) > 0 {
			lines = append(lines, indent+"  resources: {"+strings.Join(most, ", ")+"}")
		}
		if len(properties) > 0 {
			lines = append(lines, indent+"  properties: {"+strings.Join(properties, ", ")+"}")
		}
		if limits := w.limitsYAML(q.Name); limits != "" {
			lines = append(lines, indent+"  "+limits)
		}
		if !w.leaf(q.Name) {
			lines = append(lines, indent+"  queues:")
		}
	}
	return lines
}
