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
	"unsafe"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A shape is how the objects of one Go type are written: its fields in order.
type shape struct{ fields []field }

// A field is one member of an object.
type field struct {
	name   string
	key    string // with quotes and colon
	offset uintptr
	empty  func(unsafe.Pointer) bool // when it is left out; nil is never
	write  write
}

// write writes the value at an address, which is of the type it was made for. It does
// not come as a reflect.Value, since a list of all allocations has millions of them.
type write func(*encoder, unsafe.Pointer)

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
		out := field{name: name, key: `"` + name + `":`, offset: f.Offset, write: encoderOf(f.Type)}
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

// encode writes the object at an address.
func (s *shape) encode(e *encoder, at unsafe.Pointer) {
	e.open('{')
	for i := range s.fields {
		f := &s.fields[i]
		inner := unsafe.Add(at, f.offset)
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
		return func(e *encoder, at unsafe.Pointer) { e.time(*(*time.Time)(at)) }
	case t == amountsType:
		return func(e *encoder, at unsafe.Pointer) { e.amounts(*(*resources.Amounts)(at)) }
	case t == limitsType:
		return func(e *encoder, at unsafe.Pointer) { e.limits(*(*resources.Limits)(at)) }
	case t == textsType:
		return func(e *encoder, at unsafe.Pointer) { e.texts(*(*map[string]string)(at)) }
	case t == numberType:
		return func(e *encoder, at unsafe.Pointer) { e.raw(cmp.Or(*(*string)(at), "0")) }
	case t.Implements(sequenceType):
		return func(e *encoder, at unsafe.Pointer) { writeSequence(e, reflect.NewAt(t, at).Elem()) }
	}
	switch t.Kind() {
	case reflect.String:
		return func(e *encoder, at unsafe.Pointer) { e.text(*(*string)(at)) }
	case reflect.Bool:
		return func(e *encoder, at unsafe.Pointer) { e.truth(*(*bool)(at)) }
	case reflect.Int:
		return func(e *encoder, at unsafe.Pointer) { e.integer(int64(*(*int)(at))) }
	case reflect.Int64:
		return func(e *encoder, at unsafe.Pointer) { e.integer(*(*int64)(at)) }
	case reflect.Int32:
		return func(e *encoder, at unsafe.Pointer) { e.integer(int64(*(*int32)(at))) }
	case reflect.Uint64:
		return func(e *encoder, at unsafe.Pointer) { e.buffer = strconv.AppendUint(e.buffer, *(*uint64)(at), 10) }
	case reflect.Struct:
		return func(e *encoder, at unsafe.Pointer) { shapeOf(t).encode(e, at) }
	case reflect.Pointer:
		return func(e *encoder, at unsafe.Pointer) { writePointer(e, *(*unsafe.Pointer)(at), t.Elem()) }
	case reflect.Slice:
		return func(e *encoder, at unsafe.Pointer) { writeSlice(e, reflect.NewAt(t, at).Elem()) }
	case reflect.Map:
		return func(e *encoder, at unsafe.Pointer) { writeMap(e, reflect.NewAt(t, at).Elem()) }
	case reflect.Interface:
		return func(e *encoder, at unsafe.Pointer) { e.value(reflect.NewAt(t, at).Elem().Interface()) }
	default:
		panic("webservice: cannot write " + t.String())
	}
}

// addressOf is where a value is, or a copy of it that has an address.
func addressOf(v reflect.Value) unsafe.Pointer {
	if !v.CanAddr() {
		copied := reflect.New(v.Type())
		copied.Elem().Set(v)
		v = copied.Elem()
	}
	return v.Addr().UnsafePointer()
}

// writePointer writes what is pointed to, of a type.
func writePointer(e *encoder, to unsafe.Pointer, t reflect.Type) {
	if to == nil {
		e.raw("null")
		return
	}
	encoderOf(t)(e, to)
}

// writeSlice writes a list. A nil one is empty, not null: nobody has to tell
// nothing from none.
func writeSlice(e *encoder, v reflect.Value) {
	element := encoderOf(v.Type().Elem())
	e.open('[')
	for i := range v.Len() {
		e.next()
		element(e, addressOf(v.Index(i)))
		e.spare()
	}
	e.close(']')
}

func writeMap(e *encoder, v reflect.Value) {
	element := encoderOf(v.Type().Elem())
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	e.open('{')
	for _, key := range keys {
		e.key(string(appendText(nil, key.String())) + ":")
		element(e, addressOf(v.MapIndex(key)))
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
	return func(e *encoder, at unsafe.Pointer) {
		e.raw(`"`)
		number(e, at)
		e.raw(`"`)
	}
}

// emptyOf says which values of a type are left out.
func emptyOf(t reflect.Type) func(unsafe.Pointer) bool {
	switch {
	case t == timeType:
		return func(at unsafe.Pointer) bool { return (*time.Time)(at).IsZero() }
	case t == amountsType:
		return func(at unsafe.Pointer) bool { return (*resources.Amounts)(at).IsZero() }
	case t == limitsType:
		return func(at unsafe.Pointer) bool {
			return !slices.ContainsFunc(*(*resources.Limits)(at), func(l int64) bool { return l != resources.Unlimited })
		}
	case t.Implements(sequenceType):
		return func(at unsafe.Pointer) bool {
			v := reflect.NewAt(t, at).Elem()
			return v.IsNil() || v.Interface().(sequence).length() == 0
		}
	}
	switch t.Kind() {
	case reflect.String:
		return func(at unsafe.Pointer) bool { return *(*string)(at) == "" }
	case reflect.Bool:
		return func(at unsafe.Pointer) bool { return !*(*bool)(at) }
	case reflect.Slice, reflect.Map:
		return func(at unsafe.Pointer) bool { return reflect.NewAt(t, at).Elem().Len() == 0 }
	default:
		return func(at unsafe.Pointer) bool { return reflect.NewAt(t, at).Elem().IsZero() }
	}
}
