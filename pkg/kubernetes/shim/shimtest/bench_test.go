package shimtest_test

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/preferences"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
)

// Pods that wait when the scheduler starts, with the API server in memory: from the start
// until the last one is bound.
func BenchmarkBacklog(b *testing.B) {
	lateWatches(b)
	plugin, _ := compiledIn(b, threeLicences, thePlugin)
	for _, c := range []struct {
		name     string
		nodes    int
		options  shimtest.Options
		services bool // pods belong to services, and are spread over zones and nodes
	}{
		{"filters=none", 1000, shimtest.Options{}, false},
		{"filters=real", 1000, shimtest.Options{Feasibility: filters}, false},
		{"services/nodes=1000", 1000, shimtest.Options{Feasibility: filters, Preferences: scores}, true},
		{"services/load", 1000, shimtest.Options{Feasibility: filters, Preferences: measured}, true},
		{"services/plugin", 1000, plugin, true},
		{"services/nodes=5000", 5000, shimtest.Options{Feasibility: filters, Preferences: scores}, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			var took, worked time.Duration
			for range b.N {
				t, w := waitingAtStart(b, c.options, c.nodes, c.services)
				took, worked = took+t, worked+w
			}
			b.ReportMetric(float64(waiting*b.N)/took.Seconds(), "pods/s")
			b.ReportMetric(float64(worked.Microseconds())/float64(waiting*b.N), "user-µs/pod")
		})
	}
}

// BenchmarkRecorded is BenchmarkBacklog with real filters, plain and recorded in turn.
func BenchmarkRecorded(b *testing.B) {
	lateWatches(b)
	waitingAtStart(b, shimtest.Options{Feasibility: filters}, 1000, false) // the first takes longer
	var plain, recorded time.Duration
	for i := range 2 * b.N {
		options := shimtest.Options{Feasibility: filters}
		if i%4 == 1 || i%4 == 2 { // each is the first of two as often
			r, err := recording.New(recording.Config{Directory: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			options.Scheduler.Recorder = r
			_, w := waitingAtStart(b, options, 1000, false)
			recorded += w
			r.Close()
			continue
		}
		_, w := waitingAtStart(b, options, 1000, false)
		plain += w
	}
	b.ReportMetric(float64(plain.Microseconds())/float64(waiting*b.N), "plain-user-µs/pod")
	b.ReportMetric(float64(recorded.Microseconds())/float64(waiting*b.N), "recorded-user-µs/pod")
	b.ReportMetric(0, "ns/op")
}

// waiting is how many pods wait when the scheduler of a benchmark starts, ofService how many of them belong to a service.
const waiting, ofService = 5000, 50

// waitingAtStart has a scheduler start, and returns the time and the processor time until the last pod is bound.
func waitingAtStart(b *testing.B, options shimtest.Options, nodes int, services bool) (took, worked time.Duration) {
	m := shimtest.New(b, options)
	for i := range nodes {
		node := shimtest.NewNode(fmt.Sprint("node-", i), "cpu=32 memory=256Gi")
		node.Labels[v1.LabelTopologyZone] = fmt.Sprint("zone-", i%3)
		m.Put(node)
	}
	for i := range waiting {
		app := fmt.Sprint("app-", i/ofService)
		if services && i%ofService == 0 {
			m.Put(service(app))
		}
		m.Put(shimtest.NewPod(fmt.Sprint("pod-", i), "cpu=100m memory=128Mi", shimtest.Labelled("app", app)))
	}
	left, over := waiting, make(chan struct{})
	m.API.Fail(shimtest.Faults{Bind: func(*v1.Pod, string) (bool, error) {
		if left--; left == 0 {
			close(over)
		}
		return true, nil
	}})
	runtime.GC() // what was made so far is not collected at its cost
	began, before := time.Now(), userTime(b)
	m.Begin()
	<-over
	took, worked = time.Since(began), userTime(b)-before
	m.Stop()
	return took, worked
}

// measured are scores of which measured use is one. All nodes are measured once, when the last of them comes.
func measured(factory informers.SharedInformerFactory) (shim.Preferences, error) {
	scorer, err := loadScores(factory)
	return &measuredOnce{Scorer: scorer}, err
}

// A measuredOnce measures a thousand nodes.
type measuredOnce struct {
	*preferences.Scorer
	use []framework.Measurement
}

func (m *measuredOnce) SetNode(node *v1.Node) {
	m.Scorer.SetNode(node)
	now := time.Now()
	m.use = append(m.use, framework.Measurement{Node: node.Name, At: now, Use: v1.ResourceList{
		v1.ResourceCPU: *resource.NewMilliQuantity(int64(len(node.Name))*100, resource.DecimalSI), v1.ResourceMemory: resource.MustParse("1Gi"),
	}})
	if len(m.use) == 1000 {
		m.Measure(now, m.use)
	}
}

// userTime is the processor time of this process so far, the API server in memory included. Other
// work on the machine changes it little.
func userTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano())
}

// A restart with pods that run: until one that waits is bound.
func BenchmarkRestart(b *testing.B) {
	lateWatches(b)
	const nodes, pods = 1000, 5000
	for b.Loop() {
		b.StopTimer()
		m := shimtest.New(b, shimtest.Options{Feasibility: filters})
		for i := range nodes {
			m.Put(shimtest.NewNode(fmt.Sprint("node-", i), "cpu=32 memory=256Gi"))
		}
		for i := range pods {
			m.Put(shimtest.NewPod(fmt.Sprint("pod-", i), "cpu=100m memory=128Mi", shimtest.On(fmt.Sprint("node-", i%nodes))))
		}
		m.Put(shimtest.NewPod("waits", "cpu=1"))
		over := make(chan struct{})
		m.API.Fail(shimtest.Faults{Bind: func(*v1.Pod, string) (bool, error) {
			close(over)
			return true, nil
		}})
		b.StartTimer()
		m.Begin()
		<-over
		b.StopTimer()
		m.Stop()
		b.StartTimer()
	}
}

// lateWatches lets watches be as far behind as a benchmark makes changes at once.
func lateWatches(b *testing.B) {
	b.Helper()
	size := watch.DefaultChanSize
	watch.DefaultChanSize = 1 << 17
	b.Cleanup(func() { watch.DefaultChanSize = size })
}
