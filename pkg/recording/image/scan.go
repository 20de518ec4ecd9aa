package image

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// An object is memory to which pointers or slices lead: so many values of a type, one after the other. Those that lie within a
// larger one are parts of that.
type object struct {
	at      unsafe.Pointer
	pattern *pattern
	count   int
	within  int     // number of the object that it is a part of, or its own
	offset  uintptr // in that
}

func (o *object) size() uintptr { return o.pattern.size * uintptr(o.count) }
func (o *object) end() uintptr  { return uintptr(o.at) + o.size() }

// A scan finds all objects and maps that can be reached.
type scan struct {
	patterns *patterns
	objects  []object
	numbers  places // of objects, by where they begin
	maps     []mapping
	mapped   map[unsafe.Pointer]int
	todo     []int // objects whose values were not looked at
	err      error
}

// A mapping is a map.
type mapping struct {
	value   reflect.Value
	pattern *pattern
	in      string // the field that holds it, where texts are replaced
}

// reach finds what can be reached from the first object.
func (s *scan) reach(root unsafe.Pointer) error {
	if err := s.patterns.err(); err != nil {
		return err
	}
	s.found(root, s.patterns.by[typeOfRoot], 1)
	for len(s.todo) > 0 && s.err == nil {
		last := len(s.todo) - 1
		o := s.objects[s.todo[last]]
		s.todo = s.todo[:last]
		for i := range o.count {
			s.value(unsafe.Add(o.at, uintptr(i)*o.pattern.size), o.pattern)
		}
	}
	if s.err == nil {
		s.join()
	}
	return s.err
}

// found notes an object. Of those that begin at one place the largest counts.
func (s *scan) found(at unsafe.Pointer, sh *pattern, count int) {
	if sh.size == 0 {
		return
	}
	number, isKnown := s.numbers.put(uintptr(at), len(s.objects))
	o := object{at: at, pattern: sh, count: count}
	switch {
	case !isKnown:
		s.objects = append(s.objects, o)
	case s.objects[number].size() < o.size():
		s.objects[number] = o
	default:
		return
	}
	if sh.form != flat {
		s.todo = append(s.todo, number)
	}
}

// value looks for pointers in a value.
func (s *scan) value(at unsafe.Pointer, sh *pattern) {
	switch sh.form {
	case pointer:
		if to := *(*unsafe.Pointer)(at); to != nil {
			s.found(to, sh.elem, 1)
		}
	case list:
		if h := (*header)(at); h.len > 0 {
			s.found(h.data, sh.elem, h.len)
		}
	case table:
		s.table(at, sh)
	case dynamic:
		s.dynamic(at, sh)
	case array:
		for i := range sh.of.Len() {
			s.value(unsafe.Add(at, uintptr(i)*sh.elem.size), sh.elem)
		}
	case structure:
		for _, p := range sh.parts {
			if p.pattern != nil {
				s.value(unsafe.Add(at, p.at), p.pattern)
			}
		}
	case flat, text, failure, moment, order, given, scratch, kinds:
	}
}

// A header is what a slice is in memory.
type header struct {
	data     unsafe.Pointer
	len, cap int
}

func (s *scan) table(at unsafe.Pointer, sh *pattern) {
	to := *(*unsafe.Pointer)(at)
	if _, isKnown := s.mapped[to]; to == nil || isKnown {
		return
	}
	s.mapped[to] = len(s.maps)
	m := mapping{value: reflect.NewAt(sh.of, at).Elem(), pattern: sh}
	// The variable may be a copy that is used again, so the value must not be its place.
	m.value = reflect.New(sh.of).Elem()
	m.value.Set(reflect.NewAt(sh.of, at).Elem())
	s.maps = append(s.maps, m)
	if sh.key.form == flat && sh.elem.form == flat || sh.of == typeOfTags {
		return
	}
	key, value := reflect.New(sh.key.of), reflect.New(sh.elem.of)
	for entries := m.value.MapRange(); entries.Next(); {
		key.Elem().SetIterKey(entries)
		value.Elem().SetIterValue(entries)
		s.value(key.UnsafePointer(), sh.key)
		s.value(value.UnsafePointer(), sh.elem)
	}
}

func (s *scan) dynamic(at unsafe.Pointer, sh *pattern) {
	in := reflect.NewAt(sh.of, at).Elem()
	if in.IsNil() {
		return
	}
	of := s.patterns.by[in.Elem().Type()]
	if of == nil || of.form != pointer {
		s.err = fmt.Errorf("an image cannot hold a %s", in.Elem().Type())
		return
	}
	if to := in.Elem().UnsafePointer(); to != nil {
		s.found(to, of.elem, 1)
	}
}

// join makes objects that lie in others parts of them.
func (s *scan) join() {
	type begin struct {
		at     uintptr
		number int
	}
	sorted := make([]begin, len(s.objects)) // no two begin at one place
	for i := range sorted {
		sorted[i] = begin{uintptr(s.objects[i].at), i}
	}
	slices.SortFunc(sorted, func(a, b begin) int { return cmp.Compare(a.at, b.at) })
	top := -1
	for _, first := range sorted {
		i := first.number
		o := &s.objects[i]
		o.within, o.offset = i, 0
		if top < 0 || uintptr(o.at) >= s.objects[top].end() {
			top = i
			continue
		}
		over := &s.objects[top]
		o.within, o.offset = top, uintptr(o.at)-uintptr(over.at)
		if o.end() > over.end() { // two slices of one array
			if o.pattern != over.pattern || o.offset%o.pattern.size != 0 {
				s.err = fmt.Errorf("a %s and a %s overlap in memory", o.pattern.of, over.pattern.of)
				return
			}
			over.count = int((o.end() - uintptr(over.at)) / o.pattern.size)
		}
	}
}
