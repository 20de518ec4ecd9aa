package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// machine is the processor, its cores and the memory, as far as Linux says so.
func machine() string {
	parts := []string{runtime.GOOS + "/" + runtime.GOARCH}
	if name := field("/proc/cpuinfo", "model name"); name != "" {
		parts = append(parts, name)
	}
	parts = append(parts, fmt.Sprintf("%d cores", runtime.NumCPU()))
	if memory, err := strconv.Atoi(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB")); err == nil {
		parts = append(parts, fmt.Sprintf("%d GiB", (memory+1<<19)>>20))
	}
	return strings.Join(parts, ", ")
}

// field is the first value of a name in a file of the form name: value.
func field(file, name string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(content)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
