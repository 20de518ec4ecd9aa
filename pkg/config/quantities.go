package config

import (
	"maps"
	"slices"
	"strconv"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Quantity is an amount of one resource kind, in the unit of package
// resources, and where it stands.
type Quantity struct {
	Value int64
	place Place
}

// Quantities are amounts by kind. A kind that is there with zero is not the
// same as one that is not there.
type Quantities map[string]Quantity

// kinds lists the kinds by name.
func (q Quantities) kinds() []string { return slices.Sorted(maps.Keys(q)) }

// values are the quantities alone.
func (q Quantities) values() map[string]int64 {
	out := make(map[string]int64, len(q))
	for kind, quantity := range q {
		out[kind] = quantity.Value
	}
	return out
}

// equal reports whether both name the same kinds with the same amounts.
func (q Quantities) equal(other Quantities) bool {
	return maps.EqualFunc(q, other, func(a, b Quantity) bool { return a.Value == b.Value })
}

// kindsMax is the most kinds that are named at one place.
const kindsMax = 256

// quantities reads amounts by kind. What is wrong is left out.
func (c cursor) quantities() Quantities {
	out := Quantities{}
	c.each(func(kind string, value cursor) {
		switch {
		case kind == "", kind == resources.UnknownKind:
			value.atKey().fail("a resource kind without a name")
		case len(out) == kindsMax:
			value.atKey().fail("more than %d resource kinds", kindsMax)
		case len(kind) > quotedMax:
			value.atKey().fail("the name of a resource kind has at most %d bytes", quotedMax)
		case !value.IsScalar() || value.IsNull():
			value.fail("must be a quantity such as 10, 500m or 10Gi, not %s", value.Describe())
		case len(value.Node.Value) > quotedMax:
			value.fail("not a quantity: %s", quote(value.Node.Value))
		default:
			amount, err := resources.ParseQuantity(kind, value.Node.Value)
			if err != nil {
				value.fail("%v", err)
				return
			}
			out[kind] = Quantity{Value: amount, place: value.place}
		}
	})
	return out
}

// show prints an amount the way people write it: cores, or thousandths of one
// with an m; bytes with the largest suffix that fits exactly; anything else as
// a plain number. Reading it gives the same amount.
func show(kind string, amount int64) string {
	switch kind {
	case resources.VCore:
		if amount%1000 == 0 {
			return strconv.FormatInt(amount/1000, 10)
		}
		return strconv.FormatInt(amount, 10) + "m"
	case resources.Memory:
		suffix := ""
		for _, next := range []string{"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"} {
			if amount == 0 || amount%1024 != 0 {
				break
			}
			amount, suffix = amount/1024, next
		}
		return strconv.FormatInt(amount, 10) + suffix
	default:
		return strconv.FormatInt(amount, 10)
	}
}
