package image

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A form is how values of a type are kept.
type form uint8

const (
	flat    form = iota // no pointer in it: the bytes as they are
	text                // a string
	pointer             // a reference to an object
	list                // a slice: a reference to elements
	table               // a map: a reference to one
	dynamic             // an interface
	failure             // an error
	moment              // a time
	order               // a function that sorts a tree
	given               // a function that a new partition has
	scratch             // a function in memory that is used again; it is not kept
	kinds               // the table of resource kinds
	array
	structure
)

// A pattern is what a type looks like.
type pattern struct {
	of     reflect.Type
	number int // in the list of all patterns
	form   form
	size   uintptr
	elem   *pattern
	key    *pattern
	parts  []part // of a structure: what is kept, flat fields that follow each other as one
	fields []part // all fields
}

// A part is one or several fields.
type part struct {
	at, size uintptr
	pattern  *pattern // nil for flat fields
	name     string   // with that of the type, where it is one field
}

var (
	typeOfTime  = reflect.TypeFor[time.Time]()
	typeOfKinds = reflect.TypeFor[*resources.Kinds]()
	typeOfError = reflect.TypeFor[error]()
	typeOfRoot  = reflect.TypeFor[core.Partition]()
	typeOfTags  = reflect.TypeFor[map[string]string]()
	typeOfByte  = reflect.TypeFor[byte]()
	optionsType = reflect.TypeFor[api.Options]()
)

// givens are the fields with functions that a new partition has, scratches those in memory that is used again.
var (
	givens    = map[string]bool{"topology.Topology.nodes": true, "topology.Topology.used": true, "question.Refused.WithoutQuota": true}
	scratches = map[string]bool{
		"preemptor.Node.Fits": true, "preemptor.problem.fits": true, "preemption.groupSearch.spares": true, "preemption.share.nodes": true,
	}
)

// patterns are those of all types that a partition is made of.
type patterns struct {
	all      []*pattern
	by       map[reflect.Type]*pattern
	problems []error
	layout   *xxhash.Digest
}

// known are the patterns, worked out once.
var known = sync.OnceValue(func() *patterns {
	s := &patterns{by: map[reflect.Type]*pattern{}, layout: xxhash.New()}
	s.add(typeOfRoot, "")
	for _, sh := range s.all {
		s.describe(sh)
	}
	return s
})

// Layout names the types that a partition is made of in this program. Images with another one cannot be read.
func Layout() string { return strconv.FormatUint(known().layout.Sum64(), 16) }

// describe adds a pattern to the layout.
func (s *patterns) describe(sh *pattern) {
	fmt.Fprintln(s.layout, sh.of, sh.form, sh.size)
	for _, f := range sh.fields {
		fmt.Fprintln(s.layout, f.at, f.pattern.of)
	}
}

func (s *patterns) err() error { return errors.Join(s.problems...) }

// add is the pattern of a type, found in a field.
func (s *patterns) add(t reflect.Type, field string) *pattern {
	if sh := s.by[t]; sh != nil && t.Kind() != reflect.Func {
		return sh
	}
	sh := &pattern{of: t, size: t.Size(), number: len(s.all)}
	s.all = append(s.all, sh)
	if t.Kind() != reflect.Func {
		s.by[t] = sh
	}
	switch t {
	case typeOfTime:
		sh.form = moment
		return sh
	case typeOfKinds:
		sh.form = kinds
		return sh
	case typeOfError:
		sh.form = failure
		return sh
	}
	switch t.Kind() {
	case reflect.String:
		sh.form = text
	case reflect.Pointer:
		sh.form, sh.elem = pointer, s.add(t.Elem(), field)
	case reflect.Slice:
		sh.form, sh.elem = list, s.add(t.Elem(), field)
	case reflect.Map:
		sh.form, sh.key, sh.elem = table, s.add(t.Key(), field), s.add(t.Elem(), field)
	case reflect.Interface:
		sh.form = dynamic
	case reflect.Func:
		sh.form = functionIn(field)
	case reflect.Array:
		if sh.elem = s.add(t.Elem(), field); !isFlat(t) {
			sh.form = array
		}
	case reflect.Struct:
		s.addFields(sh)
	case reflect.Chan, reflect.UnsafePointer, reflect.Uintptr, reflect.Invalid:
		s.problems = append(s.problems, fmt.Errorf("%s is a %s, which no image can hold", field, t))
	default: // numbers are flat
	}
	return sh
}

// functionIn is how the function in a field is kept.
func functionIn(field string) form {
	switch {
	case givens[field]:
		return given
	case scratches[field]:
		return scratch
	}
	return order
}

func (s *patterns) addFields(sh *pattern) {
	for i := range sh.of.NumField() {
		f := sh.of.Field(i)
		field := sh.of.String() + "." + f.Name
		of := s.add(f.Type, field)
		if sh.of == optionsType && of.form == order {
			of.form = given
		}
		sh.fields = append(sh.fields, part{f.Offset, of.size, of, field})
		last := len(sh.parts) - 1
		switch {
		case !isFlat(f.Type):
			sh.parts = append(sh.parts, part{f.Offset, of.size, of, field})
		case last >= 0 && sh.parts[last].pattern == nil:
			sh.parts[last].size = f.Offset + of.size - sh.parts[last].at
		default:
			sh.parts = append(sh.parts, part{f.Offset, of.size, nil, ""})
		}
	}
	if !isFlat(sh.of) {
		sh.form = structure
	}
}

// isFlat reports whether values of a type have no pointers. It looks at the type alone: the pattern of a type that contains itself is not
// known yet when it is met again.
func isFlat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16,
		reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return true
	case reflect.Array:
		return isFlat(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !isFlat(t.Field(i).Type) {
				return false
			}
		}
		return true
	default:
		return false
	}
}
