//go:build compare

package compare

import (
	"fmt"
	"math/rand/v2"
)

// slots is how many pods of the smallest size fit on a node.
const slots = 16

// A job is pods that start together.
type job struct {
	name     string
	pods     int
	slots    int  // of each pod
	leader   int  // slots of the last pod, if it has others
	plain    bool // they are no group
	rack     bool // they run in one rack
	all      bool // they end together, if they are evicted
	priority int
	on       []string // nodes on which the pods run already; nil for those that come
}

// A world is nodes in racks, what runs there, and the jobs that come.
type world struct {
	name  string
	racks []int // nodes of each
	runs  []job
	jobs  []job
}

// slotsOf is how many slots a pod of the job has.
func (j job) slotsOf(pod int) int {
	if j.leader > 0 && pod == j.pods-1 {
		return j.leader
	}
	return j.slots
}

// asked is how many pods come.
func (w *world) asked() (pods int) {
	for _, j := range w.jobs {
		pods += j.pods
	}
	return pods
}

func nodeName(rack, node int) string { return fmt.Sprintf("r%02d-n%02d", rack, node) }
func rackName(rack int) string       { return fmt.Sprintf("r%02d", rack) }

// busy is a pod that takes so many slots of a node.
func busy(rack, node, slots int) job {
	name := nodeName(rack, node)
	return job{name: "busy-" + name, pods: 1, slots: slots, plain: true, on: []string{name}}
}

// uniform is a world of equal racks and equal jobs.
func uniform(name string, racks, nodes, jobs int, of job) world {
	w := world{name: name}
	for range racks {
		w.racks = append(w.racks, nodes)
	}
	for i := range jobs {
		of.name = fmt.Sprintf("job-%04d", i)
		w.jobs = append(w.jobs, of)
	}
	return w
}

// used is a world of forty racks of sixteen nodes, in each of which some nodes are taken, and jobs of two, four, eight and sixteen whole nodes in one rack
// that come as long as there are nodes for them in sum.
func used(seed uint64) world {
	chance := rand.New(rand.NewPCG(seed, 37))
	w := world{name: "racks in use"}
	free := 0
	for rack := range 40 {
		w.racks = append(w.racks, 16)
		taken := chance.IntN(17)
		for node := range taken {
			w.runs = append(w.runs, busy(rack, node, slots))
		}
		free += 16 - taken
	}
	for i := 0; free > 0; i++ {
		pods := 2 << chance.IntN(4)
		free -= pods
		w.jobs = append(w.jobs, job{name: fmt.Sprintf("job-%04d", i), pods: pods, slots: slots, rack: true})
	}
	return w
}

// full is a world of a hundred nodes with ten pods each, in gangs of so many, and a gang of a hundred whole nodes that is more important.
func full(gangs int) world {
	w := world{name: fmt.Sprintf("a gang of 100 evicts %d gangs", gangs)}
	for range 10 {
		w.racks = append(w.racks, 10)
	}
	for gang := range gangs {
		of := job{name: fmt.Sprintf("runs-%04d", gang), pods: 1000 / gangs, slots: 1, priority: 1}
		for pod := range of.pods {
			node := (gang*of.pods + pod) / 10
			of.on = append(of.on, nodeName(node/10, node%10))
		}
		w.runs = append(w.runs, of)
	}
	w.jobs = []job{{name: "job-0000", pods: 100, slots: slots, priority: 10}}
	return w
}

// contested is a world of ten racks of eight nodes, all of which are taken: by gangs of two to eight whole nodes, of which every other one ends as a whole, or by two
// pods each. Three gangs come that are more important, of four, four and eight whole nodes in one rack.
func contested(seed uint64) world {
	chance := rand.New(rand.NewPCG(seed, 43))
	w := world{name: "full racks"}
	for rack := range 10 {
		w.racks = append(w.racks, 8)
		for node := 0; node < 8; {
			size := min(8-node, 1+chance.IntN(8))
			of := job{name: fmt.Sprintf("runs-%02d-%02d", rack, node), pods: size, slots: slots, priority: 1 + chance.IntN(4), all: chance.IntN(2) == 0}
			if size == 1 {
				of.pods, of.slots, of.plain, of.all = 2, slots/2, true, false
			}
			for pod := range of.pods {
				of.on = append(of.on, nodeName(rack, node+pod*size/of.pods))
			}
			w.runs = append(w.runs, of)
			node += size
		}
	}
	for i, pods := range []int{4, 4, 8} {
		w.jobs = append(w.jobs, job{name: fmt.Sprintf("job-%04d", i), pods: pods, slots: slots, rack: true, priority: 10})
	}
	return w
}

// uneven is a world of forty nodes, on which a part is taken, and gangs of a leader and three small workers that come as long as there are slots for them in sum.
func uneven(seed uint64) world {
	chance := rand.New(rand.NewPCG(seed, 47))
	w := world{name: "nodes in use", racks: []int{40}}
	free := 0
	for node := range 40 {
		taken := 1 + chance.IntN(slots-1)
		w.runs = append(w.runs, busy(0, node, taken))
		free += slots - taken
	}
	for i := 0; free > 0; i++ {
		of := job{name: fmt.Sprintf("job-%04d", i), pods: 4, slots: 2, leader: 6 + chance.IntN(7)}
		free -= 3*of.slots + of.leader
		w.jobs = append(w.jobs, of)
	}
	return w
}
