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
	name  string
	pods  int
	slots int  // of each pod
	plain bool // they are no group
	rack  bool // they run in one rack
}

// A world is nodes in racks, what runs there, and the jobs that come.
type world struct {
	name  string
	racks []int          // nodes of each
	busy  map[string]int // slots that pods hold which run already, by node
	jobs  []job
}

func nodeName(rack, node int) string { return fmt.Sprintf("r%02d-n%02d", rack, node) }
func rackName(rack int) string       { return fmt.Sprintf("r%02d", rack) }

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
	w := world{name: "racks in use", busy: map[string]int{}}
	free := 0
	for rack := range 40 {
		w.racks = append(w.racks, 16)
		taken := chance.IntN(17)
		for node := range taken {
			w.busy[nodeName(rack, node)] = slots
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
