package scenarios

import "time"

// Small is sizes that a test can afford.
func Small() []Case {
	return []Case{
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
		{Scenario: Growth, Of: "nodes", At: 10, Size: Size{Nodes: 10, Pods: 100, Queues: 1, Applications: 1}},
		{Scenario: Growth, Of: "nodes", At: 100, Size: Size{Nodes: 100, Pods: 100, Queues: 1, Applications: 1}},
	}
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
	grow := func(of string, sizes []int, at func(int) Size) {
		for _, n := range sizes {
			cases = append(cases, Case{Scenario: Growth, Of: of, At: n, Size: at(n)})
		}
	}
	grow("nodes", []int{100, 1000, 10_000}, func(n int) Size {
		return Size{Nodes: n, Pods: 2000, Queues: 1, Applications: 1}
	})
	grow("pods", []int{1000, 3000, 9000}, func(n int) Size {
		return Size{Nodes: 500, Pods: n, Queues: 1, Applications: 1}
	})
	grow("queues", []int{1, 10, 100}, func(n int) Size {
		return Size{Nodes: 200, Pods: 2000, Queues: n, Applications: 100}
	})
	grow("applications", []int{1, 10, 100, 1000}, func(n int) Size {
		return Size{Nodes: 200, Pods: 2000, Queues: 1, Applications: n}
	})
	return cases
}
