package client

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// String writes amounts as people do: "cpu=2.5 memory=3Gi nvidia.com/gpu=1 pods=4". What is
// zero is left out; nothing at all is a dash.
func (a Amounts) String() string {
	var words []string
	for _, kind := range slices.SortedFunc(maps.Keys(a), resources.CompareKinds) {
		if a[kind] != 0 {
			words = append(words, label(kind)+"="+Quantity(kind, a[kind]))
		}
	}
	return orDash(strings.Join(words, " "))
}

// of is the part of amounts that is of some kinds.
func (a Amounts) of(kinds []string) Amounts {
	part := Amounts{}
	for _, kind := range kinds {
		part[kind] = a[kind]
	}
	return part
}

// label is the name of a kind in Kubernetes.
func label(kind string) string {
	if kind == "vcore" {
		return "cpu"
	}
	return kind
}

func labels(kinds []string) []string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = label(kind)
	}
	return names
}

// Quantity writes an amount of a kind: CPU in cores, and bytes with the unit that leaves
// less than 1,024 of them, rounded to a tenth.
func Quantity(kind string, quantity int64) string {
	switch {
	case resources.InThousandths(kind):
		return resources.Thousandths(quantity)
	case !resources.InBytes(kind):
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

// Readable writes the amounts and kinds in a text of the scheduler as tables do: "cpu=1.5
// memory=4Gi" for "vcore=1500 memory=4294967296".
func Readable(text string) string {
	return coresIn.ReplaceAllString(wording.Readable(text), "${1}cpu$2")
}

// coresIn finds the name of the kind where it is a word of its own, and not a part of another name.
var coresIn = regexp.MustCompile(`(^|[\s(,])vcore($|[\s=),.:;])`)

// percent is how much of a capacity is in use.
func percent(used, capacity int64) string {
	if capacity <= 0 {
		return "-"
	}
	return fmt.Sprintf("%d%%", int64(float64(used)*100/float64(capacity)+0.5))
}
