package descheduler

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// A request is one pod that one plugin wants to have evicted.
type request struct {
	pod             *v1.Pod
	profile, plugin string
	controller      bool // asked by a plugin that events trigger
	group           *group
}

// A group are pods which go together. More of them than a limit in flight allows go while no others count for it.
type group struct {
	all     map[key]int // of the whole group
	counted map[key]int // that are counted already
}

func newGroup(all []request) *group {
	g := &group{all: map[key]int{}, counted: map[key]int{}}
	for _, r := range all {
		for _, k := range r.keys() {
			g.all[k]++
		}
	}
	return g
}

// over says whether a limit in flight keeps a pod, with so many that count for it, or its whole group. Nil is a pod that goes alone.
func (g *group) over(k key, count, most int) bool {
	if g == nil {
		return count >= most
	}
	others := count - g.counted[k]
	return others+g.all[k] > most && (others > 0 || most <= 0)
}

// count counts one of a group.
func (g *group) count(keys []key) {
	if g == nil {
		return
	}
	for _, k := range keys {
		g.counted[k]++
	}
}

// A key is what a limit counts for: a node, a namespace, and so on.
type key struct {
	scope framework.Scope
	name  string
}

// keys are all that an eviction counts for, widest first. The order is that in which
// limits are asked, so that the first one that is reached stops a plugin furthest.
func (r request) keys() []key {
	keys := make([]key, 0, 5)
	keys = append(keys, key{scope: framework.ScopeTotal})
	if r.plugin != "" {
		keys = append(keys, key{framework.ScopePlugin, r.profile + "/" + r.plugin})
	}
	if r.pod.Spec.NodeName != "" {
		keys = append(keys, key{framework.ScopeNode, r.pod.Spec.NodeName})
	}
	keys = append(keys, key{framework.ScopeNamespace, r.pod.Namespace})
	if w, ok := framework.WorkloadOf(r.pod); ok {
		keys = append(keys, key{framework.ScopeWorkload, w.String()})
	}
	return keys
}

// A tally counts evictions by key. With a log it also says when each was, so that
// those before some time can be taken out; the log is in the order of time.
type tally struct {
	counts map[key]int
	log    []counted
}

// counted is one eviction in the log of a tally.
type counted struct {
	at   time.Time
	uid  types.UID
	keys []key
}

func newTally() tally { return tally{counts: map[key]int{}} }

func (t *tally) add(keys []key) {
	for _, k := range keys {
		t.counts[k]++
	}
}

// remove takes an eviction out. A count of zero has no entry, so that a tally is as
// large as what it counts.
func (t *tally) remove(keys []key) {
	for _, k := range keys {
		if t.counts[k]--; t.counts[k] <= 0 {
			delete(t.counts, k)
		}
	}
}

// note is add with an entry in the log.
func (t *tally) note(now time.Time, uid types.UID, keys []key) {
	t.add(keys)
	t.log = append(t.log, counted{now, uid, keys})
}

// forget takes the last entry of a pod out of the log.
func (t *tally) forget(uid types.UID) {
	for i, entry := range slices.Backward(t.log) {
		if entry.uid == uid {
			t.remove(entry.keys)
			t.log = append(t.log[:i], t.log[i+1:]...)
			return
		}
	}
}

// expire takes out what was at or before a time.
func (t *tally) expire(last time.Time) {
	n := 0
	for n < len(t.log) && !t.log[n].at.After(last) {
		t.remove(t.log[n].keys)
		n++
	}
	t.log = t.log[n:]
}
