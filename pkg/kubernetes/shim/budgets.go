package shim

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// A budget is a PodDisruptionBudget with its selector read.
type budget struct {
	*policy.PodDisruptionBudget
	selector labels.Selector
	// counted are the pods of which it is known that the status counts them as ending: it
	// was written after they began to end.
	counted map[string]bool
	// forbids is whether the core was told that nothing more of it may end, or less than the
	// core asked about.
	forbids atomic.Bool
}

// budgets are the disruption budgets by namespace and name. They are guarded by the lock of
// the context.
type budgets struct {
	*Context
	of map[string]map[string]*budget
}

func newBudgets(c *Context) *budgets {
	return &budgets{Context: c, of: map[string]map[string]*budget{}}
}

// AddPodDisruptionBudget takes a disruption budget.
func (c *budgets) AddPodDisruptionBudget(b *policy.PodDisruptionBudget) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A budget without a selector is for no pod, one with an empty selector for every pod of
	// its namespace.
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		c.log.Warn("selector of disruption budget not understood", zap.String("namespace", b.Namespace), zap.String("budget", b.Name), zap.Error(err))
		selector = labels.Nothing()
	}
	if c.of[b.Namespace] == nil {
		c.of[b.Namespace] = map[string]*budget{}
	}
	next := &budget{PodDisruptionBudget: b, selector: selector, counted: c.ending(b.Namespace, selector)}
	if before := c.of[b.Namespace][b.Name]; before != nil && before.forbids.Load() {
		if before.allows(b) {
			defer c.askAgain(before)
		} else {
			next.forbids.Store(true)
		}
	}
	c.of[b.Namespace][b.Name] = next
}

// allows reports whether a later state of a budget may let a pod end that this one keeps. That
// fewer pods are healthy says that one of them may end which is not ready any more.
func (b *budget) allows(later *policy.PodDisruptionBudget) bool {
	return later.Status.DisruptionsAllowed > b.Status.DisruptionsAllowed ||
		!equality.Semantic.DeepEqual(later.Spec.Selector, b.Spec.Selector) ||
		pods.LetsUnready(later) && (!pods.LetsUnready(b.PodDisruptionBudget) || later.Status.CurrentHealthy < b.Status.CurrentHealthy)
}

// askAgain has the core ask again about the nodes on which pods of a budget run: they may end
// now. The lock must be held.
func (c *budgets) askAgain(b *budget) {
	if !c.started {
		return
	}
	found := map[string]bool{}
	for _, t := range c.tasks {
		if t.node != "" && t.pod.Namespace == b.Namespace && b.selector.Matches(labels.Set(t.pod.Labels)) {
			found[t.node] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if node := c.nodes[name]; node != nil {
			c.sender.put(message{node: c.nodeInfo(node, si.NodeInfo_UPDATE)})
		}
	}
}

// ending is the pods of a budget that are ending now. The lock must be held.
func (c *budgets) ending(namespace string, selector labels.Selector) map[string]bool {
	ending := map[string]bool{}
	for key, t := range c.leaving {
		if t.pod.DeletionTimestamp != nil && t.pod.Namespace == namespace && selector.Matches(labels.Set(t.pod.Labels)) {
			ending[key] = true
		}
	}
	return ending
}

// UpdatePodDisruptionBudget takes the new state of a disruption budget.
func (c *budgets) UpdatePodDisruptionBudget(_, b *policy.PodDisruptionBudget) {
	c.AddPodDisruptionBudget(b)
}

// DeletePodDisruptionBudget forgets a disruption budget.
func (c *budgets) DeletePodDisruptionBudget(b *policy.PodDisruptionBudget) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.of[b.Namespace][b.Name]; before != nil && before.forbids.Load() {
		defer c.askAgain(before)
	}
	delete(c.of[b.Namespace], b.Name)
	if len(c.of[b.Namespace]) == 0 {
		delete(c.of, b.Namespace)
	}
}

// DisruptionBudgets returns the budgets that some allocations count for. What is allowed is
// what the disruption controller says, less the victims that it cannot have counted yet.
func (c callback) DisruptionBudgets(allocationKeys []string) []scheduler.DisruptionBudget {
	c.mu.RLock()
	defer c.mu.RUnlock()
	byNamespace := map[string][]*task{}
	for _, key := range allocationKeys {
		if t := c.tasks[key]; t != nil {
			byNamespace[t.pod.Namespace] = append(byNamespace[t.pod.Namespace], t)
		}
	}
	var all []scheduler.DisruptionBudget
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		budgets := c.budgets.of[namespace]
		for _, name := range slices.Sorted(maps.Keys(budgets)) {
			b := budgets[name]
			found := scheduler.DisruptionBudget{Name: namespace + "/" + name}
			for _, t := range byNamespace[namespace] {
				if b.isFor(t.pod) {
					found.Allocations = append(found.Allocations, t.key())
				}
			}
			if len(found.Allocations) > 0 {
				found.Allowed = max(0, int(b.Status.DisruptionsAllowed)-c.budgets.uncounted(b))
				if found.Allowed < len(found.Allocations) {
					b.forbids.Store(true)
				}
				all = append(all, found)
			}
		}
	}
	return all
}

// isFor reports whether the end of a pod takes from a budget, as the eviction API has it. Pods
// that are on their way out by another way are taken off it already. One that does not run yet
// takes nothing from it, and one that is not ready mostly does not.
func (b *budget) isFor(pod *v1.Pod) bool {
	_, taken := b.Status.DisruptedPods[pod.Name]
	return !taken && pod.DeletionTimestamp == nil && pod.Status.Phase != v1.PodPending && b.selector.Matches(labels.Set(pod.Labels)) &&
		(pods.IsReady(pod) || !pods.LetsUnready(b.PodDisruptionBudget))
}

// uncounted is how many pods of a budget are ending that its status cannot account for yet.
// The lock must be held.
func (c *budgets) uncounted(b *budget) int {
	n := 0
	for key, t := range c.leaving {
		_, taken := b.Status.DisruptedPods[t.pod.Name]
		if !b.counted[key] && !taken && t.pod.Namespace == b.Namespace && b.selector.Matches(labels.Set(t.pod.Labels)) {
			n++
		}
	}
	return n
}

// names are the disruption budgets for the state dump.
func (c *budgets) names() []string {
	var names []string
	for namespace, byName := range c.of {
		for name := range byName {
			names = append(names, strings.Join([]string{namespace, name}, "/"))
		}
	}
	slices.Sort(names)
	return names
}
