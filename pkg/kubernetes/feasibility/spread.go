package feasibility

import (
	"math"
	"reflect"

	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// spreadState is the key under which the plugin keeps what its PreFilter found out.
const spreadState = "PreFilter" + names.PodTopologySpread

// repairSpread corrects which domains of spread constraints have the fewest pods. The plugin
// keeps how many pods each domain has, and the two domains with the fewest. Its extensions are
// made for changes of one node: after changes of several, the counts are right, but one of
// the two may be a domain with more pods than a third. So the two are looked for again. The
// type of the state is not exported, its fields are; if they are others in a later version, it
// reports false, and nothing is kept for pods with spread constraints.
func repairSpread(p *preparation) bool {
	if p.skips(names.PodTopologySpread) {
		return true
	}
	data, err := p.state.Read(spreadState)
	if err != nil {
		return false
	}
	state := reflect.Indirect(reflect.ValueOf(data))
	if state.Kind() != reflect.Struct {
		return false
	}
	counts, ok := valueOf[[]map[string]int](state.FieldByName("TpValueToMatchNum"))
	least := state.FieldByName("CriticalPaths")
	if !ok || least.Kind() != reflect.Slice || least.Len() != len(counts) {
		return false
	}
	for i := range counts {
		if !setLeast(least.Index(i), counts[i]) {
			return false
		}
	}
	return true
}

// valueOf is the value of a field, if there is one of that type.
func valueOf[T any](field reflect.Value) (value T, ok bool) {
	if field.IsValid() && field.CanInterface() {
		value, ok = reflect.TypeAssert[T](field)
	}
	return value, ok
}

// setLeast sets the two domains with the fewest pods; which of some that have equally many
// decides nothing.
func setLeast(paths reflect.Value, counts map[string]int) bool {
	type domain struct {
		name string
		pods int
	}
	first, second := domain{pods: math.MaxInt32}, domain{pods: math.MaxInt32}
	for name, pods := range counts {
		switch {
		case pods < first.pods:
			first, second = domain{name, pods}, first
		case pods < second.pods:
			second = domain{name, pods}
		}
	}
	two := reflect.Indirect(paths)
	if two.Kind() != reflect.Array || two.Len() != 2 {
		return false
	}
	for i, one := range []domain{first, second} {
		if two.Index(i).Kind() != reflect.Struct {
			return false
		}
		name, pods := two.Index(i).FieldByName("TopologyValue"), two.Index(i).FieldByName("MatchNum")
		if !name.CanSet() || !pods.CanSet() || name.Kind() != reflect.String || pods.Kind() != reflect.Int {
			return false
		}
		name.SetString(one.name)
		pods.SetInt(int64(one.pods))
	}
	return true
}
