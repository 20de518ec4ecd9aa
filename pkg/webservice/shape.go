package webservice

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A shape is how the objects of one Go type are written: its fields in order.
type shape struct{ fields []field }

// A field is one member of an object.
type field struct {
	name  string
	key   string // with quotes and colon
	index int
	empty func(reflect.Value) bool // when it is left out; nil is never
	write write
}

// write writes a value of the type it was made for.
type write func(*encoder, reflect.Value)

// shapes are kept for good; there are as many as types in this package.
var shapes sync.Map // reflect.Type to *shape

func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	s := new(shape)
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		name = cmp.Or(name, f.Name)
		out := field{name: name, key: `"` + name + `":`, index: i, write: encoderOf(f.Type)}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "omitempty":
				out.empty = emptyOf(f.Type)
			case "string":
				out.write = quoted(out.write)
			}
		}
		s.fields = append(s.fields, out)
	}
	known, _ := shapes.LoadOrStore(t, s)
	return known.(*shape)
}

// only is the shape with some of its fields, in its own order.
func (s *shape) only(names []string) *shape {
	out := new(shape)
	for _, f := range s.fields {
		if slices.Contains(names, f.name) {
			out.fields = append(out.fields, f)
		}
	}
	return out
}

func (s *shape) has(name string) bool {
	return slices.ContainsFunc(s.fields, func(f field) bool { return f.name == name })
}

func (s *shape) encode(e *encoder, v reflect.Value) {
	e.open('{')
	for i := range s.fields {
		f := &s.fields[i]
		inner := v.Field(f.index)
		if f.empty != nil && f.empty(inner) {
			continue
		}
		e.key(f.key)
		f.write(e, inner)
	}
	e.close('}')
}

// The types with a meaning of their own.
var (
	timeType     = reflect.TypeFor[time.Time]()
	amountsType  = reflect.TypeFor[resources.Amounts]()
	limitsType   = reflect.TypeFor[resources.Limits]()
	textsType    = reflect.TypeFor[map[string]string]()
	numberType   = reflect.TypeFor[json.Number]()
	sequenceType = reflect.TypeFor[sequence]()
)

// encoderOf is how values of a type are written. Types that no answer has panic:
// every answer has a golden file, so that is found at once.
func encoderOf(t reflect.Type) write {
	switch {
	case t == timeType:
		return func(e *encoder, v reflect.Value) { e.time(*in[time.Time](v)) }
	case t == amountsType:
		return func(e *encoder, v reflect.Value) { e.amounts(*in[resources.Amounts](v)) }
	case t == limitsType:
		return func(e *encoder, v reflect.Value) { e.limits(*in[resources.Limits](v)) }
	case t == textsType:
		return func(e *encoder, v reflect.Value) { e.texts(*in[map[string]string](v)) }
	case t == numberType:
		return func(e *encoder, v reflect.Value) { e.raw(cmp.Or(v.String(), "0")) }
	case t.Implements(sequenceType):
		return writeSequence
	}
	switch t.Kind() {
	case reflect.String:
		return func(e *encoder, v reflect.Value) { e.text(v.String()) }
	case reflect.Bool:
		return writeBool
	case reflect.Int, reflect.Int32, reflect.Int64:
		return func(e *encoder, v reflect.Value) { e.integer(v.Int()) }
	case reflect.Uint64:
		return func(e *encoder, v reflect.Value) { e.buffer = strconv.AppendUint(e.buffer, v.Uint(), 10) }
	case reflect.Struct:
		return func(e *encoder, v reflect.Value) { shapeOf(t).encode(e, v) }
	case reflect.Pointer:
		return func(e *encoder, v reflect.Value) { writePointer(e, v, t) }
	case reflect.Slice:
		return func(e *encoder, v reflect.Value) { writeSlice(e, v, encoderOf(t.Elem())) }
	case reflect.Map:
		return func(e *encoder, v reflect.Value) { writeMap(e, v, encoderOf(t.Elem())) }
	case reflect.Interface:
		return func(e *encoder, v reflect.Value) { e.value(v.Interface()) }
	default:
		panic("webservice: cannot write " + t.String())
	}
}

// in is what a value holds, without a copy where there is an address.
func in[T any](v reflect.Value) *T {
	if v.CanAddr() {
		return v.Addr().Interface().(*T)
	}
	x := v.Interface().(T)
	return &x
}

func writeBool(e *encoder, v reflect.Value) {
	if v.Bool() {
		e.raw("true")
	} else {
		e.raw("false")
	}
}

func writePointer(e *encoder, v reflect.Value, t reflect.Type) {
	if v.IsNil() {
		e.raw("null")
		return
	}
	encoderOf(t.Elem())(e, v.Elem())
}

// writeSlice writes a list. A nil one is empty, not null: nobody has to tell
// nothing from none.
func writeSlice(e *encoder, v reflect.Value, element write) {
	e.open('[')
	for i := range v.Len() {
		e.next()
		element(e, v.Index(i))
		e.spare()
	}
	e.close(']')
}

func writeMap(e *encoder, v reflect.Value, element write) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	e.open('{')
	for _, key := range keys {
		e.key(string(appendText(nil, key.String())) + ":")
		element(e, v.MapIndex(key))
	}
	e.close('}')
}

func writeSequence(e *encoder, v reflect.Value) {
	if v.IsNil() {
		e.raw("[]")
		return
	}
	v.Interface().(sequence).encode(e, nil)
}

// quoted puts a number into quotes.
func quoted(number write) write {
	return func(e *encoder, v reflect.Value) {
		e.raw(`"`)
		number(e, v)
		e.raw(`"`)
	}
}

// emptyOf says which values of a type are left out.
func emptyOf(t reflect.Type) func(reflect.Value) bool {
	switch {
	case t == timeType:
		return func(v reflect.Value) bool { return in[time.Time](v).IsZero() }
	case t == amountsType:
		return func(v reflect.Value) bool { return in[resources.Amounts](v).IsZero() }
	case t == limitsType:
		return func(v reflect.Value) bool {
			return !slices.ContainsFunc(*in[resources.Limits](v), func(l int64) bool { return l != resources.Unlimited })
		}
	case t.Implements(sequenceType):
		return func(v reflect.Value) bool { return v.IsNil() || v.Interface().(sequence).length() == 0 }
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Map:
		return func(v reflect.Value) bool { return v.Len() == 0 }
	case reflect.String:
		return func(v reflect.Value) bool { return v.Len() == 0 }
	default:
		return reflect.Value.IsZero
	}
}
