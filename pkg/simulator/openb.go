package simulator

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A File is an input with its name, for errors.
type File struct {
	Name string
	Text io.Reader
}

// classes are the classes of service of the openb trace.
var classes = map[string]struct {
	queue    api.QueuePath
	priority int32
}{
	"Guaranteed": {"root.guaranteed", 200},
	"LS":         {"root.ls", 200},
	"Burstable":  {"root.burstable", 100},
	"BE":         {"root.be", 0},
}

// openbQueues has one leaf queue for each class of service.
const openbQueues = `
partitions:
  - name: default
    queues:
      - name: root
        queues:
          - name: guaranteed
          - name: ls
          - name: burstable
          - name: be
`

// fillQueues has one queue for all, and the order of nodes for which GPUs are filled.
const fillQueues = `
partitions:
  - name: default
    nodesortpolicy:
      type: devices
      devices: {gpu: 1000}
    queues:
      - name: root
        queues:
          - name: default
`

// ReadOpenb makes a scenario of the node list and the pod list of the openb
// trace. Queues is a queue configuration to use; when it has no leaf queue of
// the name of a class of service, its pods go to root.default. Without one,
// every class has its queue. The error is Problems, with files and lines.
func ReadOpenb(nodes, pods File, queues *File) (*Scenario, error) {
	return readOpenb(nodes, pods, queues, false)
}

// timeless are the columns of pods that count in any case, timed those that count when pods
// arrive and leave at the times of the trace.
var (
	timeless = []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}
	timed    = append(slices.Clone(timeless), "gpu_spec", "qos", "creation_time", "deletion_time")
)

func readOpenb(nodes, pods File, queues *File, fills bool) (*Scenario, error) {
	kinds := new(resources.Kinds)
	s := &Scenario{
		Name:        "openb",
		Description: "Nodes and pods of the openb GPU-cluster trace. Pods arrive and leave at the times of the trace.",
		Kinds:       kinds,
	}
	t := &traceReader{kinds: kinds, scenario: s, keys: map[string]int{}}
	t.table(nodes, []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"}, t.node)
	if fills {
		t.table(pods, timeless, func(r *row) { t.pod(r, TracePod{Queue: "root.default", Class: "all"}) })
	} else {
		t.table(pods, timed, func(r *row) { t.pod(r, r.timed()) })
	}
	if err := t.problems.orNil(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(s.Trace, func(a, b TracePod) int { return int((a.Arrive - b.Arrive) / tick) })
	text := openbQueues
	if fills {
		text = fillQueues
	}
	if queues != nil {
		all, err := io.ReadAll(queues.Text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", queues.Name, err)
		}
		text = string(all)
	}
	if err := s.UseQueues(text); err != nil {
		var problems Problems
		if errors.As(err, &problems) && queues != nil {
			return nil, problems.In(queues.Name)
		}
		return nil, err
	}
	t.settleQueues()
	return s, nil
}

// A traceReader turns rows into nodes and pods, and collects what is wrong.
type traceReader struct {
	kinds    *resources.Kinds
	scenario *Scenario
	problems Problems
	keys     map[string]int // the line of each name of the file at hand
}

// A row is a line of a table, read by column.
type row struct {
	t      *traceReader
	file   string
	line   int
	column map[string]int
	values []string
	bad    bool
}

func (r *row) complain(column, format string, args ...any) {
	r.bad = true
	r.t.problems = append(r.t.problems, Problem{File: r.file, Line: r.line, Key: column, Text: fmt.Sprintf(format, args...)})
}

// table reads the rows of a file with at least the columns given.
func (t *traceReader) table(f File, columns []string, each func(*row)) {
	reader := csv.NewReader(f.Text)
	reader.FieldsPerRecord = -1
	reader.ReuseRecord = true
	clear(t.keys)
	head, err := reader.Read()
	if err != nil {
		t.unreadable(f.Name, 1, err)
		return
	}
	at := map[string]int{}
	for i, name := range head {
		at[strings.TrimPrefix(name, "\ufeff")] = i
	}
	missing := slices.DeleteFunc(slices.Clone(columns), func(name string) bool { _, ok := at[name]; return ok })
	if len(missing) > 0 {
		t.problems = append(t.problems, Problem{
			File: f.Name, Line: 1,
			Text: fmt.Sprintf("has no column %s; without it the trace cannot be played", strings.Join(missing, ", ")),
		})
		return
	}
	width := len(head)
	for {
		values, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.unreadable(f.Name, 0, err)
			return
		}
		line, _ := reader.FieldPos(0)
		r := &row{t: t, file: f.Name, line: line, column: at, values: values}
		if len(values) != width {
			r.complain("", "has %d fields and the head has %d", len(values), width)
			continue
		}
		each(r)
	}
}

func (t *traceReader) unreadable(file string, line int, err error) {
	var parse *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		err = errors.New("is empty; it must begin with the names of the columns")
	case errors.As(err, &parse):
		line, err = parse.Line, parse.Err
	}
	t.problems = append(t.problems, Problem{File: file, Line: line, Text: err.Error()})
}

func (r *row) text(column string) string { return r.values[r.column[column]] }

// whole reads a number that must be there.
func (r *row) whole(column string, least, most int64) int64 {
	text := r.text(column)
	v, err := strconv.ParseInt(text, 10, 64)
	switch {
	case text == "":
		r.complain(column, "is empty")
	case err != nil:
		r.complain(column, "%q is not a whole number", text)
	case v < least || v > most:
		r.complain(column, "%d is not between %d and %d", v, least, most)
	}
	return v
}

// name reads a name that no other row of the file has.
func (r *row) name(column string) string {
	name := r.text(column)
	switch first, taken := r.t.keys[name]; {
	case name == "":
		r.complain(column, "is empty")
	case taken:
		r.complain(column, "%q is the name of line %d too", name, first)
	default:
		r.t.keys[name] = r.line
	}
	return name
}

// Bounds of the quantities of one row: a thousand times what is in the trace.
const (
	cpuMilliMax  = 1_000_000_000
	memoryMiBMax = 1 << 32
)

// amounts is the resources of a row with its thousandths of GPUs.
func (r *row) amounts(gpuMilli int64) resources.Amounts {
	cpu := r.whole("cpu_milli", 0, cpuMilliMax)
	memory := r.whole("memory_mib", 0, memoryMiBMax)
	if r.bad {
		return nil
	}
	amounts, err := r.t.kinds.Amounts(map[string]int64{
		resources.VCore:  cpu,
		resources.Memory: memory << 20,
		gpuKind:          gpuMilli,
	})
	if err != nil {
		r.complain("", "%v", err)
	}
	return amounts
}

func (t *traceReader) node(r *row) {
	name := r.name("sn")
	gpus := int(r.whole("gpu", 0, devicesMax))
	model := r.text("model")
	if gpus > 0 && model == "" {
		r.complain("model", "is empty, and the node has GPUs")
	}
	amounts := r.amounts(int64(gpus) * deviceMilli)
	if r.bad {
		return
	}
	if len(t.scenario.Nodes) == nodesMax {
		r.complain("", "is more than %d nodes", nodesMax)
		return
	}
	group := model
	if group == "" {
		group = "without GPU"
	}
	t.scenario.Nodes = append(t.scenario.Nodes, Node{
		ID:         api.NodeID(name),
		Group:      group,
		Capacity:   amounts,
		Attributes: map[string]string{attributeModel: model},
		Devices:    Devices{Count: gpus, Model: model},
	})
}

// timed is a pod with its class of service and its times.
func (r *row) timed() TracePod {
	class, known := classes[r.text("qos")]
	switch {
	case r.text("qos") == "":
		r.complain("qos", "is empty")
	case !known:
		r.complain("qos", "%q is none of Guaranteed, LS, Burstable, BE", r.text("qos"))
	}
	last := int64(spanMax / time.Second)
	arrive, leave := r.whole("creation_time", 0, last), r.whole("deletion_time", 0, last)
	if !r.bad && leave < arrive {
		r.complain("deletion_time", "%d is before the creation_time %d", leave, arrive)
	}
	return TracePod{
		Queue: class.queue, Class: strings.ToLower(r.text("qos")), Priority: class.priority,
		Arrive: time.Duration(arrive) * time.Second, Leave: time.Duration(leave) * time.Second,
	}
}

// pod reads what every pod has beside its class and its times.
func (t *traceReader) pod(r *row, p TracePod) {
	name, demand := r.name("name"), r.demand()
	amounts := r.amounts(demand.total())
	if !r.bad && amounts.IsZero() {
		r.complain("", "asks for nothing")
	}
	if r.bad {
		return
	}
	if len(t.scenario.Trace) == podsMax {
		r.complain("", "is more than %d pods", podsMax)
		return
	}
	p.Key, p.Amounts, p.Demand = api.AllocationKey(name), amounts, demand
	t.scenario.Trace = append(t.scenario.Trace, p)
}

// demand reads num_gpu devices with gpu_milli each.
func (r *row) demand() Demand {
	count := r.whole("num_gpu", 0, devicesMax)
	milli := r.whole("gpu_milli", 0, deviceMilli)
	switch {
	case r.bad:
	case count == 0 && milli > 0:
		r.complain("gpu_milli", "%d of no GPU: num_gpu is 0", milli)
	case count > 0 && milli == 0:
		r.complain("gpu_milli", "nothing of %d GPUs", count)
	}
	d := Demand{Count: int(count), Milli: milli}
	if _, there := r.column["gpu_spec"]; !there {
		return d
	}
	if spec := r.text("gpu_spec"); spec != "" && count > 0 {
		d.Models = strings.Split(spec, "|")
	}
	return d
}

// settleQueues sends a class that has no queue of its own to the default one.
func (t *traceReader) settleQueues() {
	known := leaves(t.scenario.Config)
	for i := range t.scenario.Trace {
		p := &t.scenario.Trace[i]
		if !slices.Contains(known, p.Queue) {
			p.Queue = "root.default"
		}
	}
}
