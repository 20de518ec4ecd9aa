package simulation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

var loops = flag.Uint64("loops", 36, "how many random clusters kube-scheduler closes the loop of")

// laterMost is in how many of the first 300 clusters, each with cool-downs and without, the second cycle moves a pod that the first one could
// not. It may only become smaller. In the one of seed 7 a pod that ends still draws others of its workload to its zone, since an
// affinity of theirs counts it: kube-scheduler takes node n6 as long as it is there, which has one of them by then, and n4 afterwards.
const laterMost = 2

// TestLoopOfKubeScheduler plays random clusters in which kube-scheduler, and not the report, says where replacements run. None
// waits in the end, no pod goes to and fro, and the second cycle finds nothing to do, with cool-downs and without, but for what is proved
// to have been of no use in the first.
func TestLoopOfKubeScheduler(t *testing.T) {
	evictions, later := map[string]int{}, 0
	made := schedulers(t)
	for _, seed := range seeds(t, *loops) {
		for _, coolDown := range []string{"", "limits: {coolDown: {initial: 0s}}\n"} {
			g := game{t: t, seed: seed, choice: choices[seed%uint64(len(choices))], top: coolDown, by: made}
			if g.play(evictions) {
				later++
			}
		}
	}
	assert.Assert(t, later <= laterMost || seeds(t, 1)[0] > 0 || *loops > 300, "in %d clusters", later)
	t.Logf("%v, in %d of %d clusters the second cycle moves pods that the first could not", evictions, later, 2**loops)
	for _, c := range choices {
		assert.Check(t, evictions[c.name] > 0 || *loops < 300, "%s evicted nothing", c.name)
	}
}

// TestLoopsThatFailed plays random clusters that broke a law once. In most of them the pod of a StatefulSet, which is made anew when the
// last one has ended, was taken to be there when others were placed that come before it; in 2959 and 5455 it was taken for a
// difference which of two equal pods runs where. In 2753 a pod waited to the end. In 1557 a replacement that waited for room found it while its
// own pod still ended, and came to that, of which its affinity is; in 20659 one that waited for several pods to end came back to its node,
// where one ended first. In 2375 one pod stays as it would have had to move again, and another has to wait for that one. The last line names
// those in which the second cycle goes on, for a reason that is proved.
func TestLoopsThatFailed(t *testing.T) {
	made, later := schedulers(t), []uint64(nil)
	for _, seed := range []uint64{454, 1557, 2375, 2697, 2753, 2757, 2807, 2959, 3105, 3692, 4054, 4172, 4413, 5095, 5108, 5455, 20659} {
		g := game{t: t, seed: seed, choice: choices[seed%uint64(len(choices))], by: made}
		if g.play(map[string]int{}) {
			later = append(later, seed)
		}
	}
	assert.DeepEqual(t, later, []uint64{454, 2375, 2697, 2753, 3105, 3692, 4054, 4172, 4413, 5095, 5108, 20659})
}

// schedulers are one that prefers free nodes, and one that prefers full ones.
func schedulers(t *testing.T) map[bool]*kubeScheduler {
	return map[bool]*kubeScheduler{false: newKubeScheduler(t, false), true: newKubeScheduler(t, true)}
}

// A game is a random cluster with one plugin.
type game struct {
	t      *testing.T
	seed   uint64
	choice choice
	top    string // of the policy
	early  bool   // pods of StatefulSets are replaced at once, too
	by     map[bool]*kubeScheduler
}

// begin makes the cluster. Chance decides which of equal nodes kube-scheduler takes.
func (g game) begin(chance uint64) *loop {
	packs, top := g.choice.goal == "high", g.top
	if packs {
		top += "nodeOrder: MostAllocated\n"
	}
	k := g.by[packs]
	k.chance = rand.New(rand.NewPCG(g.seed, chance))
	w := newWorld(g.t, foreignObjects(g.seed), unlimited, load(g.t, policyOf(top, "{}", g.choice)))
	for _, p := range w.objects.Pods {
		if g.early && len(p.OwnerReferences) > 0 && p.OwnerReferences[0].Kind == "StatefulSet" {
			p.OwnerReferences[0].Kind = "ReplicaSet"
		}
	}
	ft.Controllers(g.t, k.factory, w.objects.Pods)
	return &loop{world: w, by: k, left: map[string][]string{}}
}

// play plays four cycles, and says whether the second one moves pods that the first could not.
func (g game) play(evictions map[string]int) (later bool) {
	l := g.begin(7)
	for cycle := range 4 {
		report, wrong := l.play()
		evictions[g.choice.name] += len(report.Evictions)
		for _, text := range wrong {
			g.t.Errorf("seed %d, cycle %d, %s: %s", g.seed, cycle, g.choice.name, text)
		}
		switch {
		case len(report.Evictions) == 0 || cycle == 0:
		case cycle == 1 && (g.couldNot(report) || g.rests()):
			later = true
		default:
			g.t.Errorf("seed %d, cycle %d, %s goes on: %v", g.seed, cycle, g.choice.name, movesOf(report))
		}
	}
	return later
}

// rests says whether the first cycle would have been the last one if pods of StatefulSets were replaced at once. As they are replaced when
// they have ended, a pod whose replacement comes before might take a place that is theirs, and stays until they stand there.
func (g game) rests() bool {
	g.early = true
	l := g.begin(7)
	_, wrong := l.play()
	report, _ := l.play()
	return len(wrong) == 0 && len(report.Evictions) == 0
}

// chancesMax is how often kube-scheduler is given other luck.
const chancesMax = 20

// couldNot says whether the first cycle could not do what the second one does: each pod stayed for a reason that is proved, or had to wait for
// such pods, and stays as well if these may not go.
func (g game) couldNot(second *descheduler.Report) bool {
	stay := map[types.UID]bool{}
	l := g.begin(7)
	for _, e := range second.Evictions {
		if byUID(l.objects.Pods)[e.UID] == nil {
			return false // the first cycle has moved it
		}
		stay[e.UID] = g.wasOfNoUse(e, second) || g.takesPlace(e)
	}
	l = g.begin(7)
	l.play()
	l.refuse = func(p *v1.Pod) error {
		if stay[p.UID] {
			return apierrors.NewTooManyRequests("it stays", 0)
		}
		return nil
	}
	without, _ := l.cycle(l.d)
	return !slices.ContainsFunc(without.Evictions, func(e descheduler.Eviction) bool { return evicts(second, e) })
}

// evicts says whether a cycle evicts a pod.
func evicts(r *descheduler.Report, e descheduler.Eviction) bool {
	return slices.ContainsFunc(r.Evictions, func(other descheduler.Eviction) bool { return other.UID == e.UID })
}

// wasOfNoUse says whether an eviction of a second cycle would have been of no use in the first one: had that evicted the pod too, it
// would have come back, or wait, or another pod would have to move after that which need not now. Which of equal nodes
// kube-scheduler takes the first cycle cannot know, so one outcome in which it is so is enough.
func (g game) wasOfNoUse(e descheduler.Eviction, second *descheduler.Report) bool {
	for chance := range uint64(chancesMax) {
		l := g.begin(chance)
		_, wrong := l.play(e)
		third, _ := l.play()
		if len(wrong) > 0 || slices.ContainsFunc(third.Evictions, func(again descheduler.Eviction) bool {
			return again.UID == e.UID || !evicts(second, again)
		}) {
			return true
		}
	}
	return false
}

// takesPlace says whether a pod would have come to a place that was meant for another one, which runs elsewhere then, had the first cycle
// evicted it too. A pod of a StatefulSet is replaced when it has ended, and what is replaced at once comes before that. One outcome is enough
// here, too.
func (g game) takesPlace(e descheduler.Eviction) bool {
	for chance := range uint64(chancesMax) {
		l := g.begin(chance)
		first, _ := l.play(e)
		node := l.nodeOf(e)
		if slices.ContainsFunc(first.Evictions, func(other descheduler.Eviction) bool {
			return other.UID != e.UID && other.To == node && l.nodeOf(other) != node
		}) {
			return true
		}
	}
	return false
}

// foreignObjects are those of a calm scenario, of which another scheduler places all pods.
func foreignObjects(seed uint64) framework.Objects {
	o := scenario{seed: seed, calm: true}.objects(rand.New(rand.NewPCG(seed, 3)), false)
	for _, p := range o.Pods {
		p.Spec.SchedulerName = v1.DefaultSchedulerName
	}
	return o
}

// A loop is a cluster in which the pods that are evicted come again.
type loop struct {
	*world
	by      *kubeScheduler
	left    map[string][]string // nodes from which plugins have moved a pod and those that it replaces, by slot
	waiting []*v1.Pod
}

// ending is the pod when it ends.
func ending(p *v1.Pod, now time.Time) *v1.Pod {
	ends := p.DeepCopy()
	ends.DeletionTimestamp = &metav1.Time{Time: now}
	return ends
}

// play runs a cycle, has the pods that it evicts come again, and some others, and says what is wrong with that.
func (l *loop) play(others ...descheduler.Eviction) (report *descheduler.Report, wrong []string) {
	report, _ = l.cycle(l.d)
	report.Evictions = append(report.Evictions, others...)
	before := byUID(l.objects.Pods)
	l.settle(report)
	for _, p := range l.waiting {
		wrong = append(wrong, p.Name+" waits")
	}
	on := map[string]string{}
	for _, p := range l.objects.Pods {
		on[p.Annotations[slot]] = p.Spec.NodeName
	}
	for _, e := range report.Evictions {
		p := before[e.UID]
		if !returns(p) || !slices.Contains(moving, e.Plugin) {
			continue
		}
		key := p.Annotations[slot]
		if l.left[key] = append(l.left[key], e.From); slices.Contains(l.left[key], on[key]) {
			wrong = append(wrong, fmt.Sprintf("%s left %v, and runs on %s again", e.Pod, l.left[key], on[key]))
		}
	}
	return report, wrong
}

// nodeOf is the node of the replacement of a pod; empty: it waits, or there is none.
func (l *loop) nodeOf(e descheduler.Eviction) string {
	if p := byUID(l.objects.Pods)[e.UID+"+"]; p != nil {
		return p.Spec.NodeName
	}
	return ""
}

// settle has the evicted pods end one after the other. Their owners make others at once, but for those of a StatefulSet, and
// kube-scheduler places them; what waits is tried again when a pod has ended.
func (l *loop) settle(report *descheduler.Report) {
	l.clock.Step(time.Second)
	all := byUID(l.objects.Pods)
	for i, p := range l.objects.Pods {
		if slices.ContainsFunc(report.Evictions, func(e descheduler.Eviction) bool { return e.UID == p.UID }) {
			l.objects.Pods[i] = ending(p, l.clock.Now())
		}
	}
	for _, e := range report.Evictions {
		if p := all[e.UID]; returns(p) && p.OwnerReferences[0].Kind != "StatefulSet" {
			l.place(l.anew(p, ""))
		}
	}
	l.clock.Step(time.Minute)
	for _, e := range report.Evictions {
		l.objects.Pods = slices.DeleteFunc(l.objects.Pods, func(p *v1.Pod) bool { return p.UID == e.UID })
		if p := all[e.UID]; returns(p) && p.OwnerReferences[0].Kind == "StatefulSet" {
			l.place(l.anew(p, ""))
		}
		again := l.waiting
		l.waiting = nil
		for _, p := range again {
			l.place(p)
		}
	}
}

// place has kube-scheduler place a pod, or it waits.
func (l *loop) place(p *v1.Pod) {
	if p.Spec.NodeName = l.by.place(l.objects, p); p.Spec.NodeName == "" {
		l.waiting = append(l.waiting, p)
		return
	}
	l.objects.Pods = append(l.objects.Pods, p)
}
