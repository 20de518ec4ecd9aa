package simulator_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

const openbNodes = `sn,cpu_milli,memory_mib,gpu,model
n-cpu,32000,131072,0,
n-t4,32000,131072,2,T4
n-p100,32000,131072,4,P100
`

const podHead = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"

func openb(nodes, pods string) (*simulator.Scenario, error) {
	return simulator.ReadOpenb(
		simulator.File{Name: "nodes.csv", Text: strings.NewReader(nodes)},
		simulator.File{Name: "pods.csv", Text: strings.NewReader(pods)}, nil)
}

// play runs pods on the three nodes.
func play(t *testing.T, rows ...string) *simulator.Result {
	t.Helper()
	s, err := openb(openbNodes, podHead+strings.Join(rows, "\n")+"\n")
	assert.NilError(t, err)
	return verified(t, s, 1)
}

func TestOpenbPodsComeAndGo(t *testing.T) {
	r := play(t,
		"late,1000,1024,0,0,,BE,Running,500,900,",
		"early,1000,1024,0,0,,LS,Running,0,100,0",
		"other,1000,1024,0,0,,Guaranteed,Running,50,600,50",
		"short,1000,1024,0,0,,Burstable,Failed,700,700,")
	assert.Equal(t, r.Pods.Placed, 4)
	assert.Equal(t, r.Pods.Ended, 4)
	assert.Equal(t, r.Waiting.Max.Duration().String(), "0s")
	// 100 + 550 + 400 pod seconds of one core in 930, as the application
	// completes thirty seconds after its last pod.
	assert.Equal(t, r.Time.Duration().String(), "15m30s")
	assert.Equal(t, r.Resources[0].Mean, int64(1000*(100+550+400)/930))
}

// TestOpenbFractionsFitOneDevice: three pods of 0.6 are 1.8 of the 2 devices of
// a node, and only two of them fit.
func TestOpenbFractionsFitOneDevice(t *testing.T) {
	r := play(t,
		"a,1000,1024,1,600,T4,LS,Running,0,100,",
		"b,1000,1024,1,600,T4,LS,Running,0,100,",
		"c,1000,1024,1,600,T4,LS,Running,1,90,",
		"d,1000,1024,1,200,T4,LS,Running,2,90,")
	assert.Equal(t, r.Pods.Placed, 3)
	assert.Equal(t, r.Pods.GaveUp, 1)
	assert.Equal(t, r.GaveUp[0].Example, "c")
	assert.Equal(t, r.GaveUp[0].Reason, "refused on every node with room")
	assert.Assert(t, strings.Contains(r.GaveUp[0].Detail, "do not add up to 0.600 of one GPU of T4"), r.GaveUp[0].Detail)
}

func TestOpenbWholeDevicesAndModels(t *testing.T) {
	r := play(t,
		"frac,1000,1024,1,100,P100,LS,Running,0,1000,", // leaves three whole ones
		"three,1000,1024,3,1000,P100|T4,LS,Running,1,1000,",
		"two,1000,1024,2,1000,,LS,Running,2,1000,",
		"one,1000,1024,1,1000,V100M32|P100,LS,Running,3,900,")
	assert.Equal(t, r.Pods.Placed, 3)
	assert.Equal(t, r.GaveUp[0].Example, "one")
}

// TestOpenbPriority: of two that wait for the same place the higher class gets it,
// and at once if it can take it from the lowest one, which does not get it back in time.
func TestOpenbPriority(t *testing.T) {
	r := play(t,
		"first,32000,1024,4,1000,P100,BE,Running,0,100,",
		"low,32000,1024,4,1000,P100,BE,Running,10,200,",
		"high,32000,1024,4,1000,P100,LS,Running,20,200,")
	assert.Equal(t, r.Pods.Placed, 2)
	assert.Equal(t, r.Pods.Preempted, 1)
	assert.Equal(t, r.Preemption.Records[0].Ask, "high")
	assert.Equal(t, r.Preemption.Records[0].Victims[0].Key, "first")
	gaveUp := 0
	for _, reason := range r.GaveUp {
		gaveUp += reason.Pods
	}
	assert.Equal(t, gaveUp, 2) // first, when it came again, and low
}

func TestOpenbUsesQueuesOfTheConfiguration(t *testing.T) {
	s, err := simulator.ReadOpenb(
		simulator.File{Name: "nodes.csv", Text: strings.NewReader(openbNodes)},
		simulator.File{Name: "pods.csv", Text: strings.NewReader(podHead + "a,1,1,0,0,,LS,,0,9,\nb,1,1,0,0,,BE,,0,9,\n")},
		&simulator.File{Name: "q.yaml", Text: strings.NewReader("partitions: [{queues: [{name: root, queues: [{name: ls}, {name: default}]}]}]")})
	assert.NilError(t, err)
	r := verified(t, s, 1)
	for _, q := range r.Queues {
		assert.Equal(t, q.Placed, map[string]int{"root": 2, "root.ls": 1, "root.default": 1}[q.Path], q.Path)
	}
}

func TestOpenbProblems(t *testing.T) {
	_, err := openb(
		"sn,cpu_milli,memory_mib,gpu,model\n"+
			"a,1000,1024,1,\n"+
			"a,1000,1024,0,\n"+
			",1000,1024,0,\n"+
			"b,x,1024,0,\n"+
			"c,1000\n"+
			"d,1000,,0,\n"+
			"e,1000,1024,-1,T4\n",
		podHead+
			"p,1000,1024,0,0,,LS,Running,0,9,0\n"+
			"p,1000,1024,0,0,,LS,Running,0,9,0\n"+
			"q,1000,1024,1,0,,LS,Running,0,9,0\n"+
			"r,1000,1024,0,500,,LS,Running,0,9,0\n"+
			"s,1000,1024,1,1500,,LS,Running,0,9,0\n"+
			"t,1000,1024,0,0,,,Running,0,9,0\n"+
			"u,1000,1024,0,0,,Best,Running,0,9,0\n"+
			"v,1000,1024,0,0,,LS,Running,10,9,0\n"+
			"w,1000,1024,0,0,,LS,Running,,9.5,0\n"+
			"x,0,0,0,0,,LS,Running,0,9,0\n")
	assert.Assert(t, err != nil)
	golden.Assert(t, err.Error()+"\n", "openb-problems.golden")
}

func TestOpenbMissingColumnsAndFiles(t *testing.T) {
	_, err := openb(openbNodes, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nopenb-pod-0000,12000,16384,1,1000\n")
	assert.Error(t, err, "pods.csv:1: has no column gpu_spec, qos, creation_time, deletion_time; without it the trace cannot be played")
	_, err = openb("", podHead)
	assert.Error(t, err, "nodes.csv:1: is empty; it must begin with the names of the columns")
	_, err = openb("sn,cpu_milli,memory_mib,gpu,model\n\"a,1,1,0,\n", podHead)
	assert.ErrorContains(t, err, "nodes.csv:")
}

// TestOpenbProblemsAreCapped: a file of another kind does not flood the terminal.
func TestOpenbProblemsAreCapped(t *testing.T) {
	var rows strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&rows, "p%d,bad,1,0,0,,LS,,0,9,\n", i)
	}
	_, err := openb(openbNodes, podHead+rows.String())
	lines := strings.Split(err.Error(), "\n")
	assert.Equal(t, len(lines), 51)
	assert.Equal(t, lines[50], "and 950 more")
}
