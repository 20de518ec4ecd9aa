package resources

import (
	"cmp"
	"strconv"
	"strings"
)

// InBytes reports whether a kind is counted in bytes, as Kubernetes counts it.
func InBytes(kind string) bool {
	return kind == Memory || kind == "ephemeral-storage" || strings.HasPrefix(kind, "hugepages-")
}

// IsDevice reports whether a kind is that of devices: neither cores nor bytes nor pods.
func IsDevice(kind string) bool {
	return kind != VCore && kind != "pods" && kind != UnknownKind && !InBytes(kind)
}

// InThousandths reports whether a kind is counted in thousandths: cores, and the devices
// of the simulator, of which a pod may have a part. Devices of Kubernetes have a domain
// in their name and are whole.
func InThousandths(kind string) bool { return kind == VCore || kind == "gpu" }

// CompareKinds is the order in which kinds are shown: cores, memory, devices, what else
// is counted in bytes, and pods.
func CompareKinds(a, b string) int {
	return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), strings.Compare(a, b))
}

func rankOf(kind string) int {
	switch {
	case kind == VCore:
		return 0
	case kind == Memory:
		return 1
	case kind == "pods":
		return 4
	case InBytes(kind):
		return 3
	default:
		return 2
	}
}

// Thousandths writes thousandths as a decimal number, with no more digits than it needs.
func Thousandths(quantity int64) string {
	text := strconv.FormatInt(quantity/1000, 10)
	rest := quantity % 1000
	if rest == 0 {
		return text
	}
	if rest < 0 {
		rest = -rest
		if quantity > -1000 {
			text = "-0"
		}
	}
	digits := strconv.FormatInt(1000+rest, 10)[1:]
	return text + "." + strings.TrimRight(digits, "0")
}

// WholeBytes writes bytes in the largest unit of which they are a whole number.
func WholeBytes(quantity int64) string {
	for _, unit := range []struct {
		name string
		of   int64
	}{{"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}} {
		if quantity%unit.of == 0 {
			return strconv.FormatInt(quantity/unit.of, 10) + unit.name
		}
	}
	return strconv.FormatInt(quantity, 10)
}
