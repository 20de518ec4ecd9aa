package preferences

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/podlabels"
)

// A class is what is known of pods that are alike. Lists are by the slots of nodes.
type class struct {
	pod     *v1.Pod // one of them
	layout  uint64  // of the nodes that it was made for
	objects uint64  // of the services and controllers
	runs    []bool  // it may run there, as far as taints and labels of the node decide
	taints  []int32 // how many there are that it is to avoid
	labels  []int32 // the weights of the preferred terms of node affinity that hold there
	avoids  bool    // any node because of taints
	likes   bool    // any node because of labels

	spread   spread
	affinity affinity
	images   wanted
}

// isIndifferent says that the pods of the class have no preference.
func (c *class) isIndifferent() bool {
	return !c.avoids && !c.likes && len(c.spread.constraints) == 0 && !c.affinity.counts() && !c.images.differ
}

// traits is what makes pods alike here. As JSON, maps are in order.
type traits struct {
	Namespace   string
	Labels      map[string]string
	Left        []string // the names of labels that are left out
	Owner       string
	Selector    map[string]string
	Affinity    *v1.Affinity
	Tolerations []v1.Toleration
	Spread      []v1.TopologySpreadConstraint
	Images      []string
}

// keyOf is equal for pods that are alike. The numbers of pods of one controller count only if terms of other pods name them, or
// spread constraints of the pod itself.
func keyOf(pod *v1.Pod, named podlabels.Numbers) string {
	of := traits{
		Namespace: pod.Namespace, Selector: pod.Spec.NodeSelector, Affinity: pod.Spec.Affinity,
		Tolerations: pod.Spec.Tolerations, Spread: pod.Spec.TopologySpreadConstraints, Images: imagesOf(pod),
	}
	of.Labels, of.Left = podlabels.Without(pod.Labels, named|podlabels.NamedBySpread(pod.Spec.TopologySpreadConstraints))
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		of.Owner = owner.APIVersion + " " + owner.Kind + " " + owner.Name
	}
	text, err := json.Marshal(of)
	if err != nil { // numbers and texts are always written
		panic(err)
	}
	return string(text)
}

// classOf is the class of a pod, as the nodes and objects are now.
func (s *Scorer) classOf(pod *v1.Pod) *class {
	c := s.counted(pod)
	if s.images != nil {
		s.images.rate(&c.images, s.nodes, len(s.slots))
	}
	return c
}

// counted is the class of a pod with what is counted of pods, services and controllers.
func (s *Scorer) counted(pod *v1.Pod) *class {
	key := keyOf(pod, s.named)
	c, known := s.classes.Get(key)
	seen := s.objects.seen()
	if known && c.layout == s.layout && c.objects != seen {
		// Most changes of objects concern other pods.
		if c.spread.selector == s.selects(pod).String() {
			c.objects = seen
		}
	}
	if known && c.layout == s.layout && c.objects == seen {
		return c
	}
	if known {
		s.listeners.remove(c)
	}
	c = s.newClass(pod, seen)
	s.listeners.add(c)
	s.classes.Add(key, c)
	return c
}

// newClass counts everything anew for the pods that are like one.
func (s *Scorer) newClass(pod *v1.Pod, seen uint64) *class {
	c := &class{
		pod: pod, layout: s.layout, objects: seen,
		runs: make([]bool, len(s.nodes)), taints: make([]int32, len(s.nodes)), labels: make([]int32, len(s.nodes)),
	}
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	preferred, added := preferredTerms(pod), s.added
	tolerated := make([]bool, len(s.nodes))
	matches := make([]bool, len(s.nodes))
	for slot, node := range s.nodes {
		if node == nil {
			continue
		}
		matches[slot], _ = required.Match(node) // terms that cannot be read match no node
		tolerated[slot], c.taints[slot] = tolerates(pod, node)
		c.runs[slot] = matches[slot] && tolerated[slot]
		if preferred != nil {
			c.labels[slot] = int32(preferred.Score(node))
		}
		if added != nil {
			c.labels[slot] += int32(added.Score(node))
		}
		c.avoids = c.avoids || c.taints[slot] > 0
		c.likes = c.likes || c.labels[slot] > 0
	}
	c.spread = s.newSpread(pod, matches, tolerated)
	c.affinity = s.newAffinity(pod)
	c.images = newWanted(pod)
	s.recount(c)
	return c
}

// recount has a new class count all pods that may matter to it, each once.
func (s *Scorer) recount(c *class) {
	sets := []podSet{s.choosy}
	last := ""
	for i := range c.spread.constraints {
		selector := c.spread.constraints[i].selector
		if text := selector.String(); text != last || i == 0 {
			sets, last = append(sets, s.matching(selector)...), text
		}
	}
	for _, term := range c.affinity.own {
		sets = append(sets, s.matching(term.Selector)...)
	}
	for p := range podlabels.Once(sets) {
		if slot, known := s.slots[p.node]; known {
			c.count(p, slot, 1)
		}
	}
}

// count counts a pod on a node that is known, or with -1 not any more.
func (c *class) count(p *counted, slot, sign int32) {
	c.spread.count(c.pod, p, slot, sign)
	c.affinity.count(c.pod, p, slot, sign)
}

// preferredTerms are those of the node affinity of a pod, nil if there are none that can be read.
func preferredTerms(pod *v1.Pod) *nodeaffinity.PreferredSchedulingTerms {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return nil
	}
	return termsOf(pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
}

func termsOf(list []v1.PreferredSchedulingTerm) *nodeaffinity.PreferredSchedulingTerms {
	terms, err := nodeaffinity.NewPreferredSchedulingTerms(list)
	if err != nil || len(list) == 0 {
		return nil
	}
	return terms
}

// tolerates says whether a pod may run beside the taints of a node, and how many of these it is to avoid.
func tolerates(pod *v1.Pod, node *v1.Node) (may bool, avoided int32) {
	may = true
	compares := utilfeature.DefaultFeatureGate.Enabled(features.TaintTolerationComparisonOperators)
	for i, taint := range node.Spec.Taints {
		one := node.Spec.Taints[i : i+1]
		if _, not := corev1.FindMatchingUntoleratedTaint(klog.Background(), one, pod.Spec.Tolerations, nil, compares); !not {
			continue
		}
		if taint.Effect == v1.TaintEffectPreferNoSchedule {
			avoided++
		} else {
			may = false
		}
	}
	return may, avoided
}
