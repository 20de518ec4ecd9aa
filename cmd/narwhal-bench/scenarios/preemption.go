package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/driver"
)

// A tenant is one of the pods that fill a node.
type tenant struct {
	vcore, memory int64 // thousandths of a core, GiB
	priority      int32
	is            string // empty, owner or opted out
}

// agent is what each node of a roll-out is asked to run, with its priority.
var agent = driver.Amounts{Vcore: 2000, Memory: 4 * gib}

const agentPriority = 10

// layouts are how nodes of a roll-out are filled, in turn. Each is another problem for the
// choice of victims.
var layouts = [][]tenant{
	// One pod has the right size.
	{{2000, 4, 0, ""}, {1000, 2, 0, ""}, {500, 1, 0, ""}, {4000, 8, 0, ""}, {3000, 6, 0, ""}, {2000, 4, 5, ""}, {1000, 1, 5, ""}, {500, 4, 0, "owner"}},
	// Two of middle size, and small ones.
	{{1000, 2, 0, ""}, {1000, 2, 0, ""}, {500, 1, 0, ""}, {500, 1, 0, ""}, {2000, 4, 5, ""}, {8000, 16, 11, ""}, {1000, 2, 0, "opted out"}},
	// Cores and memory are held by different pods.
	{{1500, 1, 0, ""}, {500, 3, 0, ""}, {1500, 1, 0, ""}, {250, 2, 0, ""}, {250, 2, 0, ""}, {100, 16, 8, ""}, {2000, 4, 0, "opted out"}},
	// What does not ask to be spared is not enough.
	{{500, 1, 0, ""}, {500, 1, 0, ""}, {250, 1, 0, ""}, {8000, 16, 20, ""}, {1500, 3, 0, "owner"}, {4000, 8, 0, "opted out"}},
	// Many small ones.
	{{300, 1, 0, ""}, {300, 1, 0, ""}, {300, 1, 1, ""}, {400, 1, 1, ""}, {500, 1, 1, ""}, {500, 1, 2, ""}, {600, 1, 2, ""}, {700, 2, 3, ""}, {800, 2, 3, "owner"}},
}

// size is what a layout fills.
func size(on []tenant) (total driver.Amounts) {
	for _, t := range on {
		total.Vcore += t.vcore
		total.Memory += t.memory * gib
	}
	return total
}

// fewest is the least number of pods of a layout that make room for an agent, whatever their
// owners think of it.
func fewest(on []tenant) int {
	best := len(on)
	for set := range uint(1) << len(on) {
		var freed driver.Amounts
		allowed := true
		for i, t := range on {
			if set&(1<<i) != 0 {
				freed.Vcore, freed.Memory = freed.Vcore+t.vcore, freed.Memory+t.memory*gib
				allowed = allowed && t.priority <= agentPriority
			}
		}
		if allowed && freed.Vcore >= agent.Vcore && freed.Memory >= agent.Memory {
			best = min(best, bits.OnesCount(set))
		}
	}
	return best
}

// daemonsets rolls an agent out over full nodes, all at once.
func daemonsets(r *run) error {
	queues := queuesOf(1)
	nodes := make([]driver.Node, r.Size.Nodes)
	var running, agents []*driver.Pod
	least := 0
	for i := range nodes {
		on := layouts[i%len(layouts)]
		nodes[i] = driver.Node{ID: nodeID(i), Has: size(on)}
		least += fewest(on)
		for j, t := range on {
			running = append(running, &driver.Pod{
				Key: fmt.Sprintf("tenant-%06d-%d", i, j), Application: applicationID(0), Node: nodeID(i),
				Wants:    driver.Amounts{Vcore: t.vcore, Memory: t.memory * gib},
				Priority: t.priority, OptedOut: t.is == "opted out", Owner: t.is == "owner",
			})
		}
		agents = append(agents, &driver.Pod{
			Key: fmt.Sprintf("agent-%06d", i), Application: applicationID(1), Required: nodeID(i), Wants: agent, Priority: agentPriority,
		})
	}
	// yunikorn-core preempts for a required node only while the cluster as a whole has room,
	// so there is a node that is asked for nothing.
	spare := driver.Node{ID: "spare", Has: driver.Amounts{Vcore: agent.Vcore * int64(len(agents)), Memory: agent.Memory * int64(len(agents))}}
	if err := r.register(queues, append(nodes, spare), applicationsOf(2, queues)); err != nil {
		return err
	}
	return r.preempt(running, agents, least)
}

// preempt reports pods that run, then asks for others, and measures until those are placed.
func (r *run) preempt(running, asks []*driver.Pod, least int) error {
	if err := r.driver.Send(running...); err != nil {
		return err
	}
	if _, err := r.driver.AwaitPlaced(r.ctx, len(running)); err != nil {
		return err
	}
	r.driver.Know(asks)
	r.driver.ExpectEntries(10 * len(asks))
	from := driver.Begin()
	if err := r.driver.SendAll(r.driver.Requests(asks)); err != nil {
		return err
	}
	at, failure := r.placedOrQuiet(len(running) + len(asks))
	to := driver.Used()
	if failure == nil {
		r.report("time until all are placed", "ms", Lower, float64(at.Sub(from.Wall).Microseconds())/1e3)
		r.reportUse("ask", len(asks), from, to)
	}
	victims, served := float64(r.driver.Victims()), r.driver.Placed()-len(running)
	if failure == nil {
		r.report("victims", "", Lower, victims)
	} else {
		// Fewer are no merit where fewer asks are served.
		r.report("victims, not for all asks", "", Equal, victims)
	}
	r.report("victims for each ask placed", "", Lower, victims/float64(max(1, served)))
	r.report("fewest possible", "", Equal, float64(least))
	r.report("asks left", "", Lower, float64(len(asks)-served))
	r.wrong(r.driver.Check())
	return failure
}

// errRest says that nothing more happens.
var errRest = errors.New("the core has come to rest")

// placedOrQuiet returns when so many pods are placed, or with an error when nothing is heard
// for as long as the core is watched.
func (r *run) placedOrQuiet(pods int) (time.Time, error) {
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	go func() {
		if _, err := r.driver.AwaitQuiet(ctx, r.Size.Watch); err == nil {
			cancel(errRest)
		}
	}()
	return r.driver.AwaitPlaced(ctx, pods)
}

// What runs in a cluster of ten nodes when the owner of a half of it comes: so many pods of so
// many units, 200 in all. 50 pods of two units need the room of 28 of them.
var borrowed = []struct {
	pods  int
	units int64
}{{22, 4}, {35, 2}, {42, 1}}

const (
	borrowedNodes = 10
	borrowedUnits = 20 // of each node
	owedPods      = 50
	owedUnits     = 2 // of each pod, or of a pod on average
)

// guarantee has a queue ask for the half that it is owed. The cluster of ten nodes is there as
// often as the size says.
func guarantee(r *run) error { return r.claim([]int64{owedUnits}) }

// guaranteeOfSizes is the same with pods of different sizes, which hold about as much together.
func guaranteeOfSizes(r *run) error { return r.claim([]int64{owedUnits, owedUnits - 1, owedUnits + 1}) }

// claim has pods of so many units asked for in turn.
func (r *run) claim(sizes []int64) error {
	times := r.Size.Nodes / borrowedNodes
	owed := units(int64(times) * owedPods * owedUnits)
	queues := []queue{
		{name: "borrower", properties: "preemption.delay: 1s"},
		{name: "owner", guaranteed: &owed, properties: "preemption.delay: 1s"},
	}
	err := r.register(queues, nodesOf(times*borrowedNodes, units(borrowedUnits)), applicationsOf(2, queues))
	if err != nil {
		return err
	}
	var running []*driver.Pod
	for _, b := range borrowed {
		for range b.pods * times {
			// The sizes come in falling order, so that the nodes are filled evenly and without a rest.
			running = append(running, &driver.Pod{
				Key: fmt.Sprintf("borrower-%06d", len(running)), Application: applicationID(0), Wants: units(b.units), Aged: true,
			})
		}
	}
	spread(running, times*borrowedNodes)
	asks := podsOf("owner", times*owedPods, 1, units(owedUnits))
	var wanted int64
	for i, p := range asks {
		// Each cluster of ten nodes has the same asks, which hold no more than what is owed.
		p.Wants = units(sizes[i%owedPods%len(sizes)])
		p.Application, p.Aged = applicationID(1), true
		wanted += p.Wants.Vcore / 1000
	}
	return r.preempt(running, asks, fewestBorrowed(times, wanted))
}

// fewestBorrowed is how many borrowed pods hold so many units at least: the largest first.
func fewestBorrowed(times int, wanted int64) (pods int) {
	for _, b := range borrowed {
		n := min(int64(b.pods*times), max(0, wanted)/b.units)
		pods, wanted = pods+int(n), wanted-n*b.units
	}
	return pods
}

// spread puts pods on the nodes in turn, each on the next one that has room.
func spread(pods []*driver.Pod, nodes int) {
	free := make([]int64, nodes)
	for i := range free {
		free[i] = borrowedUnits * 1000
	}
	next := 0
	for _, p := range pods {
		for free[next%nodes] < p.Wants.Vcore {
			next++
		}
		p.Node = nodeID(next % nodes)
		free[next%nodes] -= p.Wants.Vcore
		next++
	}
}
