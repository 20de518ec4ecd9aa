package shim

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// placeholderPause is how long it takes until a placeholder is made again that has ended by
// itself.
const placeholderPause = time.Second

// Why pods wait: the gang of one gathers, and another one says that it is a placeholder.
const (
	waitsForGang = "the placeholders of its application are not all placed"
	notMadeHere  = "it says that it is a placeholder, and the scheduler has not made it"
)

// A gang is an application with task groups, until all of it could run:
//
//	gathering  =>  its pods without a node are not told to the core but for placeholders
type gang struct {
	said      pods.Application
	gathering bool   // its placeholders are made and placed
	admitted  bool   // its placeholders count in its namespace
	resuming  bool   // they took too long: no more are made, and it goes on without them
	failed    string // why its pods are not to run at all
}

// has reports whether a gang has a task group of a name; nil has none.
func (g *gang) has(name string) bool {
	return g != nil && slices.ContainsFunc(g.said.TaskGroups, func(group pods.TaskGroup) bool { return group.Name == name })
}

// gangs make the placeholders of applications with task groups, and end those that are not
// needed any more. It looks at one application after the other, as it is then: so nothing is lost
// if the API server fails or the scheduler starts again.
type gangs struct {
	*Context
	queue workqueue.TypedRateLimitingInterface[string] // IDs of applications, and deadPrefix with keys of pods

	// All are guarded by the lock of the context.
	dead   map[string]*v1.Pod // placeholders that ended by themselves, by deadPrefix and key
	making map[string]bool    // namespaces and names of placeholders of which informers say no mark yet

	counted map[string]map[*application]bool // applications with placeholders, by namespace
}

// deadPrefix tells pods from applications, whose IDs never begin so.
const deadPrefix = "\x00"

func newGangs(c *Context) *gangs {
	return &gangs{Context: c, queue: newQueue(c.options), dead: map[string]*v1.Pod{}, making: map[string]bool{}, counted: map[string]map[*application]bool{}}
}

func (g *gangs) start() { g.run(func() { work(g.Context, g.queue, g.reconcile) }) }

// begin notes the task groups of an application that the core is told of. One of which a member
// has its node began before a restart. The lock must be held.
func (g *gangs) begin(app *application, said pods.Application) {
	said.NoPlaceholders = said.NoPlaceholders && !slices.ContainsFunc(app.pods(), pods.IsPlaceholder) // those that are there count
	g.groups.startTogether(app, said)
	if app.gang = nil; len(said.TaskGroups) == 0 || said.NoPlaceholders || g.options.Config.NoGangs {
		return
	}
	if err := g.tooLarge(said, app.speaks()); err != nil {
		g.events.warn(app.speaks(), reasonUnreadable, err.Error())
		return
	}
	app.gang = &gang{said: said, gathering: true}
	for _, t := range app.tasks {
		if t.node != "" && !pods.IsPlaceholder(t.pod) {
			app.gang.gathering = false
		}
		if pods.IsPlaceholder(t.pod) {
			_ = g.admit(app) // what is there counts in any case
		}
	}
}

// holds says why a task is not told to the core: its gang gathers, or it is no placeholder. The
// lock must be held.
func (g *gangs) holds(t *task) string {
	if t.foreign() || t.node != "" {
		return ""
	}
	gang, placeholder := t.app.gang, pods.IsPlaceholder(t.pod)
	switch {
	case !placeholder && g.making[nameOf(t.pod)]:
		return "it is being made"
	case !placeholder && pods.SaysPlaceholder(t.pod):
		return notMadeHere
	case gang == nil:
		return ""
	case gang.failed != "":
		return gang.failed
	case placeholder && (t.eviction != nil || gang.resuming):
		return "it is not needed any more"
	case !placeholder && gang.gathering:
		return waitsForGang
	}
	return ""
}

// follow takes in the state of an application. The lock must be held.
func (g *gangs) follow(id, state, message string) {
	app := g.apps[id]
	if app == nil || app.gang == nil {
		return
	}
	gang := app.gang
	switch state {
	case stateResuming:
		gang.resuming = true
	case stateRunning, stateAccepted:
		if gang.gathering && (state == stateRunning || gang.resuming) {
			gang.gathering = false
			g.syncAll(app)
		}
	case stateFailing:
		gang.failed = message
	}
	g.queue.Add(id)
}

// syncAll sends what changes for the pods of an application. The lock must be held.
func (g *gangs) syncAll(app *application) {
	for _, t := range app.sorted() {
		g.sync(t)
	}
}

// came takes in that an application has one more pod. After a placeholder the gang is looked at a
// moment later, so that what fails again and again has its pauses. The lock must be held.
func (g *gangs) came(t *task) {
	switch {
	case t.app.gang == nil:
	case pods.SaysPlaceholder(t.pod):
		g.queue.AddAfter(t.app.id, placeholderPause)
	default:
		g.queue.Add(t.app.id)
	}
}

// ended takes in that a pod of an application has ended. A placeholder that ended by itself is
// deleted, so that its name is free. The lock must be held.
func (g *gangs) ended(t *task) {
	if t.app.gang == nil {
		return
	}
	g.queue.AddAfter(t.app.id, placeholderPause)
	if pods.IsPlaceholder(t.pod) && t.pod.DeletionTimestamp == nil {
		g.dead[deadPrefix+t.key()] = t.pod
		g.queue.Add(deadPrefix + t.key())
	}
}

// gangWork is what is to be done about the pods of a gang.
type gangWork struct {
	create       []member
	said         pods.Application
	of           *v1.Pod // for which they are made
	full         error   // nothing is made, since the namespace has too many
	remove, fail []*v1.Pod
	why          string // they fail
}

// reconcile makes the pods of an application that are missing, and ends those that are too
// many.
func (g *gangs) reconcile(id string) error {
	todo := g.todo(id)
	for _, pod := range todo.remove {
		err := g.request(func(ctx context.Context) error {
			return g.options.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
				Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
			})
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			g.log.Warn("placeholder not deleted yet", refer(pod), zap.String("application", id), zap.Error(err))
			return err
		}
	}
	for _, pod := range todo.fail {
		err := g.request(func(ctx context.Context) error {
			return g.patchStatus(ctx, pod, map[string]any{"phase": v1.PodFailed, "reason": reasonGangTimeout, "message": shortened(todo.why)})
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			g.log.Warn("pod of a gang that failed is not marked yet", refer(pod), zap.Error(err))
			return err
		}
	}
	err := g.makeAll(id, todo)
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.dead, id)
	return err
}

// nameOf is the namespace and the name of a pod.
func nameOf(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// request makes one request to the API server.
func (g *gangs) request(do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(g.ctx, g.options.BindTimeout)
	defer cancel()
	return do(ctx)
}

// tell tells the pod that speaks for an application what is wrong with its gang.
func (g *gangs) tell(id, what string) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if app := g.apps[id]; app != nil && len(app.tasks) > 0 {
		g.events.warn(app.speaks(), reasonFailedScheduling, what)
	}
}

// todo is what is to be done about an application as it is now.
func (g *gangs) todo(id string) (todo gangWork) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if pod := g.dead[id]; pod != nil {
		return gangWork{remove: []*v1.Pod{pod}}
	}
	app := g.apps[id]
	if app == nil || app.gang == nil || g.stopping {
		return todo
	}
	var placeholders, waiting []*v1.Pod
	var speaks *task // the oldest that is no placeholder
	there, unmarked := map[string]bool{}, map[string]*v1.Pod{}
	for _, t := range app.sorted() {
		switch {
		case pods.SaysPlaceholder(t.pod) && !pods.IsPlaceholder(t.pod):
			if there[t.pod.Name] = g.making[nameOf(t.pod)]; !there[t.pod.Name] && t.node == "" {
				unmarked[t.pod.Name] = t.pod
			}
		case pods.IsPlaceholder(t.pod):
			there[t.pod.Name] = true
			if t.pod.DeletionTimestamp == nil && t.binding == nil {
				placeholders = append(placeholders, t.pod)
				if t.node == "" {
					waiting = append(waiting, t.pod)
				}
			}
		case app.gang.failed != "" && t.node == "" && t.pod.DeletionTimestamp == nil:
			todo.fail = append(todo.fail, t.pod)
		case speaks == nil && t.pod.DeletionTimestamp == nil:
			speaks = t
		}
	}
	todo.why = app.gang.failed
	switch {
	case speaks == nil:
		todo.remove = placeholders
	case app.gang.resuming || app.gang.failed != "":
		todo.remove = waiting // the core may not have heard of them
	case app.accepted && app.gang.gathering:
		if todo.full = g.admit(app); todo.full != nil {
			break
		}
		todo.said, todo.of = app.gang.said, speaks.pod
		todo.create = missing(todo.said, there)
		for _, m := range todo.create {
			if other := unmarked[m.name]; other != nil {
				todo.remove = append(todo.remove, other)
			}
		}
	}
	return todo
}

// isGangPod reports whether a task holds room in a gang.
func isGangPod(t *task) bool {
	return !t.foreign() && t.app.gang != nil && pods.IsPlaceholder(t.pod)
}
