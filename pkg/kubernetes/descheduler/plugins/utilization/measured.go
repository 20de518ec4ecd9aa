package utilization

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
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
func (c *cluster) byUse(ctx context.Context, usage framework.Usage) {
	c.amounts = func(pod *v1.Pod) ([]int64, bool) { return c.usedBy(usage, pod) }
	var unknown []string
	for _, a := range c.accounts {
		if !c.measure(usage, a) {
			a.known = false
			unknown = append(unknown, a.node.Name)
		}
	}
	if len(unknown) > 0 {
		names := strings.Join(unknown[:min(len(unknown), namesMax)], ", ")
		klog.FromContext(ctx).Info("Nodes are left alone, as it is not known, or not of late, what they use",
			"count", len(unknown), "nodes", names)
	}
	for _, b := range c.run.Bookings() {
		c.rebook(usage, b)
	}
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
