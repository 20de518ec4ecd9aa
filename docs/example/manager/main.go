// Package main is a cluster manager that embeds the scheduler. It runs real processes on pretend nodes: an
// agent on each node, a batch job that a service evicts with SIGTERM, and a process that something else has
// started. In the middle the manager restarts, and starts nothing twice.
//
//	machine.go   a node, and the processes on it
//	manager.go   what is told to the scheduler, and what is done when it decides
//	callback.go  the rest of the callback
package main

import (
	"fmt"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

func main() {
	c := &cluster{machines: []*machine{newMachine("node-1", 2000), newMachine("node-2", 2000)}, news: make(chan string, 100)}
	defer c.stop()
	// Nothing runs yet, so evictions need not wait until all that runs is told.
	m, err := begin(c, scheduler.Config{SettleDelay: -1})
	check(err)
	for _, machine := range c.machines { // an agent on each node, as a daemonset
		check(m.add(&pod{key: "agent-" + machine.name, queue: "agents", vcore: 500, node: machine.name}))
		c.tell(1)
	}
	backup, two := &process{key: "backup", vcore: 1000, foreign: true}, c.machines[1]
	check(two.start(backup, "sleep", "600"))
	check(m.notice(two, backup))

	check(m.add(&pod{key: "report", queue: "batch", vcore: 1500}))
	c.tell(1)
	check(m.add(&pod{key: "web", queue: "services", vcore: 1500, priority: 100}))
	c.tell(3) // report has to end, it ends, web starts

	fmt.Println("the manager restarts")
	check(m.end())
	m, err = begin(c, scheduler.Config{})
	check(err)
	two.stop("backup")
	c.tell(2) // it ends, and report starts in its place
	fmt.Println(c.machines[0].starts+two.starts, "processes were started")
	check(m.end())
}

// tell prints the next lines of what happens, which it waits for.
func (c *cluster) tell(lines int) {
	for range lines {
		fmt.Println(<-c.news)
	}
}

// stop ends all processes, when there is no manager any more.
func (c *cluster) stop() {
	for _, machine := range c.machines {
		for _, p := range machine.watch(nil) {
			machine.stop(p.key)
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
