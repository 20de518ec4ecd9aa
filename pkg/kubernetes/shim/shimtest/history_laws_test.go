package shimtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/messages"
)

// historyDump is what the laws read of the state of a shim.
type historyDump struct {
	Pods []struct {
		Key     string `json:"allocationKey"`
		Node    string `json:"nodeId"`
		Core    string `json:"core"`
		Binding bool   `json:"binding"`
		Evicted bool   `json:"evicted"`
		Waits   string `json:"waits"`
	} `json:"pods"`
	MessagesWaiting int `json:"messagesWaiting"`
}

// A historyEntry is what the core has of a pod.
type historyEntry struct {
	*api.Allocation
	foreign bool
}

// booked is everything on the books of the core, by key.
func (w *historyWorld) booked() map[string]historyEntry {
	view, err := w.m.View(context.Background(), w.m.Partitions()[0])
	w.api.must(err)
	entries := map[string]historyEntry{}
	add := func(a *api.Allocation, foreign bool) {
		if _, twice := entries[string(a.Key)]; twice {
			w.tb.Fatalf("step %d: %s is on the books twice", w.step, a.Key)
		}
		entries[string(a.Key)] = historyEntry{a, foreign}
	}
	for _, node := range view.Nodes {
		for _, a := range node.Allocations {
			add(a, false)
		}
		for _, a := range node.ForeignAllocations {
			add(a, true)
		}
	}
	for _, a := range view.ForeignUnknownNode {
		add(a, true)
	}
	for _, app := range view.Applications {
		for _, ask := range app.Asks {
			add(ask.Allocation, false)
		}
	}
	return entries
}

func (w *historyWorld) dump() historyDump {
	text, err := w.m.StateDump(shim.DefaultClusterID)
	w.api.must(err)
	var d historyDump
	w.api.must(json.Unmarshal([]byte(text), &d))
	return d
}

// checkBooks compares the books of the core with the pods of the API server.
func (w *historyWorld) checkBooks() {
	var problems []string
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	w.mu.Lock()
	problems = append(problems, w.wrong...)
	w.mu.Unlock()
	d, booked := w.dump(), w.booked()
	namespaces := map[api.ApplicationID]string{}
	binding, waits, revoked, unneeded, evicted := map[string]string{}, map[string]string{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, p := range d.Pods {
		if p.Binding {
			binding[p.Key] = p.Node
		}
		waits[p.Key], revoked[p.Key], unneeded[p.Key], evicted[p.Key] = p.Waits, p.Binding && p.Evicted, p.Node == "" && p.Evicted, p.Evicted
	}
	if d.MessagesWaiting > 0 {
		problem("%d messages wait", d.MessagesWaiting)
	}
	growing := growthsIn(booked)
	list := w.pods()
	for i := range list {
		pod := &list[i]
		key := pods.Key(pod)
		entry, is := booked[key]
		delete(booked, key)
		if is && !revoked[key] { // what comes of a binding that was taken back decides what the core is told
			w.checkEntry(pod, entry, growing[key], evicted[key], problem)
		}
		delete(growing, key)
		if is && !entry.foreign && cmp.Or(namespaces[entry.Application], pod.Namespace) != pod.Namespace {
			problem("application %s is of namespaces %s and %s", entry.Application, namespaces[entry.Application], pod.Namespace)
		} else if is && !entry.foreign {
			namespaces[entry.Application] = pod.Namespace
		}
		if _, on := binding[key]; on {
			continue // what comes of it is not known yet
		}
		if unneeded[key] && pods.IsPlaceholder(pod) && !is {
			continue // it has no room to give back, and is deleted
		}
		if where := w.expected(pod, waits[key]); where != placeOf(entry, is) {
			problem("%s (%s) is %s and should be %s; it waits for %q", pod.Name, key, placeOf(entry, is), where, waits[key])
		}
	}
	for key := range booked {
		problem("%s is on the books and not in the API server", key)
	}
	for key := range growing {
		problem("%s is to grow and not in the API server", key)
	}
	w.checkFilters(list, binding, problem)
	if len(problems) > 0 {
		slices.Sort(problems)
		w.tb.Fatalf("step %d: %s", w.step, strings.Join(problems, "\n\t"))
	}
}

// placeOf is where the core has a pod, in a word.
func placeOf(entry historyEntry, is bool) string {
	switch {
	case !is:
		return "absent"
	case entry.Node == "":
		return "an ask"
	case entry.foreign:
		return "foreign on " + string(entry.Node)
	}
	return "on " + string(entry.Node)
}

// expected is where the core should have a pod that is not being bound.
func (w *historyWorld) expected(pod *v1.Pod, waits string) string {
	ours := pod.Spec.SchedulerName == SchedulerName
	switch {
	case pods.IsTerminal(pod) || pod.Spec.NodeName == "" && !ours:
		return "absent"
	case !ours:
		return "foreign on " + pod.Spec.NodeName
	case pod.Spec.NodeName != "" && w.node(pod.Spec.NodeName) == nil:
		return "absent"
	case pod.Spec.NodeName != "":
		return "on " + pod.Spec.NodeName
	case pod.Spec.SchedulingGates != nil || pod.DeletionTimestamp != nil || waits != "":
		return "absent"
	}
	return "an ask"
}

// growthsIn takes the asks for the growth of pods out of the books, by the keys of the pods.
func growthsIn(booked map[string]historyEntry) map[string]historyEntry {
	growing := map[string]historyEntry{}
	for key, entry := range booked {
		if pod := pods.GrowingPod(key); pod != "" && entry.Node == "" { // one that has its room is the pod's own
			growing[pod] = entry
			delete(booked, key)
		}
	}
	return growing
}

// checkEntry compares what the core has of a pod, and of its growth, with the pod.
func (w *historyWorld) checkEntry(pod *v1.Pod, entry, growth historyEntry, evicted bool, problem func(string, ...any)) {
	amounts, _, err := messages.WantedOf(w.m.Kinds(), pods.Resources(pod), nil)
	w.api.must(err)
	has := entry.Amounts
	if growth.Allocation != nil {
		has = has.Plus(growth.Amounts)
	}
	// One that ends does not grow any more. It is booked with what it had by then.
	endsSmaller := pods.IsDeferred(pod) && growth.Allocation == nil && has.FitsIn(amounts) && (pod.DeletionTimestamp != nil || evicted)
	if len(entry.Unknown) == 0 && !has.Equal(amounts) && !endsSmaller {
		problem("%s takes %s and has %s", pod.Name, w.m.Kinds().Format(amounts), w.m.Kinds().Format(has))
	}
	app := strings.TrimPrefix(string(entry.Application), pod.Namespace+":")
	if !entry.foreign && app != w.apps[pods.Key(pod)] && app != pod.Labels["applicationId"] {
		problem("%s is of application %s", pod.Name, entry.Application)
	}
}

// checkFilters compares the pods that the filters count with those of the API server.
func (w *historyWorld) checkFilters(list []v1.Pod, binding map[string]string, problem func(string, ...any)) {
	if w.genuine {
		return
	}
	f := w.m.Feasibility
	f.mu.Lock()
	defer f.mu.Unlock()
	rest := map[string]bool{}
	for uid := range f.pods {
		rest[uid] = true
	}
	for i := range list {
		pod := &list[i]
		uid := string(pod.UID)
		node, bound := binding[uid], pod.Spec.NodeName != ""
		if !pods.IsTerminal(pod) && bound {
			node = pod.Spec.NodeName
		}
		if f.pods[uid] != node {
			problem("filters count %s on %q and not on %q", pod.Name, f.pods[uid], node)
		}
		if reserved := f.reserved[uid]; reserved != "" && node == "" && !pods.IsTerminal(pod) {
			problem("%s is reserved on %q", pod.Name, reserved)
		}
		delete(rest, uid)
	}
	for uid := range rest {
		problem("filters count %s, which is not in the API server", uid)
	}
}

// quiet lets everything end that is under way. Then nothing waits that fits, and of each pod
// that waits was said why.
func (w *historyWorld) quiet() {
	w.mu.Lock()
	w.step++
	w.mu.Unlock()
	w.api.Fail(Faults{})
	for range 8 {
		w.m.Advance(40 * time.Second)
		w.kubelet(historyStep{})
		w.m.Settle()
	}
	w.m.Advance(time.Minute)
	w.checkBooks()
	w.noteTold()
	w.checkPlaceholders()
	view, err := w.m.View(context.Background(), w.m.Partitions()[0])
	w.api.must(err)
	for _, p := range w.dump().Pods {
		if p.Binding {
			w.tb.Fatalf("quiet: %s is still being bound", p.Key)
		}
	}
	for number := range 12 {
		if pod := w.pod(number); pod != nil {
			w.checkWaiting(pod, view)
		}
	}
}

// checkWaiting says whether a pod waits for a reason.
func (w *historyWorld) checkWaiting(pod *v1.Pod, view *api.View) {
	ours := pod.Spec.SchedulerName == SchedulerName && pod.Spec.NodeName == "" && !pods.IsTerminal(pod) && pod.Spec.SchedulingGates == nil
	if !ours {
		return
	}
	entry, is := w.booked()[pods.Key(pod)]
	if !is {
		if _, err := w.api.tracker.Get(namespaceResource, "", pod.Namespace); err == nil && !w.told[pods.Key(pod)] {
			w.tb.Fatalf("quiet: of %s nobody was told why it waits", pod.Name)
		}
		return
	}
	for _, app := range view.Applications {
		if app.ID != entry.Application {
			continue
		}
		if left, ok := view.Headroom(app.Queue); ok && !entry.Amounts.Within(left) {
			return
		}
	}
	for _, node := range view.Nodes {
		if len(node.Reservations) > 0 || len(node.Nominated) > 0 {
			continue // its room is kept for another ask
		}
		chosen := string(node.ID)
		if startsAlone(pod) && node.Schedulable && entry.Amounts.FitsIn(node.Available) && w.refuses(pod, chosen) == nil && selects(pod, chosen) {
			w.tb.Fatalf("quiet: %s fits on %s and waits: %s", pod.Name, chosen, waitingOf(view, entry))
		}
	}
	if !w.told[pods.Key(pod)] {
		w.tb.Fatalf("quiet: of %s nobody was told why it waits: %s", pod.Name, waitingOf(view, entry))
	}
}

func waitingOf(view *api.View, entry historyEntry) string {
	for _, app := range view.Applications {
		for _, ask := range app.Asks {
			if ask.Key == entry.Key && ask.Waiting != nil {
				return fmt.Sprint(ask.Waiting.Reason, " ", ask.Waiting.Detail)
			}
		}
	}
	return "unknown"
}

// selects reports whether a pod may run on a node of some name.
func selects(pod *v1.Pod, node string) bool {
	if name, ok := pod.Spec.NodeSelector[v1.LabelHostname]; ok && name != node {
		return false
	}
	required := pods.RequiredNode(pod)
	return required == "" || required == node
}
