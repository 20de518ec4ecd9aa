package core

import (
	"errors"
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Reasons why amounts in a message are refused.
var (
	ErrNoResources       = errors.New("contains no resources")
	ErrNegativeResources = errors.New("contains negative resources")
)

// AmountsOf reads the resources of a message. Zero quantities are left out. The error
// is that of kinds.Intern for an empty name or too many kinds, or wraps
// ErrNegativeResources and names the first kind by name that is negative.
func AmountsOf(kinds *resources.Kinds, r *si.Resource) (resources.Amounts, error) {
	var amounts resources.Amounts
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
		kind, err := kinds.Intern(name)
		if err != nil {
			return nil, err
		}
		amounts.Set(kind, value)
	}
	if negative != "" {
		return nil, fmt.Errorf("%w: %s=%d", ErrNegativeResources, negative, r.Resources[negative].GetValue())
	}
	return amounts, nil
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
