package upstream

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// revision is the label by which the pods of a Deployment are told apart during a rollout.
const revision = "pod-template-hash"

func spreads(w *world) string {
	args := []string{}
	if w.p(40) {
		args = append(args, "constraints: "+w.pick("[DoNotSchedule]", "[ScheduleAnyway]", "[DoNotSchedule, ScheduleAnyway]"))
	}
	if w.p(15) {
		args = append(args, "topologyBalanceNodeFit: false")
	}
	return list(append(args, selects(w))...)
}

// zoned gives zones equally many nodes, as most clusters do that grow by themselves.
func zoned(w *world) {
	if w.p(67) {
		for i, n := range w.nodes {
			n.Labels["zone"] = "abc"[i%3:][:1]
		}
	}
}

// spread has the constraints that users write: of zones, of nodes, or of both, mostly hard ones of a skew of one, some with the
// fields that say what is counted.
func spread(w *world, p *v1.Pod) {
	if !w.p(60) {
		return
	}
	p.Labels[revision] = "1"
	if w.p(25) {
		p.Annotations["rollout"] = "half done"
	}
	if w.p(10) {
		p.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	}
	for _, key := range [][]string{{"zone"}, {"zone"}, {"zone", v1.LabelHostname}, {v1.LabelHostname}}[w.IntN(4)] {
		c := v1.TopologySpreadConstraint{
			MaxSkew: int32(max(1, w.IntN(4)-1)), TopologyKey: key,
			WhenUnsatisfiable: v1.UnsatisfiableConstraintAction(w.pick("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
			LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}},
		}
		if w.p(25) {
			c.MatchLabelKeys = []string{revision}
		}
		if w.p(25) {
			c.NodeTaintsPolicy = new(v1.NodeInclusionPolicyHonor)
		}
		if w.p(15) && c.WhenUnsatisfiable == v1.DoNotSchedule {
			c.MinDomains = new(int32(2 + w.IntN(2)))
		}
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
	}
}

// revised has pods of two revisions in the middle of a rollout.
func revised(w *world, p *v1.Pod) {
	if p.Annotations["rollout"] != "" {
		p.Labels[revision] = w.pick("1", "2")
	}
}

// stood is where pods are that their scheduler had spread, by what happened since. The three that make a skew are as frequent as each
// other: a domain is new or has come back, pods were taken away whichever they were, or the constraint is newer than the pods.
func stood(w *world, replicas int) []*v1.Node {
	switch w.IntN(3) {
	case 0:
		key := w.pick("zone", v1.LabelHostname)
		empty := w.nodes[w.IntN(len(w.nodes))].Labels[key]
		return w.even(slices.DeleteFunc(slices.Clone(w.nodes), func(n *v1.Node) bool { return n.Labels[key] == empty }), replicas)
	case 1:
		all := w.even(w.nodes, 2*replicas)
		w.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all[:replicas]
	}
	return nil
}

// even spreads pods over zones, and over the nodes of each.
func (w *world) even(nodes []*v1.Node, pods int) (of []*v1.Node) {
	zones, on := map[string]int{}, map[string]int{}
	for range pods {
		if len(nodes) == 0 {
			return nil
		}
		w.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		n := slices.MinFunc(nodes, func(a, b *v1.Node) int {
			return cmp.Or(cmp.Compare(zones[a.Labels["zone"]], zones[b.Labels["zone"]]), cmp.Compare(on[a.Name], on[b.Name]))
		})
		zones[n.Labels["zone"]]++
		on[n.Name]++
		of = append(of, n)
	}
	return of
}

// bySpread is where it matters that a pod is: the domain of the finest constraint that the policy looks at, and the revision if one
// counts by it.
func bySpread(w *world, p *v1.Pod) string {
	where, of := "", ""
	for _, c := range p.Spec.TopologySpreadConstraints {
		if w.looksAt(c.WhenUnsatisfiable) {
			where = w.nodeOf(p).Labels[c.TopologyKey]
			if len(c.MatchLabelKeys) > 0 {
				of = " of revision " + p.Labels[revision]
			}
		}
	}
	return where + of
}
