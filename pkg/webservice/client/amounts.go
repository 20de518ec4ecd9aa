package client

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// rank is the order in which kinds are shown: CPU, memory, devices and others, pods.
func rank(kind string) int {
	switch kind {
	case "vcore":
		return 0
	case "memory":
		return 1
	case "pods":
		return 3
	default:
		return 2
	}
}

// String writes amounts as people do: "cpu=2.5 memory=3Gi nvidia.com/gpu=1 pods=4". What is
// zero is left out; nothing at all is a dash.
func (a Amounts) String() string {
	return a.write(func(kind string) bool { return a[kind] != 0 })
}

// limits are amounts of which zero says something.
func (a Amounts) limits() string {
	return a.write(func(string) bool { return true })
}

// write writes the amounts of the kinds that are shown.
func (a Amounts) write(shown func(kind string) bool) string {
	var words []string
	for _, kind := range slices.SortedFunc(maps.Keys(a), compareKinds) {
		if shown(kind) {
			words = append(words, label(kind)+"="+Quantity(kind, a[kind]))
		}
	}
	return orDash(strings.Join(words, " "))
}

// compareKinds is the order in which kinds are shown.
func compareKinds(a, b string) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}

// label is the name of a kind in Kubernetes.
func label(kind string) string {
	if kind == "vcore" {
		return "cpu"
	}
	return kind
}

// Quantity writes an amount of a kind: CPU in cores, and bytes with the unit that leaves
// less than 1,024 of them, rounded to a tenth.
func Quantity(kind string, quantity int64) string {
	switch {
	case kind == "vcore":
		return strconv.FormatFloat(float64(quantity)/1000, 'f', -1, 64)
	case !inBytes(kind):
		return strconv.FormatInt(quantity, 10)
	}
	value, units := float64(quantity), []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
	at := 0
	for value >= 1024 && at < len(units)-1 || value <= -1024 && at < len(units)-1 {
		value /= 1024
		at++
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + units[at]
}

func inBytes(kind string) bool {
	return kind == "memory" || kind == "ephemeral-storage" || strings.HasPrefix(kind, "hugepages-")
}

// percent is how much of a capacity is in use.
func percent(used, capacity int64) string {
	if capacity <= 0 {
		return "-"
	}
	return fmt.Sprintf("%d%%", int64(float64(used)*100/float64(capacity)+0.5))
}
