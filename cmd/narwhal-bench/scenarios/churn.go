package scenarios

import (
	"fmt"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/driver"
)

// churn ends a tenth of the pods of a cluster that is full to nine tenths, and asks for as
// many, round by round.
func churn(r *run) error {
	perNode := int64(r.Size.Pods/r.Size.Nodes) * 10 / 9
	queues := queuesOf(r.Size.Queues)
	err := r.register(queues, nodesOf(r.Size.Nodes, units(perNode)), applicationsOf(r.Size.Applications, queues))
	if err != nil {
		return err
	}
	running := podsOf("pod", r.Size.Pods, r.Size.Applications, units(1))
	if err := r.driver.Send(running...); err != nil {
		return err
	}
	if _, err := r.driver.AwaitPlaced(r.ctx, len(running)); err != nil {
		return err
	}
	part := r.Size.Pods / 10
	r.driver.ExpectEntries(3 * part * r.Size.Rounds)
	rounds := make([][]*si.AllocationRequest, r.Size.Rounds)
	for i := range rounds {
		fresh := podsOf(fmt.Sprintf("round%d", i), part, r.Size.Applications, units(1))
		r.driver.Know(fresh)
		begin := i * part % len(running)
		ending := running[begin : begin+part]
		rounds[i] = append(r.driver.Endings(ending), r.driver.Requests(fresh)...)
		copy(ending, fresh)
	}
	from := driver.Begin()
	for i, requests := range rounds {
		if err := r.driver.SendAll(requests); err != nil {
			return err
		}
		if _, err := r.driver.AwaitPlaced(r.ctx, len(running)+(i+1)*part); err != nil {
			return fmt.Errorf("round %d: %w", i+1, err)
		}
	}
	to := driver.Used()
	replaced := part * r.Size.Rounds
	r.report("replacements", "1/s", Higher, perSecond(replaced, to.Wall.Sub(from.Wall)))
	r.reportUse("replacement", replaced, from, to)
	r.wrong(r.driver.CheckNothingFits())
	return nil
}

// foreign reports pods of another scheduler, then ends them. A small ask after them shows
// when they are booked, since a core takes the allocations of a resource manager in order. In the
// end the room must be there again.
func foreign(r *run) error {
	const perNode = 20
	queues := queuesOf(1)
	count := r.Size.Nodes * perNode
	err := r.register(queues, nodesOf(r.Size.Nodes, units(perNode+1)), applicationsOf(1, queues))
	if err != nil {
		return err
	}
	strangers := make([]*driver.Pod, count)
	for i := range strangers {
		strangers[i] = &driver.Pod{Key: fmt.Sprintf("foreign-%07d", i), Wants: units(1), Node: nodeID(i % r.Size.Nodes), Foreign: true}
	}
	last := podsOf("small", 2*r.Size.Rounds, 1, driver.Amounts{Vcore: 1, Memory: 1})
	whole := podsOf("whole", r.Size.Nodes, 1, driver.Amounts{Vcore: perNode*1000 + 500, Memory: perNode * gib})
	r.driver.Know(slices.Concat(strangers, last, whole))
	r.driver.ExpectEntries(2*count*r.Size.Rounds + 4*len(last) + 2*len(whole))
	come, end := make([][]*si.AllocationRequest, r.Size.Rounds), make([][]*si.AllocationRequest, r.Size.Rounds)
	for i := range come {
		come[i] = append(r.driver.Requests(strangers), r.driver.Requests(last[2*i:2*i+1])...)
		end[i] = append(r.driver.Endings(strangers), r.driver.Requests(last[2*i+1:2*i+2])...)
	}
	var in, out time.Duration
	from := driver.Begin()
	for i := range come {
		took, err := r.sendUntil(come[i], 2*i+1)
		if err != nil {
			return fmt.Errorf("in, round %d: %w", i+1, err)
		}
		in += took
		if took, err = r.sendUntil(end[i], 2*i+2); err != nil {
			return fmt.Errorf("out, round %d: %w", i+1, err)
		}
		out += took
	}
	to := driver.Used()
	n := float64(count * r.Size.Rounds)
	r.report("foreign pods in", "µs", Lower, float64(in.Nanoseconds())/1e3/n)
	r.report("foreign pods out", "µs", Lower, float64(out.Nanoseconds())/1e3/n)
	r.reportUse("foreign pod", 2*count*r.Size.Rounds, from, to)
	if err := r.driver.Send(whole...); err != nil {
		return err
	}
	if _, err := r.driver.AwaitPlaced(r.ctx, len(last)+len(whole)); err != nil {
		return fmt.Errorf("room of foreign pods that ended: %w", err)
	}
	r.wrong(r.driver.CheckNothingFits())
	return nil
}

// sendUntil sends requests and returns how long it takes until so many pods are placed.
func (r *run) sendUntil(requests []*si.AllocationRequest, placed int) (time.Duration, error) {
	began := time.Now()
	if err := r.driver.SendAll(requests); err != nil {
		return 0, err
	}
	at, err := r.driver.AwaitPlaced(r.ctx, placed)
	return at.Sub(began), err
}
