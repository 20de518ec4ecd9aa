package simulator_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

func filled(nodes, pods string, seed uint64) (*simulator.Scenario, error) {
	return simulator.ReadOpenbToFill(
		simulator.File{Name: "nodes.csv", Text: strings.NewReader("sn,cpu_milli,memory_mib,gpu,model\n" + nodes)},
		simulator.File{Name: "pods.csv", Text: strings.NewReader("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n" + pods)}, nil, seed)
}

// Pods come one by one, each once in a round, until they ask for all GPUs. All run to the end.
func TestFill(t *testing.T) {
	const nodes, pods = "n1,64000,65536,2,G2\nn2,64000,65536,2,G2\n", "a,1000,1024,1,400,\nb,1000,1024,1,1000,\nc,1000,1024,0,0,\n"
	orders := map[string]bool{}
	for seed := range uint64(20) {
		s, err := filled(nodes, pods, seed+1)
		assert.NilError(t, err)
		var order []string
		var wanted int64
		gpu, _ := s.Kinds.Lookup("gpu")
		seen := map[string]bool{}
		for i, p := range s.Trace {
			assert.Assert(t, wanted < 4000 && !seen[string(p.Key)])
			seen[string(p.Key)] = true
			assert.Assert(t, i == 0 || p.Arrive > s.Trace[i-1].Arrive)
			wanted += p.Amounts.Of(gpu)
			order = append(order, string(p.Key))
		}
		assert.Assert(t, wanted >= 4000)
		orders[strings.Join(order, " ")] = true
		r, err := simulator.Run(s, simulator.Options{Verify: true})
		assert.NilError(t, err)
		assert.Equal(t, r.Pods.Running+r.Pods.Pending, len(s.Trace))
	}
	assert.Assert(t, len(orders) > 5, "%v", orders)
	same, err := filled(nodes, pods, 0)
	assert.NilError(t, err)
	one, err := filled(nodes, pods, 1)
	assert.NilError(t, err)
	assert.Equal(t, len(same.Trace), len(one.Trace))
	assert.Equal(t, same.Seed, uint64(1))
}

func TestFillWithNothingToFill(t *testing.T) {
	_, err := filled("n1,64000,65536,0,\n", "a,1000,1024,1,400,\n", 1)
	assert.Error(t, err, "there are no GPUs to fill")
	_, err = filled("n1,64000,65536,2,G2\n", "a,1000,1024,0,0,\n", 1)
	assert.Error(t, err, "no pod asks for a GPU")
	_, err = filled("n1,64000,65536,2,G2\n", "a,1000,1024,1,x,\n", 1)
	assert.ErrorContains(t, err, `pods.csv:2: gpu_milli: "x" is not a whole number`)
}
