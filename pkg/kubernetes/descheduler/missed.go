package descheduler

import (
	"math"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// missed are the pods that a plugin wanted to have evicted, or to move, and that found no
// place. Evictions that come later can make room for them: without another question
// the next cycle would go on where this one stopped. It is safe for concurrent use.
type missed struct {
	mu sync.Mutex
	at map[types.UID]int // how many evictions the cycle had when there was no place
	// ran is how many evictions the cycle had when the plugin returned.
	ran int
}

// begin forgets all.
func (m *missed) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = map[types.UID]int{}
}

// giveUp keeps the plugin from being asked again in this cycle.
func (m *missed) giveUp() {
	m.begin()
	m.returned(math.MaxInt)
}

// note remembers that there was no place for a pod after so many evictions.
func (m *missed) note(pod types.UID, evictions int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at != nil { // nil: no cycle calls this plugin
		m.at[pod] = evictions
	}
}

// evicted forgets a pod.
func (m *missed) evicted(pod types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.at, pod)
}

// returned notes how many evictions there are when the plugin returns.
func (m *missed) returned(evictions int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ran = evictions
}

// behind says whether there have been evictions since the plugin returned.
func (m *missed) behind(evictions int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ran < evictions
}

// before says whether some pod was without a place before the last of so many evictions.
func (m *missed) before(evictions int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, at := range m.at {
		if at < evictions {
			return true
		}
	}
	return false
}
