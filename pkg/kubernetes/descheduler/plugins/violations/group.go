package violations

import (
	"cmp"
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/constraints"
)

// A group is one spread constraint, with all pods that it counts: those that may not
// be evicted, too, since the scheduler counts them.
type group struct {
	key        string // equal for constraints that demand the same
	constraint *v1.TopologySpreadConstraint
	selector   labels.Selector
	nodes      *nodeDomains
	domains    map[string]*domain // those that have or had a pod
	last       *domain            // that a pod was taken from; nil before the first
}

// nodeDomains are the domains of the nodes that take part.
type nodeDomains struct {
	valueOf map[string]string // by node
	number  int               // of different values
}

// A domain is one value of the topology key.
type domain struct {
	value string
	pods  []*v1.Pod
}

// newGroup reads a constraint of a pod.
func newGroup(pod *v1.Pod, c *v1.TopologySpreadConstraint) (*group, error) {
	// No selector selects nothing, as it does for the scheduler.
	selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
	if err != nil {
		return nil, err
	}
	for _, key := range c.MatchLabelKeys {
		if value, ok := pod.Labels[key]; ok {
			requirement, err := labels.NewRequirement(key, "=", []string{value})
			if err != nil {
				return nil, err
			}
			selector = selector.Add(*requirement)
		}
	}
	key, err := json.Marshal([]any{
		c.TopologyKey, c.MaxSkew, c.WhenUnsatisfiable, c.MinDomains, selector.String(), demands(pod, c),
	})
	return &group{key: string(key), constraint: c, selector: selector}, err
}

// demands is equal for pods for which the same nodes take part.
func demands(pod *v1.Pod, c *v1.TopologySpreadConstraint) []string {
	affinity, taints := honors(c)
	key := []string{"", ""}
	if affinity {
		key[0] = constraints.Key(pod, false)
	}
	if taints {
		key[1] = constraints.Key(pod, true)
	}
	return key
}

// honors says whether nodes that node affinity or taints forbid are left out.
func honors(c *v1.TopologySpreadConstraint) (affinity, taints bool) {
	affinity = c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == v1.NodeInclusionPolicyHonor
	taints = c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == v1.NodeInclusionPolicyHonor
	return affinity, taints
}

// A domainCache knows which nodes take part in which domains.
type domainCache struct {
	nodes []*v1.Node
	known map[string]*nodeDomains
}

// of returns the domains of a constraint by node.
func (d *domainCache) of(pod *v1.Pod, c *v1.TopologySpreadConstraint) *nodeDomains {
	affinity, taints := honors(c)
	parts := demands(pod, c)
	key := c.TopologyKey + "\n" + parts[0] + "\n" + parts[1]
	if known, ok := d.known[key]; ok {
		return known
	}
	found := &nodeDomains{valueOf: map[string]string{}}
	values := map[string]bool{}
	for _, node := range d.nodes {
		value, ok := node.Labels[c.TopologyKey]
		if !ok || affinity && !constraints.LabelsAllow(pod, node) || taints && !constraints.TaintsAllow(pod, node) {
			continue
		}
		found.valueOf[node.Name] = value
		values[value] = true
	}
	found.number = len(values)
	d.known[key] = found
	return found
}

// count sorts pods into domains, and returns those that the constraint selects, in a domain or not.
func (g *group) count(pods []*v1.Pod) (selected []*v1.Pod) {
	g.domains = map[string]*domain{}
	for _, pod := range pods {
		if !g.selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		selected = append(selected, pod)
		if d := g.domainOf(pod.Spec.NodeName); d != nil {
			d.pods = append(d.pods, pod)
		}
	}
	return selected
}

// domainOf is the domain of a node, or nil.
func (g *group) domainOf(node string) *domain {
	value, ok := g.nodes.valueOf[node]
	if !ok {
		return nil
	}
	if g.domains[value] == nil {
		g.domains[value] = &domain{value: value}
	}
	return g.domains[value]
}

func (g *group) skewMax() int { return int(g.constraint.MaxSkew) }

// least is what the emptiest domain has; with too few domains nothing, as the scheduler
// counts.
func (g *group) least() int {
	if len(g.domains) < g.nodes.number {
		return 0 // one has no pod
	}
	if c := g.constraint; c.MinDomains != nil && g.nodes.number < int(*c.MinDomains) && c.WhenUnsatisfiable == v1.DoNotSchedule {
		return 0
	}
	least := -1
	for _, d := range g.domains {
		if least < 0 || len(d.pods) < least {
			least = len(d.pods)
		}
	}
	return max(least, 0)
}

// overfull are the domains that have too many pods, the fullest first. Of equals that is first which gave the last
// one: any order mends the skew by as many evictions, and this is upstream's.
func (g *group) overfull() []*domain {
	least := g.least()
	var over []*domain
	for _, d := range g.domains { // sorted below
		if len(d.pods) > least+g.skewMax() {
			over = append(over, d)
		}
	}
	slices.SortFunc(over, func(a, b *domain) int {
		switch {
		case len(a.pods) != len(b.pods):
			return cmp.Compare(len(b.pods), len(a.pods))
		case a == g.last:
			return -1
		case b == g.last:
			return 1
		}
		return cmp.Compare(a.value, b.value)
	})
	return over
}

// ends are the domains that a move of a pod that the constraint selects takes from and gives to; nil where that is none.
func (g *group) ends(pod *v1.Pod, landing string) (from, to *domain) {
	return g.domainOf(pod.Spec.NodeName), g.domainOf(landing)
}

// harmed says whether a move makes this constraint worse: it is violated then, and
// was not, or the domain that gets the pod has more than the other one had. So each
// move takes something from the sum of the squares of violated constraints, and moves
// come to an end.
func (g *group) harmed(pod *v1.Pod, landing string) bool {
	from, to := g.ends(pod, landing)
	if to == nil || from == to {
		return false
	}
	have := len(to.pods) + 1
	if have <= g.least()+g.skewMax() && (from == nil || g.staysEven(from, to)) {
		return false
	}
	return from == nil || have > len(from.pods)
}

// staysEven says whether no domain has too many pods after one has moved.
func (g *group) staysEven(from, to *domain) bool {
	least, most := -1, 0
	if len(g.domains) < g.nodes.number {
		least = 0
	}
	for _, d := range g.domains {
		n := len(d.pods)
		switch d {
		case from:
			n--
		case to:
			n++
		}
		most = max(most, n)
		if least < 0 || n < least {
			least = n
		}
	}
	return most-least <= g.skewMax()
}

// moved counts a move.
func (g *group) moved(pod *v1.Pod, landing string) {
	from, to := g.ends(pod, landing)
	if from != nil {
		from.pods = slices.DeleteFunc(from.pods, func(p *v1.Pod) bool { return p.UID == pod.UID })
	}
	if to != nil && landing != "" {
		// The next pass sees it as a replacement, which is not moved again.
		s := *pod
		s.UID += "-new"
		s.Spec.NodeName = landing
		to.pods = append(to.pods, &s)
	}
}
