package image

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"github.com/narwhal-scheduler/narwhal/pkg/core/answers"
)

func (r *reader) value(at unsafe.Pointer, sh *pattern) {
	switch sh.form {
	case flat:
		copy(unsafe.Slice((*byte)(at), sh.size), r.take(sh.size))
	case text:
		*(*string)(at) = r.name()
	case pointer:
		*(*unsafe.Pointer)(at) = r.reference(sh.elem, 1)
	case list:
		r.elements((*header)(at), sh)
	case table:
		r.mapping(at, sh)
	case dynamic:
		r.dynamic(at, sh)
	case failure:
		*(*error)(at) = r.failure()
	case moment:
		*(*time.Time)(at) = r.moment()
	case order:
		r.order(at, sh)
	case kinds:
		*(*unsafe.Pointer)(at) = unsafe.Pointer(r.kinds)
	case array:
		for i := range sh.of.Len() {
			r.value(unsafe.Add(at, uintptr(i)*sh.elem.size), sh.elem)
		}
	case structure:
		for _, p := range sh.parts {
			if p.pattern == nil {
				copy(unsafe.Slice((*byte)(unsafe.Add(at, p.at)), p.size), r.take(p.size))
			} else {
				r.in = p.name
				r.value(unsafe.Add(at, p.at), p.pattern)
			}
		}
	case given: // as it is
	case scratch:
		*(*unsafe.Pointer)(at) = nil
	}
}

// reference is where a pointer leads to so many values of a type.
func (r *reader) reference(sh *pattern, count int) unsafe.Pointer {
	n := r.number()
	if n == 0 {
		return nil
	}
	offset := uintptr(r.number())
	if sh.size == 0 {
		return reflect.New(sh.of).UnsafePointer()
	}
	if n > uint64(len(r.objects)) {
		panic(corrupt("an object is not there"))
	}
	o := &r.objects[n-1]
	if !holds(o, offset, sh, count) {
		panic(corrupt("a " + o.pattern.of.String() + " has no " + sh.of.String() + " there"))
	}
	return unsafe.Add(o.at, offset)
}

// holds reports whether an object has so many values of a pattern, one after the other, at an offset.
func holds(o *object, offset uintptr, want *pattern, count int) bool {
	in, left := o.pattern, o.count
	for {
		if in.size == 0 || offset >= in.size*uintptr(left) {
			return false
		}
		left -= int(offset / in.size)
		offset %= in.size
		if in == want && offset == 0 {
			return count <= left
		}
		switch in.of.Kind() {
		case reflect.Array:
			in, left = in.elem, in.of.Len()
		case reflect.Struct:
			var at *part
			for i := range in.fields {
				if f := &in.fields[i]; f.at <= offset && offset < f.at+f.size {
					at = f
				}
			}
			if at == nil {
				return false
			}
			in, left, offset = at.pattern, 1, offset-at.at
		default:
			return false
		}
	}
}

func (r *reader) elements(h *header, sh *pattern) {
	switch r.number() {
	case 0:
		*h = header{}
	case 1:
		n := int(r.number())
		if n < 0 || sh.elem.size > 0 && n > 0 {
			panic(corrupt("a list has no elements"))
		}
		*h = header{reflect.MakeSlice(sh.of, n, n).UnsafePointer(), n, n}
	case 2:
		n := r.number()
		r.need(1)
		if n == 0 || n > uint64(r.size) {
			panic(corrupt("a list is too long"))
		}
		*h = header{r.reference(sh.elem, int(n)), int(n), int(n)}
		if h.data == nil {
			panic(corrupt("a list has no elements"))
		}
	default:
		panic(corrupt("a list is of no kind"))
	}
}

func (r *reader) mapping(at unsafe.Pointer, sh *pattern) {
	n := r.number()
	if n == 0 {
		*(*unsafe.Pointer)(at) = nil
		return
	}
	if n > uint64(len(r.maps)) || r.maps[n-1].pattern != sh {
		panic(corrupt("a map is not there"))
	}
	r.maps[n-1].in = r.in
	*(*unsafe.Pointer)(at) = r.maps[n-1].value.UnsafePointer()
}

// name is a text as it is to be.
func (r *reader) name() string {
	text := r.text()
	if r.as == nil || text == "" {
		return text
	}
	return r.as(r.in, text)
}

func (r *reader) text() string {
	n := r.number()
	if n != 1 {
		if n > 0 {
			n--
		}
		if n >= uint64(len(r.texts)) {
			panic(corrupt("a text is not there"))
		}
		return r.texts[n]
	}
	s := string(r.take(uintptr(r.number())))
	r.texts = append(r.texts, s)
	return s
}

func (r *reader) dynamic(at unsafe.Pointer, sh *pattern) {
	in := reflect.NewAt(sh.of, at).Elem()
	n := r.number()
	if n == 0 {
		in.SetZero()
		return
	}
	if n > uint64(len(r.patterns.all)) {
		panic(corrupt("a type is not known"))
	}
	of := r.patterns.all[n-1]
	if of.form != pointer || !of.of.AssignableTo(sh.of) {
		panic(corrupt("a " + of.of.String() + " cannot stand there"))
	}
	in.Set(reflect.NewAt(of.elem.of, r.reference(of.elem, 1)).Convert(of.of))
}

// An answer is an error of a resource manager as the core sees it.
type answer struct {
	message string
	forGood bool
}

func (a *answer) Error() string { return a.message }

// Unresolvable is what api.Simulate says of it.
func (a *answer) Unresolvable() bool { return a.forGood }

func (r *reader) failure() error {
	switch n := r.number(); n {
	case 0:
		return nil
	case 1:
		return answers.ErrPaused
	case 2, 3:
		r.in = ""
		return &answer{r.name(), n == 2}
	}
	panic(corrupt("an error is of no kind"))
}

func (r *reader) moment() (t time.Time) {
	raw := (*clock)(unsafe.Pointer(&t))
	raw.wall = binary.LittleEndian.Uint64(r.take(8))
	raw.ext = int64(binary.LittleEndian.Uint64(r.take(8)))
	switch r.number() {
	case 0:
	case 1:
		raw.zone = time.Local
	default:
		if zone, err := time.LoadLocation(r.text()); err == nil {
			raw.zone = zone
		}
	}
	return t
}

// order reads which function sorts a tree.
func (r *reader) order(at unsafe.Pointer, sh *pattern) {
	name := r.text()
	variable := reflect.NewAt(sh.of, at).Elem()
	if name == "" {
		variable.SetZero()
		return
	}
	for _, f := range r.orders {
		if functionName(f) == name && reflect.TypeOf(f).ConvertibleTo(sh.of) {
			variable.Set(reflect.ValueOf(f).Convert(sh.of))
			return
		}
	}
	panic(corrupt(fmt.Sprintf("no tree is sorted by %q", name)))
}

func (r *reader) table(m mapping) {
	for range r.count() {
		key, value := reflect.New(m.pattern.key.of), reflect.New(m.pattern.elem.of)
		if m.pattern.of == typeOfTags && r.as != nil {
			name, said := r.text(), r.text()
			key.Elem().SetString(r.as("", name))
			value.Elem().SetString(r.as(Tag+name, said))
		} else {
			r.in = m.in
			r.value(key.UnsafePointer(), m.pattern.key)
			r.in = ""
			r.value(value.UnsafePointer(), m.pattern.elem)
		}
		m.value.SetMapIndex(key.Elem(), value.Elem())
	}
}
