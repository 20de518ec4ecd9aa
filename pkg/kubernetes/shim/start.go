package shim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// Start registers with the core and tells it of all there is. It waits until the informers
// of the factory have listed everything; they may run already. From then on the context
// runs until Stop. The error is that of the registration, or of the context.
func (c *Context) Start(ctx context.Context, factory informers.SharedInformerFactory) error {
	began := time.Now()
	listed, err := c.listen(factory)
	if err != nil {
		return fmt.Errorf("starting informers: %w", err)
	}
	if err := c.retryOnChange(); err != nil {
		return fmt.Errorf("starting informers: %w", err)
	}
	factory.Start(c.ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), listed...) {
		return fmt.Errorf("listing the cluster: %w", context.Cause(ctx))
	}
	if waits, ok := c.feasible.Feasibility.(interface {
		WaitForSync(ctx context.Context) error
	}); ok {
		if err := waits.WaitForSync(ctx); err != nil {
			return fmt.Errorf("listing the cluster: %w", err)
		}
	}
	if err := c.register(); err != nil {
		return err
	}
	c.run(func() { c.sender.run(c.ctx) })
	c.run(func() { c.events.run(c.ctx) })
	c.binder.start()
	c.evictor.start()
	c.status.start()
	c.groups.statuses.start()
	c.reserved.start()
	c.gangs.start()
	nodes, known := c.recover()
	c.log.Info("cluster recovered", zap.Int("nodes", nodes), zap.Int("pods", known), zap.Duration("took", time.Since(began)))
	return nil
}

// register tells the core of the first configuration. One that became wrong while no scheduler was started
// must not end this one: then the queues are used that were in use before, as when a running scheduler meets it.
func (c *Context) register() error {
	err := c.registerWith(c.options.Config.Queues)
	switch {
	case err == nil && c.options.Problem == nil:
		return nil
	case err == nil:
		c.refuse(c.options.Problem)
		return nil
	case c.options.Former == nil:
		return err
	}
	if again := c.registerWith(*c.options.Former); again != nil {
		return errors.Join(err, fmt.Errorf("the queues that were in use before: %w", again))
	}
	c.refuse(errors.Join(c.options.Problem, err))
	return nil
}

// registerWith is register with the queues of a text.
func (c *Context) registerWith(queues string) error {
	_, err := c.options.Core.RegisterResourceManager(&si.RegisterResourceManagerRequest{
		RmID: c.options.ClusterID, PolicyGroup: defaultGroup, Version: c.options.Version,
		Config: queues, ExtraConfig: c.options.Config.Extra,
	}, callback{c})
	if err == nil {
		c.use(queues)
	}
	return err
}

// recover tells the core of all there is, in an order in which nothing is ever counted too
// late: nodes that take nothing yet, then what runs on them, ours and foreign alike, then
// what waits, and at last which nodes may be used. The core carries messages out in
// their order, so no answer is waited for; and since it places nothing before the nodes may
// be used, the most important ask is first and not the one that was sent first. It evicts
// nothing for some seconds after the last of this. It returns how many nodes and pods there are.
func (c *Context) recover() (nodes, known int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started = true
	names := slices.Sorted(maps.Keys(c.nodes))
	for _, name := range names {
		c.sender.put(message{node: c.nodeInfo(c.nodes[name], si.NodeInfo_CREATE_DRAIN)})
	}
	all := c.sortedTasks()
	// Applications first, so that the messages about pods are few requests.
	for _, running := range []bool{true, false} {
		for _, t := range all {
			if m, _ := c.wanted(t); m != nil && !t.foreign() && (t.node != "") == running {
				c.introduce(t.app, running)
			}
		}
	}
	for _, running := range []bool{true, false} {
		for _, t := range all {
			if (t.node != "") == running {
				c.sync(t)
			}
		}
	}
	for _, name := range names {
		if !c.nodes[name].Spec.Unschedulable {
			c.sender.put(message{node: action(c.nodes[name], si.NodeInfo_DRAIN_TO_SCHEDULABLE)})
		}
	}
	return len(names), len(all)
}

// Stop ends everything. Requests to the API server that are under way may finish until the
// context ends, so that what was bound is known; nothing new is begun.
func (c *Context) Stop(ctx context.Context) {
	c.mu.Lock()
	c.stopping = true
	for _, t := range c.tasks {
		if t.binding != nil {
			t.binding.revoke()
		}
	}
	c.mu.Unlock()
	drained := make(chan struct{})
	go func() {
		c.binder.preparing.ShutDownWithDrain()
		c.binder.binding.ShutDownWithDrain()
		close(drained)
	}()
	select {
	case <-drained:
	case <-ctx.Done():
	}
	c.cancel()
	<-drained
	c.evictor.queue.ShutDown()
	c.status.queue.ShutDown()
	c.groups.statuses.queue.ShutDown()
	c.reserved.queue.ShutDown()
	c.gangs.queue.ShutDown()
	c.work.Wait()
}
