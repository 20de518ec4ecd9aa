package shimtest_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metricsfake "k8s.io/metrics/pkg/client/clientset/versioned/fake"
	"k8s.io/utils/clock"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/usage"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/preferences"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

const loadAware = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {score: {enabled: [{name: LoadAware, weight: 3}]}}
`

// loadScores are scores of which measured use is one.
func loadScores(factory informers.SharedInformerFactory) (*preferences.Scorer, error) {
	of, _, err := profile.Read([]byte(loadAware), nil)
	if err != nil {
		return nil, err
	}
	return preferences.New(factory, preferences.Options{Profile: of})
}

// A measuredCluster has nodes with 16 CPUs, and a metrics API that measures them every 15 seconds. Pods request nothing and use half a
// CPU once they are bound.
type measuredCluster struct {
	*shimtest.MockScheduler
	t       *testing.T
	base    []int64                 // thousandths of CPUs that something else uses
	stopped []int                   // nodes that are not measured any more
	late    int                     // how many measurements ago that was of which the metrics API knows
	queue   [][]v1beta1.NodeMetrics // measured, the oldest first
	request string                  // of each pod
	pods    int
	mu      sync.Mutex // guards the list, which is asked for at any time
	list    []v1beta1.NodeMetrics
}

func measuredNodes(t *testing.T, base ...int64) *measuredCluster {
	c := &measuredCluster{t: t, base: base}
	client := metricsfake.NewSimpleClientset()
	client.PrependReactor("list", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return true, &v1beta1.NodeMetricsList{Items: slices.Clone(c.list)}, nil
	})
	sources, err := usage.New(usage.Options{
		Providers: []usage.Provider{{Source: framework.KubernetesMetrics}}, Metrics: client, Clock: clock.RealClock{},
	})
	assert.NilError(t, err)
	var scorer *preferences.Scorer
	c.MockScheduler = shimtest.New(t, shimtest.Options{Feasibility: filters, Preferences: func(factory informers.SharedInformerFactory) (shim.Preferences, error) {
		scorer, err = loadScores(factory)
		return scorer, err
	}})
	for i := range base {
		c.Create(shimtest.NewNode(fmt.Sprint("node-", i), "cpu=16 memory=64Gi pods=110"))
	}
	c.list = make([]v1beta1.NodeMetrics, len(base))
	c.measure()
	c.Start()
	go sources.Follow(t.Context(), framework.UsageQuery{Source: framework.KubernetesMetrics}, scorer.Measure)
	synctest.Wait()
	return c
}

// used is what nodes use now.
func (c *measuredCluster) used() []int64 {
	used := slices.Clone(c.base)
	for i, count := range c.counts(0) {
		used[i] += 500 * int64(count)
	}
	return used
}

// counts is how many pods are on each node, from one of them on.
func (c *measuredCluster) counts(from int) []int {
	counts := make([]int, len(c.base))
	for i := from; i < c.pods; i++ {
		var node int
		if _, err := fmt.Sscanf(c.Pod(fmt.Sprint("pod-", i)).Spec.NodeName, "node-%d", &node); err == nil {
			counts[node]++
		}
	}
	return counts
}

func (c *measuredCluster) measure() {
	measured := make([]v1beta1.NodeMetrics, len(c.base))
	for i, used := range c.used() {
		measured[i] = v1beta1.NodeMetrics{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i)}, Timestamp: metav1.Now(),
			Usage: v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(used, resource.DecimalSI), v1.ResourceMemory: resource.MustParse("4Gi")},
		}
	}
	c.queue = append(c.queue, measured)
	for ; len(c.queue) > c.late+1; c.queue = c.queue[1:] {
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.list {
		if !slices.Contains(c.stopped, i) {
			c.list[i] = c.queue[0][i]
		}
	}
}

// pass has time pass, with measurements.
func (c *measuredCluster) pass(d time.Duration) {
	for range d / (15 * time.Second) {
		c.Advance(15 * time.Second)
		c.measure()
	}
}

// come makes pods at once, and says how many came to each node.
func (c *measuredCluster) come(count int) []int {
	from := c.pods
	for range count {
		c.Create(shimtest.NewPod(fmt.Sprint("pod-", c.pods), c.request))
		c.pods++
	}
	c.Advance(2 * time.Second)
	return c.counts(from)
}

// Sixty pods that request nothing and come at once go to the nodes which are measured to be cool, and not all to the coolest: each
// counts before it is measured. Requests are even, and would have them on all nodes.
func TestPodsGoToCoolNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := measuredNodes(t, 12000, 12000, 1600, 1600, 1600, 0)
		counts := c.come(60)
		assert.DeepEqual(t, counts[:2], []int{0, 0})
		for _, count := range counts[2:] {
			assert.Assert(t, 8 <= count && count <= 32, "%v", counts)
		}
	})
}

// A hot node that is not measured any more is avoided for three minutes, and not for ever.
func TestAHotNodeWithoutMeasurementIsUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := measuredNodes(t, 12000, 1600, 1600)
		assert.Equal(t, c.come(6)[0], 0)
		c.stopped = []int{0}
		c.pass(2 * time.Minute)
		assert.Equal(t, c.come(6)[0], 0)
		c.pass(2 * time.Minute)
		counts := c.come(12)
		assert.Assert(t, counts[0] > 0, "%v", counts)

		// It is avoided again as soon as it is measured.
		c.stopped = nil
		c.pass(30 * time.Second)
		assert.Equal(t, c.come(6)[0], 0)
	})
}

// Pods that come in the course of ten minutes fill the nodes to the same use, although what is measured comes late.
func TestUseIsEvenInTheCourseOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := measuredNodes(t, 6000, 3000, 0, 0)
		for range 20 {
			c.come(3)
			c.pass(30 * time.Second)
		}
		used := c.used()
		assert.Assert(t, slices.Max(used)-slices.Min(used) <= 1500, "%v", used)
	})
}

// So they do in bursts where the metrics API knows each measurement up to 45 seconds late, and no burst goes to one node. Pods that use what
// they request keep the nodes as even as without delay. Those that request nothing count with 100m of the 500m that they use, and each
// delay of 15 seconds lets the nodes differ by one of them more.
func TestUseIsEvenAlthoughItIsMeasuredLate(t *testing.T) {
	for request, perDelay := range map[string]int64{"cpu=500m": 0, "": 500} {
		for late := range 4 {
			t.Run(fmt.Sprintf("%d late, %q", late, request), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := measuredNodes(t, 4000, 2000, 0, 0, 0, 0)
					c.late, c.request = late, request
					for i := range 16 {
						counts := c.come([]int{2, 12, 4, 6}[i%4])
						assert.Assert(t, slices.Max(counts) <= 7, "%v", counts)
						c.pass(30 * time.Second)
						if used := c.used(); i >= 8 {
							assert.Assert(t, slices.Max(used)-slices.Min(used) <= 2000+perDelay*int64(late), "%v", used)
						}
					}
				})
			})
		}
	}
}

// A node that is never measured counts by requests beside nodes that are measured late: where these say what pods use, it has its part.
func TestANodeThatIsNeverMeasuredHasItsPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := measuredNodes(t, 0, 0, 0, 0)
		c.late, c.request, c.stopped = 3, "cpu=500m", []int{3}
		c.list[3].Name = "other"
		for range 12 {
			c.come(6)
			c.pass(30 * time.Second)
		}
		used := c.used()
		assert.Assert(t, slices.Max(used)-slices.Min(used) <= 1500, "%v", used)
	})
}
