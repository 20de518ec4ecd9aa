package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A choice is a plugin that a random policy may enable, with arguments as YAML.
type choice struct {
	name, point, args string
	goal              string
}

// opposes says whether two plugins undo what the other does: those that measure nodes in
// different ways, and one that empties nodes against those that spread pods.
func (c choice) opposes(other choice) bool {
	measures := []string{"low", "high", "load"}
	spreads := []string{"spread", "duplicates"}
	return slices.Contains(measures, c.goal) && slices.Contains(measures, other.goal) ||
		c.goal == "high" && slices.Contains(spreads, other.goal) || other.goal == "high" && slices.Contains(spreads, c.goal)
}

// choices are all plugins that evict, each with arguments of its own.
var choices = []choice{
	{name: "PodLifeTime", point: "deschedule", args: "{maxPodLifeTimeSeconds: 3600}"},
	{name: "RemoveFailedPods", point: "deschedule", args: "{minPodLifetimeSeconds: 60}"},
	{name: "RemovePodsHavingTooManyRestarts", point: "deschedule", args: "{podRestartThreshold: 4}"},
	{name: "RemovePodsViolatingInterPodAntiAffinity", point: "deschedule", args: "{}"},
	{name: "RemovePodsViolatingNodeAffinity", point: "deschedule", args: "{nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]}"},
	{name: "RemovePodsViolatingNodeTaints", point: "deschedule", args: "{}"},
	{name: "RemovePodsViolatingTopologySpreadConstraint", point: "balance", args: "{}", goal: "spread"},
	{name: "RemoveDuplicates", point: "balance", args: "{}", goal: "duplicates"},
	{name: "LowNodeUtilization", point: "balance", goal: "low", args: "{thresholds: {cpu: 30, memory: 30}, targetThresholds: {cpu: 50, memory: 50}}"},
	{name: "LowNodeUtilization", point: "balance", goal: "low", args: "{useDeviationThresholds: true, thresholds: {cpu: 10, pods: 10}, targetThresholds: {cpu: 10, pods: 10}}"},
	{name: "HighNodeUtilization", point: "balance", goal: "high", args: "{thresholds: {cpu: 40, memory: 40}}"},
	{name: "LowNodeLoad", point: "balance", goal: "load", args: "{lowThresholds: {cpu: 30, memory: 30}, highThresholds: {cpu: 50, memory: 50}, anomalyCondition: {consecutiveAbnormalities: 1}}"},
}

// pointOf is the point of a plugin.
func pointOf(plugin string) string {
	i := slices.IndexFunc(choices, func(c choice) bool { return c.name == plugin })
	return choices[i].point
}

// policyOf is a policy with one profile for each plugin, and what stands on top.
func policyOf(top string, evictor string, of ...choice) string {
	text := "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n" + top + "profiles:\n"
	for i, c := range of {
		text += fmt.Sprintf(`- name: p%d
  pluginConfig:
  - {name: %s, args: %s}
  - {name: DefaultEvictor, args: %s}
  plugins:
    %s: {enabled: [%s]}
    preevictionfilter: {enabled: [QueueProtection]}
`, i, c.name, c.args, evictor, c.point, c.name)
	}
	return text
}

// randomLimits are some of the limits there are.
func randomLimits(r *rand.Rand) string {
	var text strings.Builder
	for _, key := range []string{
		"maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace", "maxNoOfPodsToEvictPerWorkload", "maxNoOfPodsToEvictTotal",
	} {
		if r.IntN(3) == 0 {
			fmt.Fprintf(&text, "%s: %d\n", key, 1+r.IntN(5))
		}
	}
	return text.String()
}
