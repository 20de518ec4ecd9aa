// Package tour notes which functions of the core are entered, and from where. A test of package tidy compiles a
// copy of the core whose functions call it; nothing else does. It is not safe for use by several goroutines.
package tour

import (
	"path"
	"runtime"
	"strings"
)

// A Step is one function that was entered: its file, as in "backlog/search.go", and the package of the core that
// called it, by itself or through a library, empty if none did.
type Step struct{ File, From string }

var steps []Step

// Enter notes a function of a file.
func Enter(file string) { steps = append(steps, Step{file, caller()}) }

// Take returns what was noted since it was called last.
func Take() (noted []Step) {
	noted, steps = steps, nil
	return noted
}

const core = "/pkg/core"

// caller is the package of the core that called the function which called Enter.
func caller() string {
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(4, callers)])
	for {
		frame, more := frames.Next()
		if at := strings.LastIndex(frame.File, core); at >= 0 && !strings.HasSuffix(frame.File, "_test.go") {
			return path.Dir(strings.TrimPrefix(frame.File[at+len(core):], "/"))
		}
		if !more {
			return ""
		}
	}
}
