package utilization

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// namesMax is how many nodes a message names.
const namesMax = 10

// usageOf returns the measured use that a query asks for.
func usageOf(ctx context.Context, handle framework.Handle, query framework.UsageQuery) (framework.Usage, error) {
	usage := handle.Usage()
	if usage == nil {
		return nil, errors.New("no source of measured use is configured: metricsProviders of the policy names none")
	}
	if sources, ok := usage.(framework.UsageSources); ok {
		return sources.Of(ctx, query)
	}
	return usage, nil
}

// byUse fills accounts with what is measured. A node of which it is not known what it
// uses is left alone, and named in a message. What is no measured resource, such as
// the number of pods, is counted by requests.
func (c *cluster) byUse(usage framework.Usage) {
	c.amounts = func(pod *v1.Pod) ([]int64, bool) { return c.usedBy(usage, pod) }
	var unknown []string
	for _, a := range c.accounts {
		if !c.measure(usage, a) {
			a.known = false
			unknown = append(unknown, a.node.Name)
		}
	}
	if len(unknown) > 0 {
		c.run.Warn(unknownNodes(unknown, len(c.accounts)))
	}
	for _, b := range c.run.Bookings() {
		c.rebook(usage, b)
	}
}

// unknownNodes says that it is not known what some of all nodes use.
func unknownNodes(names []string, all int) string {
	if len(names) == all {
		return fmt.Sprintf("it is not known, or not of late, what any of %s uses, so nothing is moved", wording.Several(all, "node"))
	}
	list := strings.Join(names[:min(len(names), namesMax)], ", ")
	if more := len(names) - namesMax; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("it is not known, or not of late, what %d of %s use, which are left alone: %s", len(names), wording.Several(all, "node"), list)
}

// measure fills one account. It answers false where something is not known.
func (c *cluster) measure(usage framework.Usage, a *account) bool {
	list, ok := usage.Node(a.node.Name)
	if !ok {
		return false
	}
	for _, d := range c.dimensions {
		if _, there := list[d.name]; isMeasured(d.name) && !d.production && !there {
			return false
		}
	}
	for i, d := range c.dimensions {
		if isMeasured(d.name) && !d.production {
			a.used[i] = amountOf(list, d.name)
		}
	}
	for _, pod := range c.run.Snapshot().PodsOn(a.node.Name) {
		if eviction.Ended(pod) {
			continue
		}
		amounts := requestsOf(pod, c.dimensions, nil)
		if inProduction(pod) && c.hasProduction() {
			if amounts, ok = c.usedBy(usage, pod); !ok {
				return false
			}
		}
		for i, d := range c.dimensions {
			if d.production || !isMeasured(d.name) {
				a.used[i] += amounts[i]
			}
		}
	}
	return true
}

// rebook moves what a pod uses that another plugin has evicted in this cycle, since it
// was measured before. Where that is not known, neither node is.
func (c *cluster) rebook(usage framework.Usage, b framework.Booking) {
	amounts, ok := c.usedBy(usage, b.Pod)
	if from := c.byName[b.Pod.Spec.NodeName]; from != nil {
		from.known = from.known && ok
		for i, d := range c.dimensions {
			if isMeasured(d.name) && !d.production { // the others are counted without it
				from.used[i] -= amounts[i]
			}
		}
	}
	if to := c.byName[b.Node]; to != nil {
		to.known = to.known && ok
		to.add(amounts, 1)
	}
}

func (c *cluster) hasProduction() bool {
	for _, d := range c.dimensions {
		if d.production {
			return true
		}
	}
	return false
}

// usedBy is what a pod uses. Without an answer it is what is counted by requests.
func (c *cluster) usedBy(usage framework.Usage, pod *v1.Pod) ([]int64, bool) {
	amounts := requestsOf(pod, c.dimensions, nil)
	list, known := usage.Pod(pod.Namespace, pod.Name)
	for i, d := range c.dimensions {
		if !isMeasured(d.name) {
			continue
		}
		_, there := list[d.name]
		known = known && there
		if !d.production || inProduction(pod) {
			amounts[i] = amountOf(list, d.name)
		}
	}
	return amounts, known
}

// isMeasured says whether a resource is one that is measured, and not counted.
func isMeasured(name v1.ResourceName) bool {
	return name == v1.ResourceCPU || name == v1.ResourceMemory || name == framework.MetricResource
}

// unknownUse is why a pod stays.
func unknownUse(pod *v1.Pod) error {
	return fmt.Errorf("it is not known, or not of late, what pod %s/%s uses", pod.Namespace, pod.Name)
}
