package shim

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// introduce tells the core of an application, unless it knows it. The oldest of its pods
// speaks for it. Running says that it is for a pod which runs: that is not refused. The lock
// must be held.
func (c *Context) introduce(app *application, running bool) {
	if app.told && (app.rejected == "" || !running || app.forced) {
		return
	}
	oldest := app.speaks()
	said, _ := c.options.Rules.ApplicationOf(oldest, c.refers.namespaces[oldest.Namespace]) // its error was told when the pod came
	said.ID = app.of.id                                                                     // that of the oldest may have changed since
	said.Remember(app.pods())
	c.gangs.begin(app, said)
	said.ID = app.id
	if app.gang == nil {
		said.TaskGroups = nil
	}
	waited := app.rejected != ""
	app.introductions++
	app.told, app.accepted, app.forced, app.rejected, app.queue = true, false, running, "", said.Queue
	// The API server tells whole seconds. Of one second the application that comes first is older.
	c.introduced = (c.introduced + 1) % time.Second
	app.created = oldest.CreationTimestamp.Truncate(time.Second).Add(c.introduced)
	c.sender.put(message{application: said.Request(app.created, running)})
	if !waited {
		return
	}
	for _, t := range app.sorted() {
		if t.told == untold && t.node == "" {
			c.sync(t)
		}
	}
}

// requote tells the core what the annotations of a namespace say now of its applications. Where they cannot be read the
// quota stays. The lock must be held.
func (c *Context) requote(namespace *v1.Namespace) {
	if err := pods.CheckNamespace(namespace); err != nil {
		c.log.Warn("quota of a namespace stays", zap.Error(err))
		c.events.warnAbout(namespace, string(namespace.UID), reasonUnreadable, err.Error())
		return
	}
	for _, app := range c.sortedApplications() {
		if !app.told || len(app.tasks) == 0 || app.of.namespace != namespace.Name {
			continue
		}
		oldest := app.speaks()
		said, _ := c.options.Rules.ApplicationOf(oldest, namespace)
		said.ID, said.TaskGroups = app.id, nil
		request := said.Request(app.created, app.forced)
		request.Tags[scheduler.TagUpdate] = "true"
		c.sender.put(message{application: request})
	}
}

// sortedApplications is all applications by ID. The lock must be held.
func (c *Context) sortedApplications() []*application {
	return slices.SortedFunc(maps.Values(c.apps), func(a, b *application) int { return strings.Compare(a.id, b.id) })
}

// rejectApplication takes in that the core refuses an application. Its pods wait until the
// configuration changes, or until one of them runs. If one runs already, of which the core had
// not heard when the application was introduced, it is introduced again as one that is not
// refused. The lock must be held.
func (c *Context) rejectApplication(id, reason string) {
	app := c.apps[id]
	if app == nil || !app.told {
		return
	}
	c.log.Warn("application rejected", zap.String("application", id), zap.String("queue", app.queue), zap.String("reason", reason))
	app.told, app.gang, app.rejected = false, nil, reason // forced stays: what was refused all the same is not sent again
	for _, t := range app.sorted() {
		t.unknown()
		c.sync(t)
	}
	if len(app.tasks) == 0 {
		c.forget(app)
	}
}

// acceptApplication takes in that the core wants an application: its placeholders are made. The
// lock must be held.
func (c *Context) acceptApplication(id string) {
	if app := c.apps[id]; app != nil && app.told {
		app.accepted = true
		c.gangs.queue.Add(id)
	}
}

// failApplication takes in that the core has forgotten an application whose gang took too long.
// Its pods are none of a new one, so it is kept until they have ended. The lock must be held.
func (c *Context) failApplication(id string) {
	app := c.apps[id]
	if app == nil {
		return
	}
	app.told, app.forced = false, false
	if len(app.tasks) == 0 {
		c.forget(app)
	}
}

// completeApplication takes in that the core has forgotten an application. A pod may have
// come at the same moment, so it is told again if there are any. The lock must be held.
func (c *Context) completeApplication(id string) {
	app := c.apps[id]
	if app == nil {
		return
	}
	app.told, app.forced, app.gang = false, false, nil
	if len(app.tasks) == 0 {
		c.forget(app)
		return
	}
	for _, t := range app.sorted() {
		t.unknown()
		c.sync(t)
	}
}

// reconsider sends applications again that were rejected: the queues are others now.
func (c *Context) reconsider() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.sortedTasks() {
		if t.app != nil && t.app.rejected != "" && !t.app.told {
			t.app.rejected = ""
		}
		if t.told == untold {
			t.rejections = 0
			c.sync(t)
		}
	}
}
