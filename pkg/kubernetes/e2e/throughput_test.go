package e2e

import (
	"flag"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

var (
	throughputNodes = flag.Int("throughput-nodes", 0, "nodes of TestThroughput and TestRestart, of 32 CPUs and 256Gi")
	throughputPods  = flag.Int("throughput-pods", 0, "pods of TestThroughput and TestRestart; without it both are skipped")
	throughputOf    = flag.String("throughput-of", "deployment", "what the pods of TestThroughput are: bare, deployment, zones, apart, preferred or preemption")
)

// throughputZones is in how many zones the nodes of TestThroughput are.
const throughputZones = 3

// throughputMax is how long the pods of a measurement may take.
const throughputMax = 20 * time.Minute

// Each arrivalPause some pods come to a cluster in which nothing else waits: 500 in ten seconds.
const (
	arrivals     = 500
	arrivalStep  = 25
	arrivalPause = 500 * time.Millisecond
)

// TestThroughput measures for each scheduler how fast it places a backlog, as seen by a watch: the scheduler
// hangs while the pods are created, and then goes on. Then how long pods wait that come one after the other, where
// all of them are, and what it costs the scheduler when they are deleted.
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
	load, ok := loads[*throughputOf]
	assert.Assert(t, ok, "-throughput-of=%s: there is no such load", *throughputOf)
	w.AddNodesInZones(throughputZones, *throughputNodes, "32", "256Gi")
	load.prepare(w)
	watch := watchPods(w, "load")

	w.PauseScheduler()
	begun := time.Now()
	load.create(w, 0, *throughputPods)
	watch.await(t, "created", func(s *podWatch) int { return len(s.came) }, *throughputPods)
	t.Logf("created: %d pods in %v", *throughputPods, time.Since(begun).Round(10*time.Millisecond))
	before := processor(w)
	begun = time.Now()
	w.ContinueScheduler()
	watch.await(t, "bound", func(s *podWatch) int { return len(s.bound) }, *throughputPods)
	took := time.Since(begun)
	t.Logf("bound: %d pods on %d nodes in %v, %d pods/s", *throughputPods, *throughputNodes, took.Round(10*time.Millisecond), int(float64(*throughputPods)/took.Seconds()))
	logProcessor(t, "placing", processor(w)-before, *throughputPods)

	all := *throughputPods + arrivals
	for count := *throughputPods; count < all; count += arrivalStep {
		load.create(w, count, count+arrivalStep)
		time.Sleep(arrivalPause) // this is the rate that is measured
	}
	watch.await(t, "bound", func(s *podWatch) int { return len(s.bound) }, all)
	half, most := watch.waits(arrivals)
	t.Logf("arrivals: of %d pods that came at %d/s half were bound within %v, 99 of 100 within %v",
		arrivals, int(arrivalStep/arrivalPause.Seconds()), half.Round(time.Millisecond), most.Round(time.Millisecond))
	load.look(t, w)
	w.CheckLaws()

	before = processor(w)
	rests(t, w)
	logProcessor(t, "what follows a placement, such as events", processor(w)-before, all)
	before = processor(w)
	load.remove(w)
	watch.await(t, "gone", func(s *podWatch) int { return s.gone }, all)
	w.checkBooks()
	logProcessor(t, "deleting", processor(w)-before, all)
}

// rests waits until a scheduler has nothing to do any more: narwhal-scheduler writes its events one after the other.
func rests(t *testing.T, w *World) {
	t.Helper()
	const looks, least = 5 * time.Second, 50 * time.Millisecond // such a part of it goes into watches and metrics
	for begun, before := time.Now(), processor(w); time.Since(begun) < throughputMax; {
		time.Sleep(looks) // nothing tells of it
		used := processor(w)
		if used-before < least {
			return
		}
		before = used
	}
	t.Fatalf("%s does not rest", w.scheduler.Name())
}

// logProcessor says what something cost the scheduler.
func logProcessor(t *testing.T, what string, used time.Duration, pods int) {
	t.Helper()
	t.Logf("processor time for %s: %v, which is %v a pod", what, used.Round(10*time.Millisecond), (used / time.Duration(pods)).Round(10*time.Microsecond))
}

// processor is the processor time that the scheduler has used.
func processor(w *World) time.Duration {
	w.t.Helper()
	p, ok := w.instance.(interface {
		Processor() (time.Duration, error)
	})
	if !ok {
		w.t.Fatalf("the processor time of %T is not known", w.instance)
	}
	used, err := p.Processor()
	w.check(err)
	return used
}
