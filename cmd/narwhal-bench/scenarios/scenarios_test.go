package scenarios

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/cores"
	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/driver"
)

// Every scenario is played in both sizes, with all that grows, no case twice, and no case of an
// unknown scenario.
func TestEveryScenarioHasSizes(t *testing.T) {
	for _, cases := range [][]Case{Small(), FullSizes()} {
		var names, scenarios []string
		for _, c := range cases {
			assert.Assert(t, About(c.Scenario) != "", c.Scenario)
			names, scenarios = append(names, c.Name()), append(scenarios, c.Scenario)
		}
		for _, s := range all {
			assert.Assert(t, slices.Contains(scenarios, s.name), s.name)
		}
		for _, of := range []string{"nodes", "pods", "queues", "applications"} {
			grows := func(c Case) bool { return c.Scenario == Growth && c.Of == of }
			assert.Assert(t, slices.ContainsFunc(cases, grows), of)
		}
		slices.Sort(names)
		assert.Equal(t, len(slices.Compact(names)), len(cases))
	}
}

// What runs before a guarantee is claimed fills the nodes without a rest, and the room that
// is owed takes as few victims as were found by hand.
func TestBorrowedUnits(t *testing.T) {
	var pods []*driver.Pod
	for _, b := range borrowed {
		for range b.pods {
			pods = append(pods, &driver.Pod{Wants: units(b.units)})
		}
	}
	assert.Equal(t, fewestBorrowed(1, owedPods*owedUnits), 28)
	assert.Equal(t, fewestBorrowed(5, 500), 140)
	assert.Equal(t, fewestBorrowed(5, 495), 138)
	assert.Equal(t, fewestBorrowed(1, 4), 1)
	spread(pods, borrowedNodes)
	used := map[string]int64{}
	for _, p := range pods {
		used[p.Node] += p.Wants.Vcore
	}
	assert.Equal(t, len(used), borrowedNodes)
	for node, vcore := range used {
		assert.Equal(t, vcore, int64(borrowedUnits*1000), node)
	}
}

// The fewest victims of each layout of a roll-out, found by hand.
func TestFewest(t *testing.T) {
	var victims []int
	for _, on := range layouts {
		victims = append(victims, fewest(on))
	}
	assert.DeepEqual(t, victims, []int{1, 1, 1, 1, 3})
}

// A configuration has the guarantee and the properties of its queues.
func TestConfig(t *testing.T) {
	half := units(5)
	r := &run{core: &cores.Core{Partition: "  preemption:\n    enabled: true\n"}}
	text := r.config([]queue{{name: "a"}, {name: "b", guaranteed: &half, properties: "preemption.delay: 1s"}})
	assert.Assert(t, strings.HasSuffix(text, `    - name: a
    - name: b
      properties:
        preemption.delay: 1s
      resources:
        guaranteed:
          vcore: 5000m
          memory: 5368709120
`), text)
}

// What is wrong with a trace is told with its file and line.
func TestTracesThatAreWrong(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	nodes := file("nodes", "sn,cpu_milli,memory_mib,gpu\nn,1,2,3\n")
	for text, want := range map[string]string{
		"":                 "pods: is empty",
		"name,cpu_milli\n": "pods: has no column memory_mib",
		"name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,2,3,few\n": "pods: line 2: gpu_milli",
		"name,cpu_milli\np,1,2\n":                                    "wrong number of fields",
	} {
		_, err := readTrace(nodes, file("pods", text))
		assert.ErrorContains(t, err, want)
	}
	_, err := readTrace(filepath.Join(dir, "missing"), nodes)
	assert.ErrorContains(t, err, "missing")
}

// What a trace says of nodes and pods is read: parts of a GPU are thousandths, of as many as are
// asked for.
func TestReadTrace(t *testing.T) {
	dir := t.TempDir()
	nodes, pods := filepath.Join(dir, "nodes"), filepath.Join(dir, "pods")
	assert.NilError(t, os.WriteFile(nodes, []byte("sn,cpu_milli,memory_mib,gpu,model\nn1,64000,2,2,T4\n"), 0o600))
	assert.NilError(t, os.WriteFile(pods, []byte("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n"+
		"p1,6000,1,1,460,T4|V100,Burstable\np2,1,1,2,1000,P100,LS\np3,1,1,0,0,,unheard\n"), 0o600))
	read, err := readTrace(nodes, pods)
	assert.NilError(t, err)
	assert.DeepEqual(t, read.nodes, []driver.Node{{ID: "n1", Has: driver.Amounts{Vcore: 64_000, Memory: 2 << 20, GPU: 2000}}})
	assert.DeepEqual(t, read.pods, []*driver.Pod{
		{Key: "p1", Application: applicationID(2), Priority: 100, Wants: driver.Amounts{Vcore: 6000, Memory: 1 << 20, GPU: 460}},
		{Key: "p2", Application: applicationID(0), Priority: 200, Wants: driver.Amounts{Vcore: 1, Memory: 1 << 20, GPU: 2000}},
		{Key: "p3", Application: applicationID(0), Priority: 200, Wants: driver.Amounts{Vcore: 1, Memory: 1 << 20}},
	})
	assert.NilError(t, read.refuses("p1", "n1"))
	assert.ErrorIs(t, read.refuses("p2", "n1"), errModel)
	assert.NilError(t, read.refuses("p3", "n1"))
}
