package preferences

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	deschedulerframework "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
)

// What nodes are measured to use, as a text. After each step come the points of the nodes.
func TestLoad(t *testing.T) {
	text, err := os.ReadFile("testdata/load.txt")
	assert.NilError(t, err)
	w := newLoadWorld(t)
	var out strings.Builder
	for i, step := range strings.Split(string(text), "\n----\n") {
		if i > 0 {
			_, step, _ = strings.Cut("\n"+step+"\n", "\n\n") // without what came out before
		}
		if step = strings.TrimSpace(step); step != "" {
			fmt.Fprintf(&out, "%s\n----\n%s\n", step, w.play(step))
		}
	}
	golden.Assert(t, out.String(), "load.txt")
}

// A loadWorld is a Scorer for which measured use counts three times, and the order of nodes not at all.
type loadWorld struct {
	t      *testing.T
	scorer *Scorer
	now    time.Time
	nodes  []string
	pods   map[string]*v1.Pod
	said   []string
}

func newLoadWorld(t *testing.T) *loadWorld {
	of, err := profile.Default()
	assert.NilError(t, err)
	of.Plugins.Score = config.PluginSet{Enabled: []config.Plugin{{Name: profile.LoadAware, Weight: 3}}, Disabled: []config.Plugin{{Name: "*"}}}
	s, err := New(informers.NewSharedInformerFactory(fake.NewClientset(), 0), Options{Profile: of})
	assert.NilError(t, err)
	return &loadWorld{t: t, scorer: s, now: time.Unix(0, 0), pods: map[string]*v1.Pod{}}
}

// play plays a step: lines that are indented belong to the one above.
func (w *loadWorld) play(step string) string {
	w.said = nil
	var lines []string
	for _, line := range strings.Split(step, "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "  "):
			lines[len(lines)-1] += "\n" + strings.TrimSpace(line)
		default:
			lines = append(lines, line)
		}
	}
	for _, line := range lines {
		w.do(strings.Split(line, "\n"))
	}
	for name, points := range w.points() {
		w.said = append(w.said, fmt.Sprintf("%s %d", w.nodes[name], points))
	}
	return strings.Join(w.said, "\n") + "\n"
}

func (w *loadWorld) do(lines []string) {
	words := strings.Fields(lines[0])
	verb, args := words[0], w.args(words[1:])
	switch verb {
	case "now":
		w.now = w.moment(words[1])
	case "nodes":
		for _, name := range lines[1:] {
			w.nodes = append(w.nodes, name)
			w.scorer.SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: amountsOf(w.t, args)}})
		}
	case "remove":
		w.scorer.RemoveNode(words[1])
		w.nodes = w.nodes[1:]
	case "pod":
		pod := w.newPod(words[1], args)
		pod.Spec.NodeName, pod.Status.StartTime = args["on"], &metav1.Time{Time: w.moment(args["started"])}
		w.scorer.SetPod(pod)
	case "place":
		pod := w.newPod(words[1], args)
		node := w.scorer.Best(pod, func(yield func(string, int64) bool) {
			for _, name := range w.nodes {
				if !yield(name, 0) {
					return
				}
			}
		}, 1)[0]
		w.said = append(w.said, fmt.Sprintf("%s goes to %s", pod.Name, node))
		w.scorer.PlacePod(pod, node)
	case "end":
		w.scorer.RemovePod(w.pods[words[1]])
	case "measure":
		var measured []deschedulerframework.Measurement
		for _, line := range lines[1:] {
			words := strings.Fields(line)
			args := w.args(words[1:])
			m := deschedulerframework.Measurement{Node: words[0], At: w.now, Use: amountsOf(w.t, args)}
			if at := args["at"]; at != "" {
				m.At = w.moment(at)
			}
			measured = append(measured, m)
		}
		w.scorer.Measure(w.now, measured)
	default:
		w.t.Fatalf("no verb %s", verb)
	}
}

// points are those of the nodes, in their order.
func (w *loadWorld) points() []int64 {
	var points []int64
	for _, name := range w.nodes {
		points = append(points, w.scorer.load.points[w.scorer.slots[name]])
	}
	return points
}

func (w *loadWorld) newPod(name string, args map[string]string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: v1.PodSpec{Containers: []v1.Container{{}}}}
	pod.Spec.Containers[0].Resources.Requests = amountsOf(w.t, args)
	w.pods[name] = pod
	return pod
}

func (w *loadWorld) args(words []string) map[string]string {
	args := map[string]string{}
	for _, word := range words {
		if key, value, ok := strings.Cut(word, "="); ok {
			args[key] = value
		}
	}
	return args
}

func (w *loadWorld) moment(text string) time.Time {
	d, err := time.ParseDuration(text)
	assert.NilError(w.t, err)
	return time.Unix(0, 0).Add(d)
}

// amountsOf is a list of resources.
func amountsOf(t *testing.T, args map[string]string) v1.ResourceList {
	list := v1.ResourceList{}
	for key, name := range map[string]v1.ResourceName{"cpu": v1.ResourceCPU, "memory": v1.ResourceMemory, "part": deschedulerframework.MetricResource} {
		if args[key] != "" {
			quantity, err := resource.ParseQuantity(args[key])
			assert.NilError(t, err)
			list[name] = quantity
		}
	}
	return list
}
