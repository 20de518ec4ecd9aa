package scenarios

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/cores"
	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/driver"
)

// A run is a case that is played.
type run struct {
	Case
	ctx    context.Context //nolint:containedctx // a run has the life of its context
	core   *cores.Core
	driver *driver.Driver
	result Result
}

// report adds a figure.
func (r *run) report(name, unit string, better Better, value float64) {
	r.result.Figures = append(r.result.Figures, Figure{name, unit, better, value})
}

// reportUse adds what each of a number of decisions cost.
func (r *run) reportUse(of string, decisions int, from, to driver.Use) {
	n := float64(decisions)
	r.report("processor for each "+of, "µs", Lower, float64((to.Processor-from.Processor).Nanoseconds())/1e3/n)
	r.report("objects for each "+of, "", Lower, float64(to.Objects-from.Objects)/n)
	r.report("memory allocated for each "+of, "B", Lower, float64(to.Bytes-from.Bytes)/n)
}

// wrong takes what a check found.
func (r *run) wrong(faults []string) { r.result.Faults = append(r.result.Faults, faults...) }

// A queue is a leaf queue below root.
type queue struct {
	name       string
	guaranteed *driver.Amounts
	properties string // lines of YAML, without indentation
}

// register makes the cluster known: queues, nodes, applications.
func (r *run) register(queues []queue, nodes []driver.Node, applications []driver.Application) error {
	if err := r.driver.Register(r.config(queues), r.core.Extra); err != nil {
		return err
	}
	if err := r.driver.AddNodes(r.ctx, nodes); err != nil {
		return err
	}
	return r.driver.AddApplications(r.ctx, applications)
}

// config is the configuration of queues below root, in which every user may submit.
func (r *run) config(queues []queue) string {
	var b strings.Builder
	b.WriteString("partitions:\n- name: default\n" + r.core.Partition)
	b.WriteString("  queues:\n  - name: root\n    submitacl: '*'\n    properties:\n      application.sort.policy: fifo\n    queues:\n")
	for _, q := range queues {
		fmt.Fprintf(&b, "    - name: %s\n", q.name)
		if q.properties != "" {
			b.WriteString("      properties:\n")
			for line := range strings.Lines(q.properties) {
				b.WriteString("        " + strings.TrimSpace(line) + "\n")
			}
		}
		if g := q.guaranteed; g != nil {
			fmt.Fprintf(&b, "      resources:\n        guaranteed:\n          vcore: %dm\n          memory: %d\n", g.Vcore, g.Memory)
		}
	}
	return b.String()
}

// gib is the memory of a unit.
const gib = 1 << 30

// units is so many thousands of a core, with a GiB for each.
func units(n int64) driver.Amounts { return driver.Amounts{Vcore: n * 1000, Memory: n * gib} }

// nodesOf is equal nodes.
func nodesOf(n int, has driver.Amounts) []driver.Node {
	nodes := make([]driver.Node, n)
	for i := range nodes {
		nodes[i] = driver.Node{ID: nodeID(i), Has: has}
	}
	return nodes
}

func nodeID(i int) string { return fmt.Sprintf("node-%06d", i) }

// applicationsOf is applications over queues in turn.
func applicationsOf(n int, queues []queue) []driver.Application {
	list := make([]driver.Application, n)
	for i := range list {
		list[i] = driver.Application{ID: applicationID(i), Queue: "root." + queues[i%len(queues)].name}
	}
	return list
}

func applicationID(i int) string { return fmt.Sprintf("app-%05d", i) }

// queuesOf is equal queues.
func queuesOf(n int) []queue {
	list := make([]queue, n)
	for i := range list {
		list[i] = queue{name: fmt.Sprintf("q%04d", i)}
	}
	return list
}

// podsOf is equal pods over applications in turn.
func podsOf(prefix string, n, applications int, wants driver.Amounts) []*driver.Pod {
	pods := make([]*driver.Pod, n)
	for i := range pods {
		pods[i] = &driver.Pod{
			Key: fmt.Sprintf("%s-%07d", prefix, i), Application: applicationID(i % applications), Wants: wants,
		}
	}
	return pods
}

// perSecond is a rate.
func perSecond(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }
