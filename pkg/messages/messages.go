// Package messages reads amounts from messages of the scheduler-interface, and writes them.
package messages

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Reasons why amounts in a message are refused.
var (
	ErrNoResources = errors.New("contains no resources")

	errNegative     = errors.New("contains negative resources")
	errManyUnknown  = fmt.Errorf("names more than %d resource kinds that are not known", unknownMax)
	errReservedKind = fmt.Errorf("%q is no name of a resource kind", resources.UnknownKind)
)

// unknownMax is how many kinds one allocation may name that are not known.
const unknownMax = 16

// AmountsOf reads the resources of a message that makes kinds known, such as the capacity
// of a node. Zero quantities are left out. The error is that of kinds.Intern for a name
// or too many kinds, or names the first kind by name that is negative.
func AmountsOf(kinds *resources.Kinds, r *si.Resource) (resources.Amounts, error) {
	amounts, unknown, err := read(kinds, r, nil)
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		kind, unable := kinds.Intern(name)
		if unable != nil {
			return nil, unable
		}
		amounts.Set(kind, unknown[name])
	}
	return amounts, err
}

// WantedOf reads the resources of an allocation, which makes no kinds known. Amounts hold
// the sum of those that are not known as resources.UnknownKind, in the memory of into if that
// is long enough. The error is as that of AmountsOf, or says that the message names too many
// of those.
func WantedOf(kinds *resources.Kinds, r *si.Resource, into resources.Amounts) (amounts resources.Amounts, unknown map[string]int64, err error) {
	amounts, unknown, err = read(kinds, r, into)
	if err == nil && len(unknown) > unknownMax {
		err = errManyUnknown
	}
	if err != nil || unknown == nil {
		return amounts, unknown, err
	}
	kind, err := kinds.Intern(resources.UnknownKind)
	if err == nil {
		amounts.Set(kind, resources.Total(slices.Collect(maps.Values(unknown))...))
	}
	return amounts, unknown, err
}

// read reads the resources of a message into amounts, and apart those of kinds that are not
// known.
func read(kinds *resources.Kinds, r *si.Resource, into resources.Amounts) (amounts resources.Amounts, unknown map[string]int64, err error) {
	amounts = into[:0]
	negative := ""
	for name, quantity := range r.GetResources() {
		value := quantity.GetValue()
		if value < 0 {
			if negative == "" || name < negative {
				negative = name
			}
			continue
		}
		if value == 0 {
			continue
		}
		if name == resources.UnknownKind {
			return nil, nil, errReservedKind
		}
		if kind, ok := kinds.Lookup(name); ok {
			amounts.Set(kind, value)
			continue
		}
		if err := resources.CheckName(name); err != nil {
			return nil, nil, err
		}
		if unknown == nil {
			unknown = map[string]int64{}
		}
		unknown[name] = value
	}
	if negative != "" {
		return nil, nil, fmt.Errorf("%w: %s=%d", errNegative, negative, r.Resources[negative].GetValue())
	}
	return amounts, unknown, nil
}

// ResourceOf is amounts as a message, with the names of kinds; zeros are left out.
func ResourceOf(kinds *resources.Kinds, amounts resources.Amounts) *si.Resource {
	r := &si.Resource{Resources: make(map[string]*si.Quantity, len(amounts))}
	for i, v := range amounts {
		if v != 0 {
			r.Resources[kinds.Name(resources.Kind(i))] = &si.Quantity{Value: v}
		}
	}
	return r
}
