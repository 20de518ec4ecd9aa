package utilization

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// A Percentage is in thousandths of a percent. It is written as a number of percent.
type Percentage int64

// full is all that there is.
const full Percentage = 100_000

// errNoPercentage says what belongs where something else stands.
var errNoPercentage = errors.New("must be a number of percent such as 20")

// UnmarshalJSON reads a number without a loss; more than three decimals are cut off.
func (p *Percentage) UnmarshalJSON(text []byte) error {
	// An exponent could ask for a number that fills the memory.
	var number json.Number
	if json.Unmarshal(text, &number) != nil || strings.ContainsAny(number.String(), "eE") || len(number) > 32 {
		return errNoPercentage
	}
	value, ok := new(big.Rat).SetString(number.String())
	if !ok {
		return errNoPercentage
	}
	value.Mul(value, big.NewRat(1000, 1))
	whole := new(big.Int).Quo(value.Num(), value.Denom())
	if !whole.IsInt64() {
		return errNoPercentage
	}
	*p = Percentage(whole.Int64())
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (p Percentage) MarshalJSON() ([]byte, error) { return []byte(p.String()), nil }

// String is such as 20 or 20.5.
func (p Percentage) String() string {
	sign, n := "", int64(p)
	if n < 0 {
		sign, n = "-", -n
	}
	text := sign + strconv.FormatInt(n/1000, 10)
	if rest := n % 1000; rest != 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%03d", rest), "0")
	}
	return text
}

// Thresholds are percentages by resource.
type Thresholds map[v1.ResourceName]Percentage

// names are the resources in alphabetical order.
func (t Thresholds) names() []v1.ResourceName { return slices.Sorted(maps.Keys(t)) }

// validate says what is no percentage.
func (t Thresholds) validate(what string) []error {
	var errs []error
	for _, name := range t.names() {
		if !isResource(name) {
			errs = append(errs, fmt.Errorf("%s.%s: is no resource of nodes, %s", what, name, yamltree.Instead(string(name), resources)))
		}
		if t[name] < 0 || t[name] > full {
			errs = append(errs, fmt.Errorf("%s.%s: must be from 0 to 100, not %s", what, name, t[name]))
		}
	}
	return errs
}

// resources are those of nodes whose names have no domain.
var resources = []string{string(v1.ResourceCPU), string(v1.ResourceMemory), string(v1.ResourcePods), string(v1.ResourceEphemeralStorage)}

// isResource says whether nodes can have a resource, or a query answers with it.
func isResource(name v1.ResourceName) bool {
	return slices.Contains(resources, string(name)) || name == framework.MetricResource || strings.Contains(string(name), "/") ||
		strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}

// notAbove says for which resources low is above high, or one of them is missing.
func notAbove(low, high Thresholds, what [2]string, deviations bool) []error {
	var errs []error
	for _, name := range low.names() {
		switch upper, ok := high[name]; {
		case !ok:
			errs = append(errs, fmt.Errorf("%s: %s is missing, which %s has", what[1], name, what[0]))
		case !deviations && low[name] > upper:
			errs = append(errs, fmt.Errorf("%s.%s: must not be above %s.%s, which is %s, and is %s", what[0], name, what[1], name, upper, low[name]))
		}
	}
	for _, name := range high.names() {
		if _, ok := low[name]; !ok {
			errs = append(errs, fmt.Errorf("%s: %s is missing, which %s has", what[0], name, what[1]))
		}
	}
	return errs
}

// above says whether used is more than a part of all. It is exact for any amounts.
func above(used, all int64, part Percentage) bool {
	if used <= 0 {
		return false
	}
	if part < 0 || all < 0 {
		return true
	}
	usedHigh, usedLow := bits.Mul64(uint64(used), uint64(full))
	partHigh, partLow := bits.Mul64(uint64(all), uint64(part))
	return usedHigh > partHigh || usedHigh == partHigh && usedLow > partLow
}

// shareOf is the part that used is of all, rounded down or up, at most a million times
// all of it. Where there is nothing, nothing used is none of it and anything is all.
func shareOf(used, all int64, up bool) Percentage {
	const most = full * 1_000_000
	switch {
	case used <= 0:
		return 0
	case all <= 0:
		return full
	}
	high, low := bits.Mul64(uint64(used), uint64(full))
	if high >= uint64(all) {
		return most
	}
	quotient, rest := bits.Div64(high, low, uint64(all))
	if up && rest > 0 {
		quotient++
	}
	return Percentage(min(quotient, uint64(most)))
}
