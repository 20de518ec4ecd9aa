package scenarios

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/driver"
)

var errModel = errors.New("the node has another model of GPU")

// A table is a file of comma-separated values, read by column.
type table struct {
	name   string
	column map[string]int
	rows   [][]string
}

func readTable(name string, columns ...string) (*table, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it is only read
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s: is empty", name)
	}
	t := &table{name: name, column: map[string]int{}, rows: rows[1:]}
	for i, head := range rows[0] {
		t.column[head] = i
	}
	for _, c := range columns {
		if _, ok := t.column[c]; !ok {
			return nil, fmt.Errorf("%s: has no column %s", name, c)
		}
	}
	return t, nil
}

func (t *table) text(row int, column string) string {
	i, ok := t.column[column]
	if !ok {
		return ""
	}
	return t.rows[row][i]
}

func (t *table) number(row int, column string) (int64, error) {
	n, err := strconv.ParseInt(t.text(row, column), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: line %d: %s: %w", t.name, row+2, column, err)
	}
	return n, nil
}

// numbers reads several columns of a row.
func (t *table) numbers(row int, columns ...string) ([]int64, error) {
	values := make([]int64, len(columns))
	for i, c := range columns {
		n, err := t.number(row, c)
		if err != nil {
			return nil, err
		}
		values[i] = n
	}
	return values, nil
}

// A gpuTrace is the nodes and pods of the openb trace, with the models of GPUs that nodes
// have and pods name.
type gpuTrace struct {
	nodes  []driver.Node
	pods   []*driver.Pod
	models map[string]string   // by node
	wanted map[string][]string // by pod; one that is not there runs anywhere
}

// refuses is the predicate of a trace.
func (t *gpuTrace) refuses(key, node string) error {
	if wanted := t.wanted[key]; len(wanted) > 0 && !slices.Contains(wanted, t.models[node]) {
		return errModel
	}
	return nil
}

// traceQueues are the classes of service of the trace, each with an application.
var traceQueues = []queue{{name: "ls"}, {name: "guaranteed"}, {name: "burstable"}, {name: "be"}}

// tracePriorities are those of the classes, in the same order.
var tracePriorities = []int32{200, 200, 100, 0}

func readTrace(nodeList, podList string) (*gpuTrace, error) {
	t := &gpuTrace{models: map[string]string{}, wanted: map[string][]string{}}
	list, err := readTable(nodeList, "sn", "cpu_milli", "memory_mib", "gpu")
	if err != nil {
		return nil, err
	}
	for row := range list.rows {
		has, err := list.numbers(row, "cpu_milli", "memory_mib", "gpu")
		if err != nil {
			return nil, err
		}
		id := list.text(row, "sn")
		t.nodes = append(t.nodes, driver.Node{ID: id, Has: driver.Amounts{Vcore: has[0], Memory: has[1] << 20, GPU: has[2] * 1000}})
		t.models[id] = list.text(row, "model")
	}
	if list, err = readTable(podList, "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"); err != nil {
		return nil, err
	}
	for row := range list.rows {
		wants, err := list.numbers(row, "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
		if err != nil {
			return nil, err
		}
		t.pods = append(t.pods, t.pod(list, row, wants))
	}
	return t, nil
}

func (t *gpuTrace) pod(list *table, row int, wants []int64) *driver.Pod {
	class := max(0, slices.IndexFunc(traceQueues, func(q queue) bool {
		return q.name == strings.ToLower(list.text(row, "qos"))
	}))
	key := list.text(row, "name")
	if models := list.text(row, "gpu_spec"); models != "" {
		t.wanted[key] = strings.Split(models, "|")
	}
	return &driver.Pod{
		Key: key, Application: applicationID(class), Priority: tracePriorities[class],
		Wants: driver.Amounts{Vcore: wants[0], Memory: wants[1] << 20, GPU: wants[2] * wants[3]},
	}
}

// trace asks for all pods of a trace at once, or for the first of them, and waits until the
// core comes to rest.
func trace(r *run) error {
	t, err := readTrace(r.NodeList, r.PodList)
	if err != nil {
		return err
	}
	if n := r.Size.Pods; n > 0 && n < len(t.pods) {
		t.pods = t.pods[:n]
	}
	r.driver.Refuses = t.refuses
	if err := r.register(traceQueues, t.nodes, applicationsOf(len(traceQueues), traceQueues)); err != nil {
		return err
	}
	r.driver.Know(t.pods)
	r.driver.ExpectEntries(2 * len(t.pods))
	from := driver.Begin()
	if err := r.driver.SendAll(r.driver.Requests(t.pods)); err != nil {
		return err
	}
	at, err := r.driver.AwaitQuiet(r.ctx, r.Size.Watch)
	n := r.driver.Placed()
	if err != nil {
		return fmt.Errorf("%d of %d: %w", n, len(t.pods), err)
	}
	r.report("placements", "1/s", Higher, perSecond(n, at.Sub(from.Wall)))
	r.report("placed", "", Equal, float64(n))
	r.reportUse("placement", n, from, driver.Used())
	r.wrong(r.driver.CheckNothingFits())
	return nil
}
