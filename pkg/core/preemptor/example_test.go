package preemptor_test

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A node runs three allocations and has 200 free of the 450 that an agent of the node needs. The one of the least
// importance that is large enough makes room, once the agent has waited for 30 seconds. What is part of the node is no victim.
func ExamplePlan() {
	var kinds resources.Kinds
	vcore := func(milli int64) resources.Amounts {
		amounts, err := kinds.Amounts(map[string]int64{"vcore": milli})
		if err != nil {
			panic(err)
		}
		return amounts
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	node := preemptor.Node{
		Kinds: &kinds, Free: vcore(200),
		On: []preemptor.Candidate{
			{Key: "web-1", Amounts: vcore(300), Priority: 1, Created: now.Add(-time.Hour)},
			{Key: "batch", Amounts: vcore(270), Created: now.Add(-time.Minute)},
			{Key: "kubelet", Amounts: vcore(900), Foreign: true, Static: true},
		},
	}
	ask := preemptor.Ask{Trigger: preemptor.RequiredNode, Key: "agent", Amounts: vcore(450), Priority: 10, Reserved: now}

	young := preemptor.Plan(now, preemptor.DefaultConfig(), ask, node)
	fmt.Println(young.Reason, "until", young.Again.Sub(now))

	decision := preemptor.Plan(now.Add(30*time.Second), preemptor.DefaultConfig(), ask, node)
	fmt.Println(decision.Reason, "by", decision.Strategy)
	for _, victim := range decision.Victims {
		fmt.Println("evict", victim.Key, kinds.Format(victim.Amounts))
	}
	for _, other := range decision.Filtered {
		fmt.Println("keep", other.Key, "since it is", other.Why)
	}
	// Output:
	// too young until 30s
	// chosen by single
	// evict batch vcore=270
	// keep kubelet since it is static
}
