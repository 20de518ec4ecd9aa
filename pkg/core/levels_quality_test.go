package core_test

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A rackLoad is jobs that come to racks of sixteen nodes without end: of 1, 2, 4, 8 and 16 whole nodes in one rack, or of quarters of a
// node. Gangs that find no rack are passed over, and none has room kept for it.
type rackLoad struct {
	*rand.Rand
	p        *core.Partition
	now      time.Time
	ends     jobEnds
	arrived  map[string]time.Time // of gangs of sixteen that wait
	waits    []time.Duration      // of those that started
	quarters bool
	busy     [rackCount]int // members that run, by rack
	intact   float64        // racks times seconds
	used     float64        // nodes times seconds
	runs     float64
}

const (
	rackCount = 40
	rackSize  = 16
	jobsMost  = 30_000
	whole     = 4 // quarters of a node
)

type jobEnd struct {
	at  time.Time
	key api.AllocationKey
	of  string
	on  api.NodeID
	is  int64
}

type jobEnds []jobEnd

func (e jobEnds) Len() int           { return len(e) }
func (e jobEnds) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e jobEnds) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *jobEnds) Push(x any)        { *e = append(*e, x.(jobEnd)) }
func (e *jobEnds) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func newRackLoad(seed uint64, order api.NodeOrder, levels [][]string, quarters bool) *rackLoad {
	l := &rackLoad{Rand: rand.New(rand.NewPCG(seed, 5)), now: start, arrived: map[string]time.Time{}, quarters: quarters}
	l.p = core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1, BatchMax: 10_000}, api.Config{
		Name: "default", Levels: levels, Nodes: order,
		Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "default"}}},
	})
	for i := range rackCount * rackSize { // the names of nodes say nothing of racks
		l.p.Apply(start, api.AddNode{
			ID: api.NodeID(fmt.Sprintf("%03d-%02d", i/rackCount, i%rackCount)), Capacity: resources.Amounts{whole},
			Attributes: map[string]string{"rack": fmt.Sprintf("r%02d", i%rackCount)},
		})
	}
	l.p.Apply(start, api.AddApplication{ID: "a"})
	return l
}

// job asks for a job.
func (l *rackLoad) job(number int) {
	size, each, chance := 1, int64(whole), l.IntN(100)
	for _, of := range []struct{ below, size int }{{62, 1}, {76, 2}, {86, 4}, {95, 8}, {100, 16}} {
		if chance < of.below {
			size = of.size
			break
		}
	}
	if l.quarters && size == 1 {
		size, each = 4, 1
	}
	name := fmt.Sprintf("j%05d", number)
	if size == 16 {
		l.arrived[name] = l.now
	}
	for i := range size {
		member := ask("a", fmt.Sprintf("%s-%02d", name, i), each)
		member.Allocation.Created = l.now
		if each == whole && size > 1 {
			member.Allocation.Tags = quorumTags(name, size)
			member.Allocation.Tags[api.TagQuorumRequire] = "rack"
		}
		l.p.Apply(l.now, member)
	}
}

// moveTo lets time pass, with what is due meanwhile.
func (l *rackLoad) moveTo(at time.Time) {
	for {
		due, is := l.p.Due()
		if !is || due.After(at) {
			break
		}
		l.pass(due)
		l.schedule()
	}
	l.pass(at)
}

func (l *rackLoad) pass(at time.Time) {
	seconds := max(at.Sub(l.now).Seconds(), 0)
	for _, busy := range l.busy {
		if busy == 0 {
			l.intact += seconds
		}
	}
	l.used += l.runs * seconds
	if at.After(l.now) {
		l.now = at
	}
}

func (l *rackLoad) schedule() {
	length := map[string]time.Duration{}
	for more := true; more; {
		var fx api.Effects
		fx, more = l.p.Schedule(l.now)
		for _, e := range fx {
			placed, is := e.(api.Placed)
			if !is {
				continue
			}
			name := string(placed.Key[:6])
			if since, is := l.arrived[name]; is {
				l.waits = append(l.waits, l.now.Sub(since))
				delete(l.arrived, name)
			}
			if length[name] == 0 { // mean one hour
				length[name] = time.Duration(math.Exp(l.NormFloat64()-0.5) * float64(time.Hour))
			}
			heap.Push(&l.ends, jobEnd{l.now.Add(length[name]), placed.Key, name, placed.Node, placed.Amounts.Of(0)})
			l.busy[rackOf(placed.Node)]++
			l.runs += float64(placed.Amounts.Of(0)) / whole
		}
	}
}

func rackOf(n api.NodeID) (rack int) {
	_, _ = fmt.Sscanf(string(n[4:]), "%02d", &rack)
	return rack
}

// play plays all jobs at a load of 0.85.
func (l *rackLoad) play() {
	const meanNodes = 0.62 + 2*0.14 + 4*0.10 + 8*0.09 + 16*0.05
	rate := 0.85 * rackCount * rackSize / meanNodes // jobs an hour
	next := start
	for number := 0; number < jobsMost; {
		if len(l.ends) > 0 && l.ends[0].at.Before(next) {
			end := heap.Pop(&l.ends).(jobEnd)
			l.moveTo(end.at)
			l.p.Apply(l.now, api.ReleaseAllocation{Application: "a", Key: end.key})
			l.busy[rackOf(end.on)]--
			l.runs -= float64(end.is) / whole
			l.schedule()
			continue
		}
		l.moveTo(next)
		l.job(number)
		l.schedule()
		number++
		next = next.Add(time.Duration(l.ExpFloat64() / rate * float64(time.Hour)))
	}
	for _, since := range l.arrived { // those that still wait have done so until now
		l.waits = append(l.waits, l.now.Sub(since))
	}
}

// BenchmarkDomainQuality measures how long gangs of 16 nodes wait for a rack, where single asks go to different nodes: 40 racks of 16 nodes, gangs of 1 to
// 16 nodes, load 0.85, 30,000 jobs, seeds 1 to 3.
//
//	go test -run - -bench DomainQuality -benchtime 1x ./pkg/core
func BenchmarkDomainQuality(b *testing.B) {
	for _, row := range []struct {
		name   string
		order  api.NodeOrder
		levels [][]string
	}{
		{"fair", api.NodeOrder{}, nil},
		{"packing", api.NodeOrder{Packing: true}, nil},
		{"packing with levels", api.NodeOrder{Packing: true}, [][]string{{"rack"}}},
	} {
		for _, quarters := range []bool{false, true} {
			for seed := range uint64(3) {
				b.Run(fmt.Sprintf("%s/quarters=%t/seed=%d", row.name, quarters, seed+1), func(b *testing.B) {
					for range b.N {
						l := newRackLoad(seed+1, row.order, row.levels, quarters)
						l.play()
						var sum time.Duration
						for _, wait := range l.waits {
							sum += wait
						}
						seconds := l.now.Sub(start).Seconds()
						b.ReportMetric(sum.Hours()/float64(len(l.waits)), "wait-h")
						b.ReportMetric(l.intact/seconds, "intact")
						b.ReportMetric(l.used/seconds/(rackCount*rackSize), "used")
					}
				})
			}
		}
	}
}
