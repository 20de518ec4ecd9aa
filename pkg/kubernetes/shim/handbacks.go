package shim

import (
	"maps"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
)

// handBacks are the ends of pods that the core waits for, and does not hear of yet, since claims keep their devices.
// What room was made for would be refused until the controller of claims has given them back, and more would be evicted
// for it elsewhere. It has no lock of its own.
type handBacks struct {
	*Context
	ends map[string]handBack // by the key of the pod
}

// A handBack is what the core will be told of a pod that has ended.
type handBack struct {
	pod *v1.Pod
	end message
}

// handBackMax is how long the core is not told. The controller of claims needs a moment; if it is not there, the room
// without the devices is of use to others.
const handBackMax = 10 * time.Second

// release tells the core that a task is gone, when its devices are free if the core counts on them. The lock must be
// held.
func (h *handBacks) release(t *task, why si.TerminationType, text string) {
	keeper, _ := h.feasible.Feasibility.(devicesKeeper)
	if t.eviction == nil && t.pod.DeletionTimestamp == nil || keeper == nil || h.stopping || !keeper.KeepsDevices(t.pod) {
		h.Context.release(t, why, text)
		return
	}
	key := t.key()
	h.ends[key] = handBack{t.pod, releaseOf(t, why, text)}
	h.run(func() {
		if pause(h.ctx, handBackMax) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.tell(key)
		}
	})
}

// look tells the core of those whose devices are free now. The lock must be held.
func (h *handBacks) look() {
	keeper, _ := h.feasible.Feasibility.(devicesKeeper)
	for _, key := range slices.Sorted(maps.Keys(h.ends)) {
		if !keeper.KeepsDevices(h.ends[key].pod) {
			h.tell(key)
		}
	}
}

// tell tells the core of an end, unless it was told.
func (h *handBacks) tell(key string) {
	if ended, ok := h.ends[key]; ok {
		delete(h.ends, key)
		h.sender.put(ended.end)
	}
}
