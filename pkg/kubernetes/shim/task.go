package shim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// What the core understands and the interface module has no name for.
const (
	// schedulingFailed is the termination type of a release that makes an allocation an ask
	// again. The module names it only in later versions.
	schedulingFailed = si.TerminationType(5)
	// stateCompleted is the state in which the core forgets an application.
	stateCompleted = "Completed"
	// States of an application with task groups.
	stateAccepted = "Accepted"
	stateResuming = "Resuming"
	stateRunning  = "Running"
	stateFailing  = "Failing"
	stateFailed   = "Failed"
)

// told is what the core was told of a pod last.
type told uint8

const (
	untold told = iota // nothing, or that it is gone
	asked              // that it waits: it is an ask
	placed             // that it runs on its node, or the core placed it there
)

// String is the word for people.
func (t told) String() string { return [...]string{"unknown to the core", "ask", "allocation"}[t] }

// rejectionsMax is how often a message about a pod is sent again that the core rejected. Its
// application may have completed at the moment at which a pod came, so once is not
// enough to know; what is wrong with the pod itself stays wrong.
const rejectionsMax = 3

// A task is a pod that takes room on a node, or that waits for it here. Tasks of pods that
// are ours have an application, foreign ones have none. It holds what the API server says
// of the pod and what the core was told, so that the difference can be sent at any time:
//
//	told is placed  =>  node is not empty, or the core alone knows the node yet
//	binding is set  =>  node is where it is being bound, and the pod is assumed there
type task struct {
	state              // the latest one that is known
	app   *application // nil if the pod is foreign
	owner bool         // other pods belong to it
	since time.Time    // when it came, or its gates went

	owners []string // keys of pods to which it belonged when it came

	node    string   // where it runs, or is being bound; empty while it waits
	assumed *state   // the pod with that node, until the API server says so itself
	binding *binding // while it is being bound

	told told
	sent *si.Allocation // what the core was told, nil if untold

	resize resize

	succeeded  bool      // it has done its work
	eviction   *eviction // the core wants it to end
	rejections int       // by the core, since the pod changed

	pause       time.Duration // the last one after it could not be bound
	pausedUntil time.Time     // when it may be sent again
	waits       string        // why the core was not told, or what was wrong last
}

func (t *task) key() string { return pods.Key(t.pod) }

// foreign reports whether another scheduler is in charge of it.
func (t *task) foreign() bool { return t.app == nil }

// running is the pod with its node.
func (t *task) running() *v1.Pod {
	if t.pod.Spec.NodeName == "" && t.assumed != nil {
		return t.assumed.pod
	}
	return t.pod
}

// unknown notes that the core does not know of it. The lock must be held.
func (t *task) unknown() { t.told, t.sent, t.resize.sent = untold, nil, nil }

// compareTasks orders tasks by age, so that what is sent at a restart depends on no map. The API
// server tells whole seconds; of one second the pod that was written first is older.
func compareTasks(a, b *task) int {
	if order := a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time); order != 0 {
		return order
	}
	order, _ := resourceversion.CompareResourceVersion(a.pod.ResourceVersion, b.pod.ResourceVersion) // zero with an error
	return cmp.Or(order, cmp.Compare(a.key(), b.key()))
}

// differs reports whether the core must be told again. The nominated node is read in the
// first message about an ask alone, and changes whenever the core says so itself.
func differs(a, b *si.Allocation) bool {
	if a == nil || a.NodeID != b.NodeID || !sameResources(a.ResourcePerAlloc, b.ResourcePerAlloc) || a.Priority != b.Priority {
		return true
	}
	return !maps.Equal(lasting(a.AllocationTags), lasting(b.AllocationTags))
}

// lasting is tags without those that are read once.
func lasting(tags map[string]string) map[string]string {
	if _, ok := tags[pods.TagNominated]; !ok {
		return tags
	}
	rest := maps.Clone(tags)
	delete(rest, pods.TagNominated)
	return rest
}

func sameResources(a, b *si.Resource) bool {
	return maps.EqualFunc(a.GetResources(), b.GetResources(), func(x, y *si.Quantity) bool { return x.GetValue() == y.GetValue() })
}

// An application is the pods that belong together, as long as there are any or the core
// knows of it.
type application struct {
	id            string           // in the core
	of            appKey           // by which its pods name it
	created       time.Time        // as the core was told
	tasks         map[string]*task // by key
	told          bool             // the core was told of it
	introductions int              // how often
	forced        bool             // it was told that pods of it run
	accepted      bool             // the core has said that it wants it
	rejected      string           // why the core does not want it
	gang          *gang            // nil if it has no task groups, or they have no placeholders
	together      []string         // task groups without placeholders, by groupName
	queue         string           // as it was asked for
}

// An appKey is the name of an application. A pod can name none of another namespace, so it can
// neither use the quota of one nor change its gang.
type appKey struct{ namespace, id string }

// applicationOf is the application of a pod; there is a new one if there was none. In the core it has
// the ID that its pods say, unless one of another namespace has that already: then it is
// qualified by the namespace. The lock must be held.
func (c *Context) applicationOf(pod *v1.Pod, said pods.Application) *application {
	key := appKey{said.Namespace, said.ID}
	if app := c.named[key]; app != nil {
		return app
	}
	app := &application{id: said.ID, of: key, tasks: map[string]*task{}}
	for c.apps[said.ID] != nil {
		said.ID = said.Qualified()
	}
	if app.id = said.ID; app.id != key.id {
		c.events.warn(pod, reasonApplicationTaken, fmt.Sprintf("another namespace has an application %s: that of this pod is a different one, %s", key.id, app.id))
	}
	c.apps[app.id], c.named[key] = app, app
	return app
}

// forget drops an application that has no pods and that the core does not know. The lock must
// be held.
func (c *Context) forget(app *application) {
	c.groups.startTogether(app, pods.Application{})
	delete(c.apps, app.id)
	delete(c.named, app.of)
}

// speaks is the pod that speaks for it, the oldest one. One that only says that it is a
// placeholder does so where there is no other.
func (a *application) speaks() *v1.Pod {
	all := a.sorted()
	if i := slices.IndexFunc(all, func(t *task) bool { return pods.IsPlaceholder(t.pod) == pods.SaysPlaceholder(t.pod) }); i > 0 {
		return all[i].pod
	}
	return all[0].pod
}

// pods is its pods by age.
func (a *application) pods() []*v1.Pod {
	var all []*v1.Pod
	for _, t := range a.sorted() {
		all = append(all, t.pod)
	}
	return all
}

// sorted is its tasks by age.
func (a *application) sorted() []*task {
	return slices.SortedFunc(maps.Values(a.tasks), compareTasks)
}

// endedPods are the keys of pods that have ended. They are remembered so that a message about
// one which comes late brings nothing back. A UID is never used again. It is bounded; the oldest is
// forgotten first.
type endedPods struct {
	keys  map[string]bool
	order []string
	next  int // place in the order that is used next
}

// endedMax is how many pods that have ended are remembered.
const endedMax = 1 << 14

func (g *endedPods) add(key string) {
	if g.keys[key] {
		return
	}
	if g.keys == nil {
		g.keys = map[string]bool{}
	}
	g.keys[key] = true
	if len(g.order) < endedMax {
		g.order = append(g.order, key)
		return
	}
	delete(g.keys, g.order[g.next])
	g.order[g.next] = key
	g.next = (g.next + 1) % endedMax
}

func (g *endedPods) has(key string) bool { return g.keys[key] }
