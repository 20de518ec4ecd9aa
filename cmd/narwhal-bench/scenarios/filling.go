package scenarios

import (
	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/driver"
)

// fill asks for all pods at once, of two amounts, on nodes with room for a little more than their
// part. The time is from the first request to the last placement.
func fill(r *run) error {
	queues := queuesOf(r.Size.Queues)
	perNode := int64((r.Size.Pods+r.Size.Nodes-1)/r.Size.Nodes) + 2
	err := r.register(queues, nodesOf(r.Size.Nodes, units(perNode)), applicationsOf(r.Size.Applications, queues))
	if err != nil {
		return err
	}
	pods := podsOf("pod", r.Size.Pods, r.Size.Applications, units(1))
	r.driver.Know(pods)
	r.driver.ExpectEntries(2 * len(pods))
	before := driver.Heap()
	requests := r.driver.Requests(pods)
	from := driver.Begin()
	if err := r.driver.SendAll(requests); err != nil {
		return err
	}
	at, err := r.driver.AwaitPlaced(r.ctx, len(pods))
	if err != nil {
		return err
	}
	to := driver.Used()
	r.report("placements", "1/s", Higher, perSecond(len(pods), at.Sub(from.Wall)))
	r.reportUse("placement", len(pods), from, to)
	clear(requests)
	r.report("heap of each pod", "B", Lower, float64(driver.Heap()-before)/float64(len(pods)))
	r.wrong(r.driver.CheckNothingFits())
	return nil
}
