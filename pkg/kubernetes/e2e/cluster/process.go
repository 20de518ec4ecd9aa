package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// terminationMax is how long a program may take to end by itself.
const terminationMax = 20 * time.Second

// A Process is one program that runs, or has ended. Its methods may be called from any
// goroutine.
type Process struct {
	name    string
	command *exec.Cmd
	log     string
	ended   chan struct{} // closed when it has ended; err is set before
	err     error
}

// launch starts a program, with a log in a file that goes on where an earlier process of
// that name has ended.
func launch(folder, name string, command *exec.Cmd) (*Process, error) {
	p := &Process{name: name, log: filepath.Join(folder, name+".log"), command: command, ended: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", name, err)
	}
	defer func() { _ = log.Close() }() // the process has a copy
	p.command.Stdout, p.command.Stderr = log, log
	p.command.SysProcAttr = dieTogether()
	if err := start(p.command); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		p.err = p.command.Wait()
		close(p.ended)
	}()
	return p, nil
}

// starts are commands for the starter.
var starts = make(chan func())

// init runs the starter. A process dies together with the thread that has started it, see
// dieTogether, so all are started by one thread that lives as long as the program.
func init() {
	go func() {
		runtime.LockOSThread()
		for run := range starts {
			run()
		}
	}()
}

func start(command *exec.Cmd) error {
	result := make(chan error)
	starts <- func() { result <- command.Start() }
	return <-result
}

// Name is what it was launched as.
func (p *Process) Name() string { return p.name }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Kill ends the process at once, as a crash would, and waits for its end.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// Terminate asks the process to end, and waits for it. It is killed when it takes more than
// 20 seconds, which is an error, as is any exit status but zero.
func (p *Process) Terminate() error {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(terminationMax):
		p.Kill()
		return fmt.Errorf("%s has not ended %v after it was asked to", p.name, terminationMax)
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w", p.name, p.err)
	}
	return nil
}

// Pause stops the process as a machine that hangs: its connections stay.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Continue goes on after Pause.
func (p *Process) Continue() { p.signal(syscall.SIGCONT) }

// signal ignores a process that has ended: callers wait for its end or end it.
func (p *Process) signal(signal os.Signal) {
	if err := p.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic(fmt.Sprintf("%s cannot be sent %v: %v", p.name, signal, err))
	}
}

// Processor is the processor time that the process, which runs, has used up to now, in its own code and in that of the
// system. Only Linux tells it.
func (p *Process) Processor() (time.Duration, error) {
	process, err := procfs.NewProc(p.command.Process.Pid)
	if err != nil {
		return 0, fmt.Errorf("processor time of %s: %w", p.name, err)
	}
	used, err := process.Stat()
	if err != nil {
		return 0, fmt.Errorf("processor time of %s: %w", p.name, err)
	}
	return time.Duration(used.CPUTime() * float64(time.Second)), nil
}

// Log is the end of its log, of at most that many lines.
func (p *Process) Log(lines int) string {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
