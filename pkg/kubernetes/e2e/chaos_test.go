package e2e

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	resources "k8s.io/component-helpers/resource"
)

var (
	chaosFor  = flag.Duration("chaos", time.Minute, "how long the scenario chaos goes on")
	chaosSeed = flag.Uint64("chaos-seed", 0, "what the scenario chaos does, in which order; without it the time decides")
)

const (
	crashEvery = 20 * time.Second
	churnEvery = 200 * time.Millisecond
	nodesMin   = 4
	nodesMax   = 10
)

// The scheduler crashes every twenty seconds while deployments, jobs and gangs come, grow and go and nodes are lost and added. After
// each crash the cluster is left alone for a while: then the books are the pods of the API server, no node has more than it
// can, and no pod waits that would fit on a node which is not kept for another one.
func chaos(w *World) {
	seed := cmp.Or(*chaosSeed, uint64(time.Now().UnixNano()))
	w.Step("the seed is %d", seed)
	c := &churn{w: w, chance: rand.New(rand.NewPCG(seed, 0))}
	w.CreatePriorityClass("important", 1000)
	w.AddNodesInZones(3, 6, "8", "32Gi")
	for end := time.Now().Add(*chaosFor); time.Now().Before(end); {
		c.goOn(crashEvery / 2)
		w.RestartScheduler()
		c.goOn(crashEvery / 2)
		w.Step("%d changes so far; %d pods, of which %d have no node", c.changes, len(w.Pods("")), len(waiting(w.Pods(""))))
		c.rest()
	}
}

// A churn changes a cluster by chance.
type churn struct {
	w       *World
	chance  *rand.Rand
	changes int
	apps    []string // deployments that there are
	made    int      // workloads so far, for their names
}

// goOn changes something again and again.
func (c *churn) goOn(during time.Duration) {
	ticker := time.NewTicker(churnEvery)
	defer ticker.Stop()
	for end := time.Now().Add(during); time.Now().Before(end); <-ticker.C {
		c.changes++
		switch c.chance.IntN(10) {
		case 0, 1:
			c.apps = append(c.apps, c.next("app"))
			c.w.CreateDeployment(c.apps[len(c.apps)-1], 1+c.chance.Int32N(8), c.pod())
		case 3:
			c.w.CreateJob(c.next("job"), 1+c.chance.Int32N(6), 3, c.pod())
		case 4:
			gang, members := c.next("gang"), 2+c.chance.IntN(3)
			c.w.CreateJob(gang, int32(members), int32(members), inGang(gang, members, ""))
		case 5, 6:
			c.scale()
		case 2, 7:
			c.end()
		case 8:
			c.deletePod()
		case 9:
			c.node()
		}
	}
}

func (c *churn) next(kind string) string {
	c.made++
	return fmt.Sprintf("%s-%d", kind, c.made)
}

func (c *churn) pod() Pod {
	p := Pod{CPU: fmt.Sprintf("%dm", 100+c.chance.IntN(1500)), Memory: fmt.Sprintf("%dMi", 100+c.chance.IntN(2000))}
	if c.chance.IntN(4) == 0 {
		p.PriorityClass = "important"
	}
	return p
}

// scale changes how many pods a deployment has.
func (c *churn) scale() {
	if len(c.apps) == 0 {
		return
	}
	app := c.apps[c.chance.IntN(len(c.apps))]
	patch := fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, c.chance.IntN(10))
	_, err := c.w.client.AppsV1().Deployments(namespace).Patch(c.w.ctx, app, types.MergePatchType, patch, metav1.PatchOptions{})
	c.w.check(err)
}

// end deletes a deployment, the more often the more there are.
func (c *churn) end() {
	if i := c.chance.IntN(12); i < len(c.apps) {
		c.w.DeleteDeployment(c.apps[i])
		c.apps = slices.Delete(c.apps, i, i+1)
	}
}

func (c *churn) deletePod() {
	pods := c.w.Pods("")
	if len(pods) == 0 {
		return
	}
	p := pods[c.chance.IntN(len(pods))]
	if err := c.w.client.CoreV1().Pods(p.Namespace).Delete(c.w.ctx, p.Name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		c.w.check(err)
	}
}

// node adds a node or loses one.
func (c *churn) node() {
	nodes := c.nodes()
	if len(nodes) <= nodesMin || len(nodes) < nodesMax && c.chance.IntN(2) == 0 {
		c.w.AddNodes(1, "8", "32Gi")
		return
	}
	c.w.LoseNode(nodes[c.chance.IntN(len(nodes))].Name)
}

func (c *churn) nodes() []*corev1.Node {
	nodes, err := c.w.observer.view.nodes.List(labels.Everything())
	c.w.check(err)
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	return nodes
}

// rest waits until all controllers have done their part, nothing is ending, the books are right, and no pod waits that fits.
func (c *churn) rest() {
	w := c.w
	w.t.Helper()
	begun := time.Now()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	ticker := time.NewTicker(booksEvery)
	defer ticker.Stop()
	for {
		w.deleteOrphans() // such as were bound to a node in the moment when it was lost
		found := c.unrest(ctx)
		if len(found) == 0 {
			w.Step("it is at rest after %v", time.Since(begun).Round(time.Millisecond))
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			for _, one := range pendingThatFit(c.unkept(w.ctx), w.Pods("")) {
				w.t.Logf("the scheduler says of it: %s\nand of the node: %s", c.says(one.pod), w.served().Page("/ws/v1/partition/default/node/"+one.node))
				break
			}
			w.t.Fatalf("it does not come to rest in %v:\n%s", patience, strings.Join(found, "\n"))
		}
	}
}

func (c *churn) unrest(ctx context.Context) []string {
	var found []string
	deployments, err := c.w.observer.view.deployments.List(labels.Everything())
	c.w.check(err)
	for _, d := range deployments {
		if d.Status.ObservedGeneration != d.Generation || d.Status.Replicas != *d.Spec.Replicas {
			found = append(found, fmt.Sprintf("deployment %s has %d pods of %d", d.Name, d.Status.Replicas, *d.Spec.Replicas))
		}
	}
	pods := c.w.Pods("")
	for _, p := range pods {
		if p.DeletionTimestamp != nil {
			found = append(found, p.Name+" "+describe(p))
		}
	}
	for _, one := range pendingThatFit(c.unkept(ctx), pods) {
		found = append(found, one.String())
	}
	differences, err := c.w.bookDifferences(ctx)
	if err != nil {
		return append(found, err.Error())
	}
	return append(found, differences...)
}

// unkept are the nodes that are not kept for a pod which waits for more room than there is. Of ten nodes one may be.
func (c *churn) unkept(ctx context.Context) []*corev1.Node {
	booked, err := c.w.Books(ctx)
	if err != nil {
		return nil // it starts, which is told of the books
	}
	return slices.DeleteFunc(c.nodes(), func(n *corev1.Node) bool {
		return slices.ContainsFunc(booked, func(b BookedNode) bool { return b.NodeID == n.Name && b.IsReserved })
	})
}

// waiting are the pods that have no node.
func waiting(pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return p.Spec.NodeName != "" || p.Status.Phase == corev1.PodFailed })
}

// says is why a pod waits.
func (c *churn) says(p *corev1.Pod) string {
	application := cmp.Or(p.Labels["applicationId"], "narwhal-"+p.Namespace+"-autogen")
	return c.w.served().Page("/ws/v1/partition/default/application/" + application + "/allocation/" + string(p.UID) + "/explain")
}

// An overdue pod has no node, and would fit on one.
type overdue struct {
	pod  *corev1.Pod
	node string
}

func (s overdue) String() string {
	requests := resources.PodRequests(s.pod, resources.PodResourcesOptions{})
	return fmt.Sprintf("%s requests cpu %v and memory %v, and fits on %s: %s", s.pod.Name, requests.Cpu(), requests.Memory(), s.node, describe(s.pod))
}

// pendingThatFit lists the pods without a node for which a node has room, of those that select no node. The members of a gang
// have to wait as long as one of its placeholders does.
func pendingThatFit(nodes []*corev1.Node, pods []*corev1.Pod) []overdue {
	gathers := map[string]bool{}
	for _, p := range waiting(pods) {
		if isHolder(p) {
			gathers[p.Labels["applicationId"]] = true
		}
	}
	var found []overdue
	for _, p := range waiting(pods) {
		if p.DeletionTimestamp != nil || !isHolder(p) && gathers[p.Labels["applicationId"]] {
			continue
		}
		for _, node := range nodes {
			with := p.DeepCopy()
			with.Spec.NodeName = node.Name
			if len(node.Spec.Taints) == 0 && len(overcommitted([]corev1.Node{*node}, append([]*corev1.Pod{with}, pods...))) == 0 {
				found = append(found, overdue{p, node.Name})
				break
			}
		}
	}
	return found
}

func isHolder(p *corev1.Pod) bool { return p.Annotations["yunikorn.apache.org/placeholder"] == "true" }

// TestPendingThatFit: a pod of two CPUs fits beside one of two on a node of four, and not beside one of three; a member of
// a gang may wait while a placeholder waits.
func TestPendingThatFit(t *testing.T) {
	node := func(name string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: amounts("4", "4Gi")}}
	}
	of := func(name, on, cpu string) *corev1.Pod {
		p := pod(name, 1, Pod{CPU: cpu, Memory: "1Gi", Labels: map[string]string{"applicationId": "a"}}.template(name, narwhalName))
		p.Spec.NodeName = on
		return p
	}
	holder := of("holder", "", "3")
	holder.Annotations = map[string]string{"yunikorn.apache.org/placeholder": "true"}
	tests := []struct {
		pods []*corev1.Pod
		fit  []string
	}{
		{[]*corev1.Pod{of("runs", "n", "2"), of("waits", "", "2")}, []string{"waits-1"}},
		{[]*corev1.Pod{of("runs", "n", "3"), of("waits", "", "2")}, nil},
		{[]*corev1.Pod{of("runs", "n", "2"), of("waits", "", "2"), holder}, nil},
		{[]*corev1.Pod{of("runs", "n", "1"), of("waits", "", "2"), holder}, []string{"holder-1"}},
	}
	for _, test := range tests {
		var fit []string
		for _, one := range pendingThatFit([]*corev1.Node{node("n")}, test.pods) {
			fit = append(fit, one.pod.Name)
		}
		assert.DeepEqual(t, fit, test.fit)
	}
}
