package scenarios

import "time"

// Small is sizes that a test can afford.
func Small() []Case {
	cases := []Case{
		{Scenario: Filling, Size: Size{Nodes: 50, Pods: 500, Queues: 2, Applications: 2}},
		{Scenario: ManyQueues, Size: Size{Nodes: 20, Pods: 200, Queues: 20, Applications: 20}},
		{Scenario: Full, Size: Size{Nodes: 20, Waiting: 50, Rounds: 5, Watch: 200 * time.Millisecond}},
		{Scenario: Trace, Size: Size{Pods: 100, Watch: time.Second}},
		{Scenario: Daemonsets, Size: Size{Nodes: 20, Watch: 3 * time.Second}},
		{Scenario: Guarantee, Size: Size{Nodes: 10, Watch: 3 * time.Second}},
		{Scenario: Sizes, Size: Size{Nodes: 10, Watch: 3 * time.Second}},
		{Scenario: Foreign, Size: Size{Nodes: 20, Rounds: 2}},
		{Scenario: Churn, Size: Size{Nodes: 20, Pods: 180, Queues: 2, Applications: 2, Rounds: 3}},
		{Scenario: Refused, Size: Size{Nodes: 20, Waiting: 20, Rounds: 2}},
	}
	cases = append(cases, growth("nodes", []int{10, 100}, Size{Pods: 100, Queues: 1, Applications: 1})...)
	cases = append(cases, growth("pods", []int{20, 200}, Size{Nodes: 20, Queues: 1, Applications: 1})...)
	cases = append(cases, growth("queues", []int{1, 10}, Size{Nodes: 20, Pods: 100, Applications: 10})...)
	return append(cases, growth("applications", []int{1, 10}, Size{Nodes: 20, Pods: 100, Queues: 1})...)
}

// growth is a series: the size is the same but for what grows.
func growth(of string, numbers []int, size Size) []Case {
	var cases []Case
	for _, n := range numbers {
		what := map[string]*int{"nodes": &size.Nodes, "pods": &size.Pods, "queues": &size.Queues, "applications": &size.Applications}
		*what[of] = n
		cases = append(cases, Case{Scenario: Growth, Of: of, At: n, Size: size})
	}
	return cases
}

// FullSizes is sizes at which both cores come to an end within a minute or so.
func FullSizes() []Case {
	cases := []Case{
		{Scenario: Filling, Size: Size{Nodes: 5000, Pods: 20_000, Queues: 2, Applications: 2}},
		{Scenario: ManyQueues, Size: Size{Nodes: 500, Pods: 2000, Queues: 200, Applications: 200}},
		{Scenario: Full, Size: Size{Nodes: 1000, Waiting: 5000, Rounds: 20, Watch: 2 * time.Second}},
		// A part of the trace, since yunikorn-core takes minutes for more. The longest search of
		// either core is shorter than the time of the watch.
		{Scenario: Trace, Size: Size{Pods: 3000, Watch: 5 * time.Second}},
		// An ask that failed is tried again after fifteen seconds by yunikorn-core.
		{Scenario: Daemonsets, Size: Size{Nodes: 500, Watch: 20 * time.Second}},
		{Scenario: Guarantee, Size: Size{Nodes: 50, Watch: 20 * time.Second}},
		{Scenario: Sizes, Size: Size{Nodes: 50, Watch: 20 * time.Second}},
		{Scenario: Foreign, Size: Size{Nodes: 1000, Rounds: 5}},
		{Scenario: Churn, Size: Size{Nodes: 2000, Pods: 18_000, Queues: 2, Applications: 2, Rounds: 5}},
		{Scenario: Refused, Size: Size{Nodes: 200, Waiting: 200, Rounds: 5}},
	}
	cases = append(cases, growth("nodes", []int{100, 1000, 10_000}, Size{Pods: 2000, Queues: 1, Applications: 1})...)
	cases = append(cases, growth("pods", []int{1000, 3000, 9000}, Size{Nodes: 500, Queues: 1, Applications: 1})...)
	cases = append(cases, growth("queues", []int{1, 10, 100}, Size{Nodes: 200, Pods: 2000, Applications: 100})...)
	return append(cases, growth("applications", []int{1, 10, 100, 1000}, Size{Nodes: 200, Pods: 2000, Queues: 1})...)
}
