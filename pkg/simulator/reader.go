package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A reader turns the values of a text into those of a scenario and collects
// everything that is wrong with them. Its methods leave a value alone that they
// cannot read.
type reader struct {
	kinds    *resources.Kinds
	problems Problems
	gaveUp   bool // there were too many values: what is reported after that is noise
}

// valuesMax is the most values of a scenario. It bounds what a few lines with
// aliases of aliases can cost.
const valuesMax = 2_000_000

// A field reads the value of one key.
type field func(yamltree.Value)

func (r *reader) complain(v yamltree.Value, format string, args ...any) {
	r.add(Problem{Line: v.Line, Key: v.Path, Text: fmt.Sprintf(format, args...)})
}

func (r *reader) add(problems ...Problem) {
	if !r.gaveUp {
		r.problems = append(r.problems, problems...)
	}
}

// exceeded reports that there were too many values.
func (r *reader) exceeded() {
	r.add(Problem{Text: fmt.Sprintf("the scenario has more than %d values", valuesMax)})
	r.gaveUp = true
}

// mapping reads each key with its field. Keys without a field and keys that
// come twice are problems, and so are missing ones.
func (r *reader) mapping(v yamltree.Value, fields map[string]field, required ...string) {
	if !v.IsMapping() {
		r.complain(v, "must be a mapping with some of the keys %s", keysOf(fields))
		return
	}
	seen := map[string]bool{}
	for _, e := range v.Entries() {
		read, known := fields[e.Key]
		switch {
		case e.Wrong != "":
			r.complain(e.Value.AtKey(), "%s", e.Wrong)
		case !known:
			r.complain(e.Value.AtKey(), "is not known here; known are %s", keysOf(fields))
		case e.Twice > 0:
			r.complain(e.Value.AtKey(), "stands here twice")
		default:
			read(e.Value)
		}
		seen[e.Key] = true
	}
	for _, name := range required {
		if !seen[name] {
			r.complain(v.Below(name), "is missing")
		}
	}
}

func keysOf(fields map[string]field) string {
	return strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
}

// entries are the keys of a mapping that make sense; the others are problems.
func (r *reader) entries(v yamltree.Value) []yamltree.Entry {
	var entries []yamltree.Entry
	for _, e := range v.Entries() {
		switch {
		case e.Wrong != "":
			r.complain(e.Value.AtKey(), "%s", e.Wrong)
		case e.Twice > 0:
			r.complain(e.Value.AtKey(), "stands here twice")
		default:
			entries = append(entries, e)
		}
	}
	return entries
}

// items reads a list, up to listMax long.
func (r *reader) items(each field) field {
	return func(v yamltree.Value) {
		switch {
		case !v.IsList():
			r.complain(v, "must be a list")
		case len(v.Node.Content) > listMax:
			r.complain(v, "has %d entries, more than %d", len(v.Node.Content), listMax)
		default:
			for _, item := range v.Items() {
				each(item)
			}
		}
	}
}

// scalar reads a value with parse.
func scalar[T any](r *reader, into *T, parse func(string) (T, error)) field {
	return func(v yamltree.Value) {
		if !v.IsScalar() || v.IsNull() {
			r.complain(v, "must be a single value")
			return
		}
		value, err := parse(v.Node.Value)
		if err != nil {
			r.complain(v, "%v", err)
			return
		}
		*into = value
	}
}

func text[T ~string](r *reader, into *T) field {
	return scalar(r, into, func(s string) (T, error) {
		if len(s) > 1000 {
			return "", fmt.Errorf("is %d bytes long, more than 1000", len(s))
		}
		return T(s), nil
	})
}

// name reads what becomes part of the names of nodes, applications and pods.
func (r *reader) name(into *string) field {
	return scalar(r, into, func(s string) (string, error) {
		ok := s != "" && len(s) <= 100 && !strings.ContainsFunc(s, func(c rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._", c)
		})
		if !ok {
			return "", fmt.Errorf("%q is not a name: letters, digits, and - . _ between, at most 100", s)
		}
		return s, nil
	})
}

func whole[T int | int32 | int64 | uint64](r *reader, into *T, least, most T) field {
	return scalar(r, into, func(s string) (T, error) {
		var v T
		if _, err := fmt.Sscanf(s, "%d", &v); err != nil || strconv.Itoa(int(v)) != s {
			return 0, fmt.Errorf("%q is not a whole number", s)
		}
		if v < least || v > most {
			return 0, fmt.Errorf("%s is not between %d and %d", s, least, most)
		}
		return v, nil
	})
}

func (r *reader) flag(into *bool) field {
	return scalar(r, into, func(s string) (bool, error) {
		if s != "true" && s != "false" {
			return false, fmt.Errorf("%q is neither true nor false", s)
		}
		return s == "true", nil
	})
}

func (r *reader) time(into *time.Duration) field      { return scalar(r, into, parseTime) }
func (r *reader) span(into *Span) field               { return scalar(r, into, ParseSpan) }
func (r *reader) probability(into *Probability) field { return scalar(r, into, parseProbability) }

func (r *reader) count(into *Count, most int) field {
	return scalar(r, into, func(s string) (Count, error) { return parseCount(s, most) })
}

// texts reads a list of texts.
func texts[T ~string](r *reader, into *[]T) field {
	return r.items(func(v yamltree.Value) {
		var one T
		text(r, &one)(v)
		if one != "" {
			*into = append(*into, one)
		}
	})
}

// labels reads a mapping of texts.
func (r *reader) labels(into *map[string]string) field {
	return func(v yamltree.Value) {
		if !v.IsMapping() {
			r.complain(v, "must be a mapping of texts")
			return
		}
		labels := map[string]string{}
		for _, e := range r.entries(v) {
			var value string
			text(r, &value)(e.Value)
			labels[e.Key] = value
		}
		*into = labels
	}
}

// amounts reads quantities by kind. The kind gpu is not among them: it comes
// from devices.
func (r *reader) amounts(into *resources.Amounts) field {
	return func(v yamltree.Value) {
		if !v.IsMapping() || len(v.Node.Content) == 0 {
			r.complain(v, "must be a mapping of quantities such as vcore: 500m")
			return
		}
		amounts := resources.Amounts{}
		for _, e := range r.entries(v) {
			if e.Key == gpuKind {
				r.complain(e.Value.AtKey(), "is counted by device; write gpus: {count: 2} beside %s", v.Path[strings.LastIndexByte(v.Path, '.')+1:])
				continue
			}
			quantity := int64(0)
			scalar(r, &quantity, func(s string) (int64, error) { return resources.ParseQuantity(e.Key, s) })(e.Value)
			kind, err := r.kinds.Intern(e.Key)
			if err != nil {
				r.complain(e.Value.AtKey(), "%v", err)
				continue
			}
			amounts.Set(kind, quantity)
		}
		*into = amounts
	}
}

// quantities reads quantities by kind, as they stand in a quota.
func (r *reader) quantities(into *map[string]int64) field {
	return func(v yamltree.Value) {
		if !v.IsMapping() {
			r.complain(v, "must be a mapping of quantities such as vcore: 500m")
			return
		}
		*into = map[string]int64{}
		for _, e := range r.entries(v) {
			quantity := int64(0)
			scalar(r, &quantity, func(s string) (int64, error) { return resources.ParseQuantity(e.Key, s) })(e.Value)
			(*into)[e.Key] = quantity
		}
	}
}
