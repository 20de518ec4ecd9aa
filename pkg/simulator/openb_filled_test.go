package simulator_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// Orders of nodes that are compared.
var filledOrders = []struct{ Name, policy string }{
	{"fair", "{type: fair, resourceweights: {gpu: 1, vcore: 0.01}}"},
	{"binpacking", "{type: binpacking, resourceweights: {gpu: 1, vcore: 0.01}}"},
	{"devices", "{type: devices, devices: {gpu: 1000}}"},
	{"scarcity", "{type: scarcity, devices: {gpu: 1000}}"},
}

// A filledList is a list of pods, with the most of the GPUs that was published for it, in percent. That of
// which a share is not zero is made: so many percent of the pods name a model, of those of the list that do.
type filledList struct {
	name, file string
	share      int
	published  float64
}

var filledLists = []filledList{
	{"default", "default", 0, 95.2},
	{"cpu250", "cpu250", 0, 93.2},
	{"gpushare40", "gpushare40", 0, 94.0},
	{"multigpu50", "multigpu50", 0, 97.1},
	{"gpuspec10", "gpuspec10", 0, 94.7},
	{"20 % of gpuspec33", "gpuspec33", 20, 94.7},
	{"25 % of gpuspec33", "gpuspec33", 25, 93.9},
	{"gpuspec33", "gpuspec33", 0, 87.8},
}

// A filledRun is what an order came to with a list: the part of the GPUs that is used at the end, and how it came there.
type filledRun struct {
	list   filledList
	order  string
	used   []float64 // by seed, in percent
	points [][2]float64
}

// TestOpenbFilled fills the nodes of the trace with each order of nodes, two orders of pods for each list. The order by
// what is scarce uses more of the GPUs than the best that was published, whether pods name models or not, and nowhere
// less than the order by devices, by more than a fifth of a percent. With NARWHAL_OPENB_PAGE=FILE a page with plots is
// written there.
func TestOpenbFilled(t *testing.T) {
	var all []filledRun
	for _, list := range filledLists {
		used := map[string][]float64{}
		for _, order := range filledOrders {
			is := filledRun{list: list, order: order.Name}
			for seed := range uint64(2) {
				is.fill(t, order.policy, seed+1)
			}
			used[order.Name] = is.used
			all = append(all, is)
			t.Logf("%-18s %-10s %.2f, published %.1f", list.name, order.Name, is.used, list.published)
		}
		for i, is := range used["scarcity"] {
			assert.Assert(t, is >= list.published && is >= used["devices"][i]-0.2, "%s: %v", list.name, used)
		}
	}
	if page := os.Getenv("NARWHAL_OPENB_PAGE"); page != "" {
		assert.NilError(t, os.WriteFile(page, filledPage(t, all), 0o600))
	}
}

// fill plays a list.
func (f *filledRun) fill(t *testing.T, policy string, seed uint64) {
	t.Helper()
	text := "partitions: [{name: default, nodesortpolicy: " + policy + ", queues: [{name: root, queues: [{name: default}]}]}]"
	queues := simulator.File{Name: "queues.yaml", Text: strings.NewReader(text)}
	pods := openbFile(t, "openb_pod_list_"+f.list.file+".csv")
	if f.list.share > 0 {
		pods.Text = bytes.NewReader(withFewerModels(t, pods, f.list.share))
	}
	s, err := simulator.ReadOpenbToFill(openbFile(t, "openb_node_list_all_node.csv"), pods, &queues, seed)
	assert.NilError(t, err)
	r, err := simulator.Run(s, simulator.Options{})
	assert.NilError(t, err)
	at := slices.IndexFunc(r.Resources, func(u simulator.ResourceUse) bool { return u.Kind == "gpu" })
	capacity := float64(r.Resources[at].Capacity)
	f.used = append(f.used, 100*float64(r.Resources[at].Peak)/capacity)
	if seed > 1 {
		return
	}
	kind, _ := s.Kinds.Lookup("gpu")
	arrived, pod := int64(0), 0
	for i, used := range r.Series.Resources[at].Used {
		until := r.Series.Step.Duration() * time.Duration(2*i+1) / 2 // what is used is the mean of the step
		for ; pod < len(s.Trace) && s.Trace[pod].Arrive <= until; pod++ {
			arrived += s.Trace[pod].Amounts.Of(kind)
		}
		f.points = append(f.points, [2]float64{100 * float64(arrived) / capacity, 100 * float64(used) / capacity})
	}
}

// withFewerModels is a list in which some of the pods name no model any more, so that of all pods with GPUs about so many
// percent do. In the list that is published for a third, it is 33 percent.
func withFewerModels(t *testing.T, pods simulator.File, percent int) []byte {
	t.Helper()
	chance := rand.New(rand.NewPCG(uint64(percent), 33))
	var out bytes.Buffer
	lines := bufio.NewScanner(pods.Text)
	assert.Assert(t, lines.Scan())
	column := slices.Index(strings.Split(lines.Text(), ","), "gpu_spec")
	assert.Assert(t, column >= 0)
	fmt.Fprintln(&out, lines.Text())
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ",")
		if fields[column] != "" && chance.IntN(33) >= percent {
			fields[column] = ""
		}
		fmt.Fprintln(&out, strings.Join(fields, ","))
	}
	assert.NilError(t, lines.Err())
	return out.Bytes()
}
