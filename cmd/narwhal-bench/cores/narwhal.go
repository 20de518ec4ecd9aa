package cores

import (
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// startNarwhal has metrics, since those of yunikorn-core cannot be switched off. Evictions
// begin at once, as they do there: nothing is restarted.
func startNarwhal() (*Core, error) {
	s, err := scheduler.New(scheduler.Config{SettleDelay: -1, EchoAdopted: true, Metrics: metrics.New()})
	if err != nil {
		return nil, err
	}
	return &Core{
		SchedulerAPI: s,
		Partition:    "  preemption:\n    preemption_start_delay: 0s\n",
		Extra:        withoutEvents,
		End:          s.Stop,
	}, nil
}
