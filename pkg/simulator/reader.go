package simulator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A reader turns YAML nodes into values and collects everything that is wrong
// with them. Its methods leave a value alone that they cannot read.
type reader struct {
	kinds    *resources.Kinds
	problems Problems
	values   int // read so far, those that aliases repeat each time
}

// valuesMax is the most values of a scenario. It bounds what a few lines with
// aliases of aliases can cost.
const valuesMax = 2_000_000

// A field reads the value of one key.
type field func(n *yaml.Node, key string)

func (r *reader) complain(n *yaml.Node, key, format string, args ...any) {
	r.problems = append(r.problems, Problem{Line: n.Line, Key: key, Text: fmt.Sprintf(format, args...)})
}

// follow replaces an alias by what it stands for.
func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// mapping reads each key with its field. Keys without a field and keys that
// come twice are problems, and so are missing ones.
func (r *reader) mapping(n *yaml.Node, key string, fields map[string]field, required ...string) {
	n = follow(n)
	if n.Kind != yaml.MappingNode {
		r.complain(n, key, "must be a mapping with some of the keys %s", keysOf(fields))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		at := below(key, name)
		read, known := fields[name]
		switch {
		case !known:
			r.complain(n.Content[i], at, "is not known here; known are %s", keysOf(fields))
		case seen[name]:
			r.complain(n.Content[i], at, "stands here twice")
		default:
			read(follow(n.Content[i+1]), at)
		}
		seen[name] = true
	}
	for _, name := range required {
		if !seen[name] {
			r.complain(n, below(key, name), "is missing")
		}
	}
}

func keysOf(fields map[string]field) string {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func below(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

// items reads a list, up to listMax long.
func (r *reader) items(each field) field {
	return func(n *yaml.Node, key string) {
		switch {
		case n.Kind != yaml.SequenceNode:
			r.complain(n, key, "must be a list")
		case len(n.Content) > listMax:
			r.complain(n, key, "has %d entries, more than %d", len(n.Content), listMax)
		default:
			for i, item := range n.Content {
				each(follow(item), fmt.Sprintf("%s[%d]", key, i))
			}
		}
	}
}

// scalar reads a value with parse.
func scalar[T any](r *reader, into *T, parse func(string) (T, error)) field {
	return func(n *yaml.Node, key string) {
		if r.values++; r.values >= valuesMax {
			if r.values == valuesMax {
				r.complain(n, key, "the scenario has more than %d values", valuesMax)
			}
			return
		}
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
			r.complain(n, key, "must be a single value")
			return
		}
		value, err := parse(n.Value)
		if err != nil {
			r.complain(n, key, "%v", err)
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

func (r *reader) time(into *time.Duration) field { return scalar(r, into, parseTime) }
func (r *reader) span(into *Span) field          { return scalar(r, into, ParseSpan) }
func (r *reader) chance(into *Chance) field      { return scalar(r, into, parseChance) }

func (r *reader) count(into *Count, most int) field {
	return scalar(r, into, func(s string) (Count, error) { return parseCount(s, most) })
}

// texts reads a list of texts.
func texts[T ~string](r *reader, into *[]T) field {
	return r.items(func(n *yaml.Node, key string) {
		var one T
		text(r, &one)(n, key)
		if one != "" {
			*into = append(*into, one)
		}
	})
}

// labels reads a mapping of texts.
func (r *reader) labels(into *map[string]string) field {
	return func(n *yaml.Node, key string) {
		if n.Kind != yaml.MappingNode {
			r.complain(n, key, "must be a mapping of texts")
			return
		}
		labels := make(map[string]string, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			var value string
			text(r, &value)(follow(n.Content[i+1]), below(key, n.Content[i].Value))
			labels[n.Content[i].Value] = value
		}
		*into = labels
	}
}

// amounts reads quantities by kind. The kind gpu is not among them: it comes
// from devices.
func (r *reader) amounts(into *resources.Amounts) field {
	return func(n *yaml.Node, key string) {
		if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
			r.complain(n, key, "must be a mapping of quantities such as vcore: 500m")
			return
		}
		amounts := resources.Amounts{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			name, value := n.Content[i].Value, follow(n.Content[i+1])
			at := below(key, name)
			if name == gpuKind {
				r.complain(n.Content[i], at, "is counted by device; write gpus: {count: 2} beside %s", key[strings.LastIndexByte(key, '.')+1:])
				continue
			}
			quantity := int64(0)
			scalar(r, &quantity, func(s string) (int64, error) { return resources.ParseQuantity(name, s) })(value, at)
			kind, err := r.kinds.Intern(name)
			if err != nil {
				r.complain(n.Content[i], at, "%v", err)
				continue
			}
			amounts.Set(kind, quantity)
		}
		*into = amounts
	}
}
