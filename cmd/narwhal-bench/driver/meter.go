package driver

import (
	"runtime"
	"syscall"
	"time"
)

// A Use is what a process has used.
type Use struct {
	Wall      time.Time
	Processor time.Duration // of all threads, the garbage collector included
	Objects   uint64        // that were allocated
	Bytes     uint64        // that were allocated
}

// Used is what the process has used so far.
func Used() Use {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // it has no error for the own process
	}
	return Use{
		Wall:      time.Now(),
		Processor: time.Duration(used.Utime.Nano() + used.Stime.Nano()),
		Objects:   memory.Mallocs,
		Bytes:     memory.TotalAlloc,
	}
}

// Begin is Used once the garbage of what came before is collected, so that no collection of
// it falls into what is measured next.
func Begin() Use {
	runtime.GC()
	return Used()
}

// Heap is how much is reachable, after the garbage is collected.
func Heap() int64 {
	runtime.GC()
	runtime.GC() // what had to be finalised is gone after the second
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}
