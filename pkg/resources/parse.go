package resources

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// ErrQuantity is wrapped by every error about a quantity that cannot be read.
var ErrQuantity = errors.New("not a quantity")

// quantityPattern is a number without sign, an optional fraction, an optional
// suffix.
var quantityPattern = regexp.MustCompile(`^([0-9]{1,40}(?:\.[0-9]{1,40})?)\s*([a-zA-Z]*)$`)

// scales are the suffixes of a quantity. Those with an i are powers of 1024.
var scales = map[string]*big.Rat{
	"":  big.NewRat(1, 1),
	"k": big.NewRat(1e3, 1), "Ki": big.NewRat(1<<10, 1),
	"M": big.NewRat(1e6, 1), "Mi": big.NewRat(1<<20, 1),
	"G": big.NewRat(1e9, 1), "Gi": big.NewRat(1<<30, 1),
	"T": big.NewRat(1e12, 1), "Ti": big.NewRat(1<<40, 1),
	"P": big.NewRat(1e15, 1), "Pi": big.NewRat(1<<50, 1),
	"E": big.NewRat(1e18, 1), "Ei": big.NewRat(1<<60, 1),
}

// ParseQuantity reads a quantity of a kind as people write it: 10, 500m, 10Gi,
// 1.5Gi. Of vcore a plain number means cores and the result is in thousandths;
// only vcore knows the suffix m. The value must come out whole and fit an
// int64. The error says what is wrong and wraps ErrQuantity; the caller says
// where it stands.
func ParseQuantity(kind, text string) (int64, error) {
	trimmed := strings.TrimSpace(text)
	if strings.HasPrefix(trimmed, "-") {
		return 0, fmt.Errorf("%w: %q is negative", ErrQuantity, text)
	}
	parts := quantityPattern.FindStringSubmatch(trimmed)
	if parts == nil {
		return 0, fmt.Errorf("%w: %q; write a number such as 10, 1.5 or 10Gi", ErrQuantity, text)
	}
	value, ok := new(big.Rat).SetString(parts[1])
	if !ok {
		return 0, fmt.Errorf("%w: %q", ErrQuantity, text)
	}
	scale, err := scaleOf(kind, parts[2])
	if err != nil {
		return 0, fmt.Errorf("%w: %q %w", ErrQuantity, text, err)
	}
	value.Mul(value, scale)
	switch {
	case !value.IsInt():
		return 0, fmt.Errorf("%w: %q is not a whole number of %s", ErrQuantity, text, unit(kind))
	case !value.Num().IsInt64() || value.Num().Int64() == Unlimited:
		return 0, fmt.Errorf("%w: %q is larger than 64 bits hold", ErrQuantity, text)
	}
	return value.Num().Int64(), nil
}

func scaleOf(kind, suffix string) (*big.Rat, error) {
	if suffix == "m" {
		if kind != VCore {
			return nil, fmt.Errorf("has the suffix m, which only %s knows", VCore)
		}
		return big.NewRat(1, 1), nil
	}
	scale, ok := scales[suffix]
	if !ok {
		return nil, fmt.Errorf("has the unknown suffix %q; known are m, k, M, G, T, P, E and Ki, Mi, Gi, Ti, Pi, Ei", suffix)
	}
	if kind == VCore {
		scale = new(big.Rat).Mul(scale, big.NewRat(1000, 1))
	}
	return scale, nil
}

func unit(kind string) string {
	switch kind {
	case VCore:
		return "thousandths of a core"
	case Memory:
		return "bytes"
	default:
		return "units"
	}
}
