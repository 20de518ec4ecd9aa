package shim

import (
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// waitingTies are the classes of pods that wait, and which other pods decide about them. It has a
// lock of its own.
type waitingTies struct {
	mu      sync.Mutex
	classes map[string]*waitingClass
	of      map[string]*waitingClass // by the key of a pod
	tied    int                      // classes that have ties themselves
	gone    []*v1.Pod                // that have ended lately: the core asks about them after that
}

// A waitingClass is pods that wait and are equal for filters.
type waitingClass struct {
	name string
	ties *feasibility.Ties
	pods int
	// led says that one of them was placed, and nothing tied to them has ended since. Where affinity alone ties them the
	// others follow it, and one more that is placed beside it changes no answer.
	led bool
}

// follows reports whether one more of a class that is placed leaves all answers about the others as they are.
func (c *waitingClass) follows(own *waitingClass) bool { return c == own && c.led && c.ties.Follow() }

// goneMax is how many pods are remembered that have ended.
const goneMax = 1024

func newWaitingTies() *waitingTies {
	return &waitingTies{classes: map[string]*waitingClass{}, of: map[string]*waitingClass{}}
}

// wait notes that a pod of a class waits, and returns its ties if it is the first of its class.
func (w *waitingTies) wait(pod *v1.Pod, class string) (first *feasibility.Ties) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := pods.Key(pod)
	w.leave(key)
	if class == "" {
		return feasibility.TiesOf(pod)
	}
	known := w.classes[class]
	if known == nil {
		first = feasibility.TiesOf(pod)
		known = &waitingClass{name: class, ties: first}
		w.classes[class] = known
		w.tied += countOf(known.ties.Any())
	}
	known.pods++
	w.of[key] = known
	return first
}

// end notes that a pod has ended, and waits no more.
func (w *waitingTies) end(pod *v1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leave(pods.Key(pod))
	if w.gone = append(w.gone, pod); len(w.gone) > 2*goneMax {
		w.gone = slices.Delete(w.gone, 0, goneMax)
	}
}

// leave takes a pod from its class. The lock must be held.
func (w *waitingTies) leave(key string) {
	known := w.of[key]
	if known == nil {
		return
	}
	delete(w.of, key)
	if known.pods--; known.pods == 0 {
		delete(w.classes, known.name)
		w.tied -= countOf(known.ties.Any())
	}
}

// to are the classes about which answers change where a pod is not, when it comes or goes. One that
// was placed waits no more.
func (w *waitingTies) to(key string, pod *v1.Pod) (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(w.gone) - 1; pod == nil && i >= 0; i-- {
		if pods.Key(w.gone[i]) == key {
			pod = w.gone[i]
		}
	}
	if pod == nil {
		return nil
	}
	var ties *feasibility.Ties
	own := w.of[key] // it waited, so that it is placed now
	if own != nil {
		ties = own.ties.Of(pod)
		w.leave(key)
	} else {
		ties = feasibility.TiesOf(pod)
	}
	if w.tied == 0 && !ties.Refuse() {
		return nil
	}
	for name, waiting := range w.classes {
		if waiting.follows(own) || !waiting.ties.To(ties) {
			continue
		}
		waiting.led = waiting == own
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// classOf is the class with which a pod waits, empty if it is not known.
func (w *waitingTies) classOf(key string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if own := w.of[key]; own != nil {
		return own.name
	}
	return ""
}

// any reports whether any pods wait.
func (w *waitingTies) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.classes) > 0
}

// moved are the classes about which answers may change on all nodes when another place in a topology, or other labels,
// become those of some pods, or when a place comes or goes.
func (w *waitingTies) moved(running []*v1.Pod, place bool) (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ties := make([]*feasibility.Ties, len(running))
	for i, pod := range running {
		ties[i] = feasibility.TiesOf(pod)
	}
	for name, waiting := range w.classes {
		if place && waiting.ties.Spread() || slices.ContainsFunc(ties, waiting.ties.To) {
			names = append(names, name)
		}
	}
	return names
}

func countOf(is bool) int {
	if is {
		return 1
	}
	return 0
}

// placeChanged has the pods tried again about which answers may have changed on all nodes, since the labels or
// taints of a node are others, or it is gone. The lock must be held.
func (c *Context) placeChanged(node string) {
	if c.started && c.ties.any() {
		c.tryTied(c.ties.moved(c.podsOn(node), true))
	}
}

// relabelled does so since a pod that runs has other labels. The lock must be held.
func (c *Context) relabelled(before, now *v1.Pod) {
	if c.started && !maps.Equal(before.Labels, now.Labels) {
		c.tryTied(c.ties.moved([]*v1.Pod{before, now}, false))
	}
}

func (c *Context) tryTied(classes []string) {
	for _, name := range classes {
		c.changed.note(tiedClass + name)
	}
}

// tiedClass begins the name of a change that matters to the pods of a class.
const tiedClass = "class "

// TiedClasses names the classes of pods about which answers change when another one comes or goes. One that was
// placed counts at once for the preferences of others.
func (c callback) TiedClasses(allocationKey, nodeID string) []string {
	c.decides(allocationKey, nodeID)
	pod, _ := c.podOf(allocationKey)
	if pod != nil && nodeID != "" {
		c.feasible.prefer.PlacePod(pod, nodeID)
	}
	return c.ties.to(allocationKey, pod)
}
