package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// GPUs are counted twice. The core books the kind gpu, thousandths of a device
// over the whole node. Which device a pod gets is for the virtual resource
// manager, as it is for the device plugin of a real node: the table below.

// gpuKind is the resource kind that counts thousandths of a GPU.
const gpuKind = "gpu"

// deviceMilli is a whole device.
const deviceMilli = 1000

// total is what the core books of a demand.
func (d Demand) total() int64 { return int64(d.Count) * d.Milli }

// String is the demand as people read it: "2 GPUs of T4 or P100".
func (d Demand) String() string {
	var b strings.Builder
	switch {
	case d.Milli < deviceMilli && d.Count == 1:
		fmt.Fprintf(&b, "0.%03d of one GPU", d.Milli)
	case d.Milli < deviceMilli:
		fmt.Fprintf(&b, "0.%03d of each of %d GPUs", d.Milli, d.Count)
	case d.Count == 1:
		b.WriteString("1 whole GPU")
	default:
		fmt.Fprintf(&b, "%d whole GPUs", d.Count)
	}
	if len(d.Models) > 0 {
		b.WriteString(" of " + strings.Join(d.Models, " or "))
	}
	return b.String()
}

// attributeModel is the attribute of a node that has the model of its GPUs.
const attributeModel = "model"

// selector is what a pod needs of the attributes of a node, as the core reads it.
func (d Demand) selector(labels map[string]string) string {
	var terms []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		terms = append(terms, name+"="+labels[name])
	}
	if len(d.Models) > 0 {
		terms = append(terms, attributeModel+"="+strings.Join(d.Models, "|"))
	}
	return strings.Join(terms, ",")
}

// wants is what pods care for beyond amounts. The refusals are made once: they
// are asked for more often than anything else.
type wants struct {
	demand          Demand
	labels          []label // sorted by name
	class           string  // names both: pods of one class get the same answers
	noModel, noRoom error
}

// A label must be on the node.
type label struct {
	name, value string
	refusal     error
}

func newWants(d Demand, selector map[string]string) wants {
	w := wants{
		demand:  d,
		class:   d.String(),
		noModel: fmt.Errorf("no GPU of %s", strings.Join(d.Models, " or ")),
		noRoom:  fmt.Errorf("the free parts of the GPUs do not add up to %s", d),
	}
	for _, name := range slices.Sorted(maps.Keys(selector)) {
		w.labels = append(w.labels, label{
			name:    name,
			value:   selector[name],
			refusal: fmt.Errorf("the node is not labelled %s=%s", name, selector[name]),
		})
		w.class += fmt.Sprintf(", %s=%s", name, selector[name])
	}
	return w
}

// A deviceTable is what is free of each device of a node, in thousandths.
//
//	0 <= free <= deviceMilli
type deviceTable struct {
	model string
	free  []int64
}

func newDeviceTable(d Devices) deviceTable {
	t := deviceTable{model: d.Model, free: make([]int64, d.Count)}
	for i := range t.free {
		t.free[i] = deviceMilli
	}
	return t
}

func (t *deviceTable) clone() deviceTable {
	return deviceTable{model: t.model, free: slices.Clone(t.free)}
}

// never says why the demand can never be met, whatever ends there, or nil.
func (t *deviceTable) never(w *wants) error {
	switch {
	case w.demand.Count == 0:
		return nil
	case len(w.demand.Models) > 0 && !slices.Contains(w.demand.Models, t.model):
		return w.noModel
	case w.demand.Count > len(t.free):
		return w.noRoom
	}
	return nil
}

// check says why the demand cannot be met now, or nil.
func (t *deviceTable) check(w *wants) error {
	if w.demand.Count == 0 {
		return nil
	}
	if err := t.never(w); err != nil {
		return err
	}
	fit := 0
	for _, free := range t.free {
		if free >= w.demand.Milli {
			fit++
		}
	}
	if fit < w.demand.Count {
		return w.noRoom
	}
	return nil
}

// take books a demand that check allows and returns the devices: the fullest
// that still fit, so that whole ones stay whole.
func (t *deviceTable) take(d Demand) []int {
	if d.Count == 0 {
		return nil
	}
	order := make([]int, 0, len(t.free))
	for i, free := range t.free {
		if free >= d.Milli {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(t.free[a] - t.free[b]) })
	taken := order[:d.Count]
	for _, i := range taken {
		t.free[i] -= d.Milli
	}
	return taken
}

// give returns what take booked.
func (t *deviceTable) give(d Demand, taken []int) {
	for _, i := range taken {
		t.free[i] += d.Milli
	}
}
