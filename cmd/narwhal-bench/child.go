package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/scenarios"
)

// childCommand is the first argument of a process that plays one run. A process has one
// core, so that heap and processor are its own, and nothing is left of the run before.
const childCommand = "play-one-run"

// grace is how much longer than its limit a process may live.
const grace = 20 * time.Second

var errLimit = errors.New("the time of a run is over")

// An order is what a process is told to play.
type order struct {
	Core  string
	Case  scenarios.Case
	Limit time.Duration
	// Profile is the file for a processor profile; none if it is empty.
	Profile string `json:",omitempty"`
}

// runChild plays a run in a process of its own.
func runChild(o order) (scenarios.Result, error) {
	var result scenarios.Result
	program, err := os.Executable()
	if err != nil {
		return result, err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return result, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.Limit+grace)
	defer cancel()
	var complaints bytes.Buffer
	child := exec.CommandContext(ctx, program, childCommand, string(text))
	child.Stderr = &complaints
	output, err := child.Output()
	if err != nil {
		// A core that crashes is wrong; the comparison goes on.
		return scenarios.Result{Faults: []string{fmt.Sprintf("the process ended: %v: %s", err, crashOf(complaints.String()))}}, nil
	}
	return result, json.Unmarshal(output, &result)
}

// crashOf is the part of a text that says why a process ended: the beginning of a crash, or the end.
func crashOf(text string) string {
	const most = 500
	for _, word := range []string{"panic: ", "fatal error: "} {
		if i := strings.Index(text, word); i >= 0 {
			return text[i:min(len(text), i+most)]
		}
	}
	return text[max(0, len(text)-most):]
}

// childMain plays one run and writes its result. It returns the exit code.
func childMain(arguments []string, out, complaints io.Writer) int {
	var o order
	if len(arguments) != 1 || json.Unmarshal([]byte(arguments[0]), &o) != nil {
		fmt.Fprintln(complaints, "narwhal-bench: no order to play")
		return 1
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), o.Limit, errLimit)
	defer cancel()
	result, err := o.play(ctx)
	if err == nil {
		err = json.NewEncoder(out).Encode(result)
	}
	if err != nil {
		fmt.Fprintln(complaints, "narwhal-bench:", err)
		return 1
	}
	return 0
}

// play plays the run, under a profile if one is asked for.
func (o order) play(ctx context.Context) (scenarios.Result, error) {
	if o.Profile == "" {
		return scenarios.Play(ctx, o.Core, o.Case)
	}
	file, err := os.Create(o.Profile)
	if err != nil {
		return scenarios.Result{}, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return scenarios.Result{}, err
	}
	result, err := scenarios.Play(ctx, o.Core, o.Case)
	pprof.StopCPUProfile()
	return result, errors.Join(err, file.Close(), o.writeAllocations())
}

// writeAllocations writes the profile of memory, beside that of the processor.
func (o order) writeAllocations() error {
	file, err := os.Create(o.Profile + ".memory")
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(file, 0), file.Close())
}
