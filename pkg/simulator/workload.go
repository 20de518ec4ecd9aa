package simulator

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A source is a workload that is still coming. It plans one arrival ahead, so
// that a large workload costs memory only for the pods that are there.
type source struct {
	*Workload
	cluster *cluster
	spec    *podSpec
	driver  *podSpec // of the first pod of an application
	arrival *rand.Rand
	size    *rand.Rand
	runs    *rand.Rand
	left    []int // pods of each application that are to come, if they come one by one
	next    int   // application
}

// startWork plans the first arrival of each workload and of the trace.
func (c *cluster) startWork() {
	for i := range c.scenario.Workloads {
		w := &c.scenario.Workloads[i]
		s := &source{
			Workload: w,
			cluster:  c,
			spec: &podSpec{
				wants:    newWants(w.Demand, w.Selector),
				amounts:  w.Amounts,
				priority: w.Priority,
				once:     w.Once,
				optOut:   w.OptOut,
				spares:   w.SparesOthers,
				stubborn: w.Stubborn,
				grace:    w.Grace,
				budgets:  c.budgets.of(w.Name),
				tags:     tagsOf(w.Demand, w.Selector, w.Grace, w.QoS),
			},
			arrival: stream(c.seed, "arrival "+w.Name),
			size:    stream(c.seed, "size "+w.Name),
			runs:    stream(c.seed, "runs "+w.Name),
		}
		if w.Gang != nil {
			s.spec.taskGroup = w.Name
		}
		s.driver = s.spec
		if w.Driver {
			driver := *s.spec
			driver.driver, s.driver = true, &driver
		}
		if w.Arrival.Pods {
			for range w.Applications {
				pods := w.Pods.draw(s.size)
				s.left = append(s.left, pods)
				c.expected += pods
			}
		} else {
			c.expected += w.Applications
		}
		c.events.plan(w.Arrival.From+s.first(), s.come)
	}
	c.expected += len(c.scenario.Trace)
	if len(c.scenario.Trace) > 0 {
		c.events.plan(c.scenario.Trace[0].Arrive, func() { c.replay(0) })
	}
}

// tagsOf is what the core gets beside amounts: what a demand looks like, to be shown,
// and what it makes use of.
func tagsOf(d Demand, selector map[string]string, grace time.Duration, qos string) map[string]string {
	tags := map[string]string{}
	if needs := d.selector(selector); needs != "" {
		tags[api.TagNodeSelector] = needs
	}
	if d.Count > 0 {
		tags["gpus"] = d.String()
	}
	if grace > 0 {
		tags[api.TagGrace] = strconv.Itoa(int((grace + time.Second - 1) / time.Second))
	}
	if qos != "" {
		tags[api.TagQoS] = qos
	}
	if len(tags) == 0 {
		return nil
	}
	return tags
}

// first is the time until the first arrival.
func (s *source) first() time.Duration {
	if s.Arrival.Mean > 0 {
		return s.gap()
	}
	return 0
}

func (s *source) gap() time.Duration {
	if s.Arrival.Mean > 0 {
		d, _ := Exponential(s.Arrival.Mean).draw(s.arrival)
		return d
	}
	return s.Arrival.Gap
}

// come lets arrive what is due now, and plans the next arrival.
func (s *source) come() {
	for {
		var more bool
		if s.Arrival.Pods {
			more = s.onePod()
		} else {
			more = s.oneApplication()
		}
		if !more {
			return
		}
		if gap := s.gap(); gap > 0 {
			s.cluster.after(gap, s.come)
			return
		}
	}
}

func (s *source) oneApplication() bool {
	count := s.Pods.draw(s.size)
	switch {
	case s.Gang != nil:
		s.gang(s.next, count)
	case s.Group != nil:
		s.group(s.next, count)
	default:
		for i := range count {
			s.pod(s.next, i)
		}
	}
	s.next++
	s.cluster.come++
	return s.next < s.Applications
}

// onePod serves the applications turn about.
func (s *source) onePod() bool {
	for range s.Applications {
		i := s.next % s.Applications
		s.next++
		if s.left[i] > 0 {
			s.left[i]--
			s.cluster.come++
			s.pod(i, s.left[i])
			break
		}
	}
	for _, left := range s.left {
		if left > 0 {
			return true
		}
	}
	return false
}

func (s *source) pod(application, number int) {
	p, command := s.newPod(application, number)
	p.app = s.cluster.applications.register(command)
	s.cluster.pods.arrive(p)
}

// gang has an application come whose pods come when its placeholders run.
func (s *source) gang(application, count int) {
	members, command := s.newPods(application, count)
	s.cluster.gangs.arrive(s.Gang, command, members)
}

// group has an application come whose pods start together.
func (s *source) group(application, count int) {
	members, command := s.newPods(application, count)
	s.groupPods(command.ID, members)
	for _, p := range members {
		p.app = s.cluster.applications.register(command)
		s.cluster.pods.arrive(p)
	}
}

// newPods are all pods of an application, and the command that registers that.
func (s *source) newPods(application, count int) (members []*pod, command api.AddApplication) {
	members = make([]*pod, count)
	for i := range members {
		members[i], command = s.newPod(application, i)
	}
	return members, command
}

// newPod is a pod of an application, and the command that registers that.
func (s *source) newPod(application, number int) (*pod, api.AddApplication) {
	id := s.Name
	if s.Applications > 1 {
		id = fmt.Sprintf("%s-%d", s.Name, application+1)
	}
	p := &pod{podSpec: s.spec, attempt: 1, leave: -1, runs: -1}
	if number == 0 {
		p.podSpec = s.driver
	}
	p.base = api.AllocationKey(fmt.Sprintf("%s/%d", id, number+1))
	p.key = p.base
	if runs, ends := s.Runs.draw(s.runs); ends {
		p.runs = runs
	}
	return p, s.application(api.ApplicationID(id), application)
}

// application is the one of a number: users and namespaces take turns.
func (s *source) application(id api.ApplicationID, number int) api.AddApplication {
	command := newApplication(id, s.Queue, s.Users[number%len(s.Users)], s.UserGroups)
	command.Tags = maps.Clone(s.Tags)
	if len(s.Namespaces) > 0 {
		namespace := s.Namespaces[number%len(s.Namespaces)]
		if command.Tags == nil {
			command.Tags = map[string]string{}
		}
		command.Tags[tagNamespace] = namespace
		command.Quota = s.cluster.scenario.quotaOf(namespace)
	}
	return command
}

// replay lets pods of the trace arrive, from the one given on.
func (c *cluster) replay(from int) {
	trace := c.scenario.Trace
	i := from
	for ; i < len(trace) && trace[i].Arrive <= c.now; i++ {
		t := &trace[i]
		p := &pod{
			podSpec: &podSpec{wants: newWants(t.Demand, nil), amounts: t.Amounts, priority: t.Priority, tags: tagsOf(t.Demand, nil, 0, "")},
			key:     t.Key,
			base:    t.Key,
			attempt: 1,
			leave:   t.Leave,
			runs:    -1,
		}
		p.app = c.applications.register(newApplication(api.ApplicationID(t.Class), t.Queue, "trace", nil))
		c.pods.arrive(p)
		c.come++
	}
	if i < len(trace) {
		c.events.plan(trace[i].Arrive, func() { c.replay(i) })
	}
}
