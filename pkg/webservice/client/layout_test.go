package client_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// teams has a team that is over its guarantee, and one that waits under it.
func teams() *client.Queue {
	return &client.Queue{Name: "root", Status: "Active", Max: client.Amounts{"vcore": 192_000, "memory": 768 << 30, "nvidia.com/gpu": 24, "pods": 1320}, Children: []*client.Queue{
		{
			Name: "root.research", Status: "Active", Guaranteed: client.Amounts{"nvidia.com/gpu": 8}, States: map[string]string{"nvidia.com/gpu": "over"}, Used: client.Amounts{"vcore": 144_000, "nvidia.com/gpu": 24}, Children: []*client.Queue{
				{Name: "root.research.train", Status: "Active", IsLeaf: true, Apps: 12, Used: client.Amounts{"vcore": 144_000, "nvidia.com/gpu": 24}},
			},
		},
		{Name: "root.web", Status: "Active", IsLeaf: true, Apps: 4, Guaranteed: client.Amounts{"nvidia.com/gpu": 4}, States: map[string]string{"nvidia.com/gpu": "under and waiting"}, Pending: client.Amounts{"nvidia.com/gpu": 2}},
	}}
}

// TestLayout writes one table in terminals of several widths: no line is longer, nothing is
// cut, and rows that need attention are coloured.
func TestLayout(t *testing.T) {
	for _, c := range []struct {
		name   string
		layout client.Layout
	}{
		{"layout-wide", client.Layout{Width: 132}},
		{"layout-80", client.Layout{Width: 80}},
		{"layout-phone", client.Layout{Width: 50}},
		{"layout-colour", client.Layout{Width: 132, Colour: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			assert.NilError(t, client.QueuesTable(teams()).WriteIn(&out, c.layout))
			golden.Assert(t, out.String(), c.name+".golden")
		})
	}
}

// TestLayoutKeepsToTheWidth looks at every width from the least that a table can have.
func TestLayoutKeepsToTheWidth(t *testing.T) {
	long := strings.Repeat("abc", 40)
	table := &client.Table{Headings: []string{"NAME", "WHY", "N"}, Rows: [][]string{
		{long, "no node has room: 12 are full, 3 are drained", "1"},
		{"  short", "ä " + strings.Repeat("ö", 30), "2"},
	}}
	for width := 24; width < 400; width++ {
		var out bytes.Buffer
		assert.NilError(t, table.WriteIn(&out, client.Layout{Width: width}))
		letters := 0
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			assert.Assert(t, utf8.RuneCountInString(line) <= width, "%d: %q", width, line)
			letters += strings.Count(line, "abc"[:1]) + strings.Count(line, "ö")
		}
		assert.Assert(t, letters >= 40+30, "%d: something is cut:\n%s", width, out.String())
	}
}

// TestQueuesTableOfKinds shows only the kinds that are asked for, by either name.
func TestQueuesTableOfKinds(t *testing.T) {
	for kinds, want := range map[string]int{"cpu": 4, "vcore": 4, "nvidia.com/gpu memory": 8, "none": 4} {
		assert.Equal(t, len(client.QueuesTable(teams(), strings.Fields(kinds)...).Rows), want, kinds)
	}
}

// TestReadable is about texts of the scheduler.
func TestReadable(t *testing.T) {
	assert.Equal(t, client.Readable("lacks vcore=1500 memory=1073741824"), "lacks cpu=1.5 memory=1Gi")
}

// TestNodesTableOfKinds: devices have columns beside CPU and memory, and keep their domain
// where two would read the same.
func TestNodesTableOfKinds(t *testing.T) {
	node := &client.Node{Name: "n", Schedulable: true, Capacity: client.Amounts{
		"vcore": 4000, "memory": 1, "nvidia.com/gpu": 1, "amd.com/gpu": 1, "vendor.example/fpga": 2, "hugepages-2Mi": 1 << 21, "pods": 110,
	}}
	for kinds, want := range map[string]string{
		"":                   "CPU MEMORY AMD.COM/GPU NVIDIA.COM/GPU FPGA",
		"nvidia.com/gpu":     "GPU",
		"hugepages-2Mi cpu":  "CPU HUGEPAGES-2MI",
		"pods vcore unknown": "CPU PODS",
	} {
		headings := client.NodesTable([]*client.Node{node}, strings.Fields(kinds)...).Headings
		assert.Equal(t, strings.Join(headings[4:len(headings)-2], " "), want)
	}
}

// TestManyNodes shows a cluster of fifty thousand nodes.
func TestManyNodes(t *testing.T) {
	var nodes []*client.Node
	for i := range 50_000 {
		nodes = append(nodes, &client.Node{Name: fmt.Sprintf("node-%d", i), Capacity: client.Amounts{"vcore": 1, "memory": 1}})
	}
	var out bytes.Buffer
	assert.NilError(t, client.NodesTable(nodes).WriteIn(&out, client.Layout{Width: 80, Colour: true}))
	assert.Equal(t, strings.Count(out.String(), "\x1b[33m"), 50_000)
}
