package main

import (
	"fmt"
	"os/exec"
	"sync"
	"syscall"
)

// A process is what runs on a machine.
type process struct {
	key     string
	vcore   int64 // thousandths of a core that it counts
	foreign bool  // it was not started by the manager
	command *exec.Cmd
}

// A machine is a pretend node: all of them are this computer, and the processes are real. It goes on
// while the manager restarts, and knows what runs.
type machine struct {
	name  string
	vcore int64

	mu      sync.Mutex
	running map[string]*process
	starts  int
	exited  func(*machine, *process) // tells the manager, if there is one
}

func newMachine(name string, vcore int64) *machine {
	return &machine{name: name, vcore: vcore, running: map[string]*process{}}
}

// start begins a process, unless it runs already.
func (m *machine) start(p *process, words ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running[p.key] != nil {
		return nil
	}
	p.command = exec.Command(words[0], words[1:]...)
	if err := p.command.Start(); err != nil {
		return fmt.Errorf("%s on %s: %w", p.key, m.name, err)
	}
	m.running[p.key] = p
	m.starts++
	go m.wait(p)
	return nil
}

// wait waits for the end of a process and tells of it.
func (m *machine) wait(p *process) {
	_ = p.command.Wait() // how it ended makes no difference here
	m.mu.Lock()
	delete(m.running, p.key)
	exited := m.exited
	m.mu.Unlock()
	if exited != nil {
		exited(m, p)
	}
}

// stop sends a process SIGTERM. One that is not there has ended, which was the wish.
func (m *machine) stop(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.running[key]; p != nil {
		_ = p.command.Process.Signal(syscall.SIGTERM) // an error says that it has ended
	}
}

// watch returns what runs, and has a manager told of each end from now on.
func (m *machine) watch(exited func(*machine, *process)) []*process {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.exited = exited
	var all []*process
	for _, p := range m.running {
		all = append(all, p)
	}
	return all
}
