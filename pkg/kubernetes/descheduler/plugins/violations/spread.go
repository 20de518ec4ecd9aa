package violations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/podindex"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

// TopologySpread is the name of the plugin.
const TopologySpread = "RemovePodsViolatingTopologySpreadConstraint"

// TopologySpreadArgs select pods whose spread constraints are violated.
type TopologySpreadArgs struct {
	metav1.TypeMeta `json:",inline"`
	selection.Pods  `json:",inline"`

	// Constraints are the kinds that are looked at.
	Constraints []v1.UnsatisfiableConstraintAction `json:"constraints,omitempty"`
	// TopologyBalanceNodeFit is read and has no effect: a pod is moved only if the
	// scheduler would place it where that helps.
	TopologyBalanceNodeFit *bool `json:"topologyBalanceNodeFit,omitempty"`
}

// TopologySpreadDefinition is RemovePodsViolatingTopologySpreadConstraint.
func TopologySpreadDefinition() framework.Definition {
	return framework.Typed(framework.Definition{
		Name:   TopologySpread,
		Points: []framework.Point{framework.Balance},
		Args: func() any {
			yes := true
			return &TopologySpreadArgs{
				Constraints:            []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule},
				TopologyBalanceNodeFit: &yes,
			}
		},
	}, validateTopologySpread, func(a *TopologySpreadArgs, handle framework.Handle) (framework.Plugin, error) {
		selected, err := a.Selector()
		return &topologySpread{args: a, handle: handle, selected: selected}, err
	})
}

func validateTopologySpread(a *TopologySpreadArgs) error {
	kinds := make([]string, len(a.Constraints))
	for i, c := range a.Constraints {
		kinds[i] = string(c)
	}
	return errors.Join(a.Pods.Validate(),
		selection.Listed("constraints", kinds, []string{string(v1.DoNotSchedule), string(v1.ScheduleAnyway)}))
}

type topologySpread struct {
	args     *TopologySpreadArgs
	handle   framework.Handle
	selected func(*v1.Pod) bool
}

// Name implements framework.Plugin.
func (s *topologySpread) Name() string { return TopologySpread }

// Repeats implements framework.Repeater.
func (s *topologySpread) Repeats() bool { return true }

// Balance implements framework.BalancePlugin. All constraints of a namespace are seen
// together: a move that helps one and harms another is not made, so that they do not
// undo what the other has done.
func (s *topologySpread) Balance(ctx context.Context, nodes []*v1.Node) *framework.Status {
	run := eviction.Start(ctx, s.handle, TopologySpread)
	processed := make(map[string]bool, len(nodes))
	for _, node := range nodes {
		processed[node.Name] = true
	}
	domains := &domainCache{nodes: run.Snapshot().Nodes(), known: map[string]*nodeDomains{}}
	run.Repeat(func() {
		for _, pods := range byNamespace(run.Pods()) {
			b := s.begin(run, domains, pods)
			for _, g := range b.groups {
				b.balance(g, processed)
			}
			if run.Stopped() {
				return
			}
		}
	})
	return run.Status()
}

// byNamespace splits pods, those that the scheduler counts, by their namespaces, in the
// order of these.
func byNamespace(pods []*v1.Pod) [][]*v1.Pod {
	lists := map[string][]*v1.Pod{}
	var names []string
	for _, pod := range pods {
		if !counts(pod) {
			continue
		}
		if lists[pod.Namespace] == nil {
			names = append(names, pod.Namespace)
		}
		lists[pod.Namespace] = append(lists[pod.Namespace], pod)
	}
	slices.Sort(names)
	split := make([][]*v1.Pod, len(names))
	for i, name := range names {
		split[i] = lists[name]
	}
	return split
}

// A balancing is one pass over a namespace.
type balancing struct {
	*topologySpread
	run    *eviction.Run
	groups []*group
	of     map[types.UID][]*group // those that select a pod
}

// begin finds the constraints of the pods of a namespace and counts what they select.
func (s *topologySpread) begin(run *eviction.Run, domains *domainCache, pods []*v1.Pod) *balancing {
	b := &balancing{topologySpread: s, run: run, of: map[types.UID][]*group{}}
	seen := map[string]bool{}
	var others *podindex.Index
	for _, pod := range pods {
		if !s.selected(pod) {
			continue
		}
		for i := range pod.Spec.TopologySpreadConstraints {
			c := &pod.Spec.TopologySpreadConstraints[i]
			if !slices.Contains(s.args.Constraints, c.WhenUnsatisfiable) {
				continue
			}
			g, err := newGroup(pod, c)
			if err != nil || seen[g.key] {
				continue // the scheduler cannot read the selector either
			}
			seen[g.key] = true
			if others == nil {
				others = podindex.New(pods)
			}
			g.nodes = domains.of(pod, c)
			for _, selected := range g.count(others.Near(g.selector)) {
				b.of[selected.UID] = append(b.of[selected.UID], g)
			}
			b.groups = append(b.groups, g)
		}
	}
	return b
}

// balance moves pods out of domains that have too many, the fullest first, until no
// domain has or nothing helps.
func (b *balancing) balance(g *group, processed map[string]bool) {
	tried := map[*v1.Pod]bool{}
	for !b.run.Stopped() && b.step(g, processed, tried) {
	}
}

// step moves one pod. A pod is tried once in a pass.
func (b *balancing) step(g *group, processed map[string]bool, tried map[*v1.Pod]bool) bool {
	for _, from := range g.overfull() {
		candidates := slices.DeleteFunc(slices.Clone(from.pods), func(pod *v1.Pod) bool {
			return tried[pod] || !processed[pod.Spec.NodeName] || !b.selected(pod)
		})
		for _, pod := range b.mendingMost(g, eviction.Sorted(b.handle, candidates)) {
			tried[pod] = true
			if b.run.Removable(pod) && b.move(g, from, pod) {
				return true
			}
		}
	}
	return false
}

// mendingMost puts those pods first that stand in domains with too many pods of other constraints, too: one
// eviction mends several.
func (b *balancing) mendingMost(g *group, pods []*v1.Pod) []*v1.Pod {
	if len(b.groups) == 1 {
		return pods
	}
	mends := make(map[*v1.Pod]int, len(pods))
	least := map[*group]int{} // which looks at all domains
	for _, pod := range pods {
		for _, other := range b.of[pod.UID] {
			from := other.domainOf(pod.Spec.NodeName)
			if other == g || from == nil {
				continue
			}
			if _, known := least[other]; !known {
				least[other] = other.least()
			}
			if len(from.pods) > least[other]+other.skewMax() {
				mends[pod]++
			}
		}
	}
	slices.SortStableFunc(pods, func(x, y *v1.Pod) int { return cmp.Compare(mends[y], mends[x]) })
	return pods
}

// move has one pod evicted if its replacement comes into a domain that lacks pods.
func (b *balancing) move(g *group, from *domain, pod *v1.Pod) bool {
	reason := fmt.Sprintf("%s=%s has %d pods of its spread constraint, %d more than another domain",
		g.constraint.TopologyKey, from.value, len(from.pods), len(from.pods)-g.least())
	to := ""
	if !b.run.Move(pod, reason, func(landing string) error {
		to = landing
		return b.helps(g, pod, landing)
	}) {
		return false
	}
	g.last = from
	for _, other := range b.of[pod.UID] {
		other.moved(pod, to)
	}
	return true
}

// helps returns nil where a move makes a constraint better and no other one worse. The
// domain that it comes from has more than least and skew, so it gets better.
func (b *balancing) helps(g *group, pod *v1.Pod, landing string) error {
	to := g.domainOf(landing)
	if to == nil {
		return errors.New("is in no domain of its spread constraint")
	}
	if have := len(to.pods) + 1; have > g.least()+g.skewMax() {
		return fmt.Errorf("is in %s=%s, which would have %d pods of its spread constraint, too many",
			g.constraint.TopologyKey, to.value, have)
	}
	for _, other := range b.of[pod.UID] {
		if other != g && other.harmed(pod, landing) {
			return fmt.Errorf("would make the spread over %s worse", other.constraint.TopologyKey)
		}
	}
	return nil
}
