package e2e

import (
	"flag"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

var (
	throughputNodes = flag.Int("throughput-nodes", 0, "nodes of TestThroughput and TestRestart, of 32 CPUs and 256Gi")
	throughputPods  = flag.Int("throughput-pods", 0, "pods of TestThroughput and TestRestart, of 100m and 128Mi; without it both are skipped")
	throughputBare  = flag.Bool("throughput-bare", false, "pods of TestThroughput that belong to no deployment")
)

// throughputZones is in how many zones the nodes of TestThroughput are.
const throughputZones = 3

// throughputMax is how long the pods of a measurement may take.
const throughputMax = 20 * time.Minute

// TestThroughput measures how fast each scheduler places a backlog, as seen by a watch: the
// scheduler hangs while the pods are created, and then goes on. kube-scheduler spreads the
// pods of a deployment over the nodes, for which it looks at all of them for each pod; with
// pods that belong to nothing it has less to do. It says how even the pods are over nodes and zones.
func TestThroughput(t *testing.T) { ofEachScheduler(t, measureThroughput) }

// ofEachScheduler makes a measurement of each scheduler, in a world of its own.
func ofEachScheduler(t *testing.T, measure func(*testing.T, *World)) {
	t.Helper()
	if *throughputPods == 0 {
		t.Skip("a measurement, made only with -throughput-pods")
	}
	needControlPlane(t)
	for _, scheduler := range schedulers {
		t.Run(scheduler.Name(), func(t *testing.T) {
			if missing := scheduler.Missing(); missing != "" {
				t.Skip(missing)
			}
			measure(t, NewWorld(t, scheduler, Options{}))
		})
	}
}

func measureThroughput(t *testing.T, w *World) {
	t.Helper()
	w.AddNodesInZones(throughputZones, *throughputNodes, "32", "256Gi")
	created, bound := newCounter(*throughputPods), newCounter(*throughputPods)
	_, err := w.observer.factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { created.add() },
		UpdateFunc: func(before, now any) {
			if before.(*corev1.Pod).Spec.NodeName == "" && now.(*corev1.Pod).Spec.NodeName != "" {
				bound.add()
			}
		},
	})
	w.check(err)

	w.PauseScheduler()
	start := time.Now()
	load := Pod{CPU: "100m", Memory: "128Mi"}
	if *throughputBare {
		createAtOnce(w, *throughputPods, load)
	} else {
		w.CreateDeployment("load", int32(*throughputPods), load)
	}
	created.wait(t, "created")
	t.Logf("created: %d pods in %v", *throughputPods, time.Since(start).Round(10*time.Millisecond))
	start = time.Now()
	w.ContinueScheduler()
	bound.wait(t, "bound")
	took := time.Since(start)
	t.Logf("bound: %d pods on %d nodes in %v, %d pods/s", *throughputPods, *throughputNodes, took.Round(10*time.Millisecond), int(float64(*throughputPods)/took.Seconds()))
	perNode := counts(w.nodesOf("load"))
	t.Logf("spread: %d to %d pods on each of %d nodes, and by zone %v, a skew of %d",
		perNode[len(perNode)-1], perNode[0], len(perNode), w.zonesOf("load"), skew(w.zonesOf("load"), throughputZones))
	w.CheckLaws()
	w.instance.Kill()
	if p, ok := w.instance.(interface {
		Processor() (user, system time.Duration)
	}); ok {
		user, system := p.Processor()
		t.Logf("processor time of the scheduler, its start included: %v, of it user %v, which is %v a pod",
			(user + system).Round(10*time.Millisecond), user.Round(10*time.Millisecond), (user / time.Duration(*throughputPods)).Round(time.Microsecond))
	}
}

// creators is how many clients create pods at once.
const creators = 32

// createAtOnce creates bare pods by several clients.
func createAtOnce(w *World, count int, p Pod) {
	w.t.Helper()
	template := p.template("load", w.scheduler.Name())
	errs := make(chan error, creators)
	for first := range creators {
		go func() {
			for i := first; i < count; i += creators {
				if _, err := w.client.CoreV1().Pods(namespace).Create(w.ctx, pod("load", i, template), metav1.CreateOptions{}); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range creators {
		w.check(<-errs)
	}
}

// A counter is done when so many things were added.
type counter struct {
	mu   sync.Mutex
	left int
	done chan struct{}
}

func newCounter(count int) *counter { return &counter{left: count, done: make(chan struct{})} }

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left--
	if c.left == 0 {
		close(c.done)
	}
}

func (c *counter) wait(t testing.TB, what string) {
	t.Helper()
	select {
	case <-c.done:
	case <-time.After(throughputMax):
		c.mu.Lock()
		defer c.mu.Unlock()
		t.Fatalf("%d pods are not %s after %v", c.left, what, throughputMax)
	}
}
