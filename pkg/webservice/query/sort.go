package query

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
)

// An order is what the parameter sort asks for: a field of the elements of a list and,
// of quantities, a kind. The zero value leaves a list as it is.
type order struct {
	name  string // empty if none is asked for
	field int    // of the struct
	kind  string
	down  bool // the greatest first
}

// A sortKey is what elements are compared by: a number or a text.
type sortKey struct {
	number int64
	text   string
}

func (k sortKey) compare(other sortKey) int {
	return cmp.Or(cmp.Compare(k.number, other.number), strings.Compare(k.text, other.text))
}

// The types of fields with a quantity for each kind, or a count for each word.
var byName = []reflect.Type{
	reflect.TypeFor[resources.Amounts](), reflect.TypeFor[resources.Limits](), reflect.TypeFor[encoder.Quantities](), reflect.TypeFor[map[string]int](),
}

// sort is the order that the query asks for of a list of structs.
func (p Parameters) sort(of reflect.Type) (order, error) {
	value, given, err := p.One("sort")
	if err != nil || !given {
		return order{}, err
	}
	name, down := strings.CutPrefix(value, "-")
	name, kind, dotted := strings.Cut(name, ".")
	at := slices.Index(encoder.FieldsOf(of), name)
	if at < 0 {
		return order{}, failure.Bad("Parameter sort names %.40q, which is no field; there are: %s", name, strings.Join(encoder.FieldsOf(of), ", "))
	}
	at = exported(of)[at]
	field := of.Field(at).Type
	switch {
	case !sortable(field):
		return order{}, failure.Bad("Parameter sort is %.40q: there is no order of that field", value)
	case slices.Contains(byName, field) != (dotted && kind != ""):
		return order{}, failure.Bad("Parameter sort is %.40q: a kind after a dot is needed for quantities, as in allocated.vcore, and for nothing else", value)
	}
	return order{name: name, field: at, kind: kind, down: down}, nil
}

// exported is the indexes of the fields that are written, in the order of fieldsOf.
func exported(of reflect.Type) (out []int) {
	for i := range of.NumField() {
		if of.Field(i).IsExported() {
			out = append(out, i)
		}
	}
	return out
}

// sortable reports whether values of a type have an order. Lists are compared by how
// long they are.
func sortable(t reflect.Type) bool {
	if slices.Contains(byName, t) || t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[*int64]() || t.Implements(reflect.TypeFor[encoder.List]()) {
		return true
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Slice:
		return true
	default:
		return reflect.Int <= t.Kind() && t.Kind() <= reflect.Uint64
	}
}

// key is what an element is compared by. What is unlimited comes after all that is not.
func (o order) key(element reflect.Value, kinds *resources.Kinds) sortKey {
	value := element.Field(o.field)
	switch of := value.Interface().(type) {
	case resources.Amounts:
		kind, _ := kinds.Lookup(o.kind)
		return sortKey{number: of.Of(kind)}
	case resources.Limits:
		kind, _ := kinds.Lookup(o.kind)
		return sortKey{number: of.Of(kind)}
	case encoder.Quantities:
		return sortKey{number: of[o.kind]}
	case map[string]int:
		return sortKey{number: int64(of[o.kind])}
	case time.Time:
		if of.IsZero() {
			return sortKey{number: math.MinInt64}
		}
		return sortKey{number: of.UnixNano()}
	case *int64: // none comes before all
		if of == nil {
			return sortKey{number: math.MinInt64}
		}
		return sortKey{number: *of}
	case encoder.List:
		return sortKey{number: int64(of.Length())}
	}
	switch value.Kind() {
	case reflect.String:
		return sortKey{text: value.String()}
	case reflect.Bool:
		if value.Bool() {
			return sortKey{number: 1}
		}
		return sortKey{}
	case reflect.Slice:
		return sortKey{number: int64(value.Len())}
	}
	if value.CanUint() {
		return sortKey{number: int64(min(value.Uint(), math.MaxInt64))}
	}
	return sortKey{number: value.Int()}
}

// Sort is values in the order that a page asks for of what fill makes of them. Those that
// are alike stay in the order that they have.
func Sort[S, T any](page *Selection, kinds *resources.Kinds, all []S, fill func(S, *T)) ([]S, error) {
	o := page.order
	if o.name == "" {
		return all, nil
	}
	if t := reflect.TypeFor[T]().Field(o.field).Type; t == reflect.TypeFor[resources.Amounts]() || t == reflect.TypeFor[resources.Limits]() {
		if _, known := kinds.Lookup(o.kind); !known {
			return nil, failure.Bad("Parameter sort names the kind %.40q, which there is not", o.kind)
		}
	}
	type keyed struct {
		sortKey
		value S
	}
	keys := make([]keyed, len(all))
	for i, one := range all {
		var element T
		fill(one, &element)
		keys[i] = keyed{o.key(reflect.ValueOf(&element).Elem(), kinds), one}
	}
	slices.SortStableFunc(keys, func(a, b keyed) int {
		if o.down {
			a, b = b, a
		}
		return a.compare(b.sortKey)
	})
	out := make([]S, len(all))
	for i := range keys {
		out[i] = keys[i].value
	}
	return out, nil
}
