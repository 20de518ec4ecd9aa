package image

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"time"
	"unsafe"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/answers"
)

// Of is the image of a partition as it is between two steps.
func Of(p *core.Partition) ([]byte, error) {
	s := &scan{patterns: known(), mapped: map[unsafe.Pointer]int{}}
	root := unsafe.Pointer(p)
	if err := s.reach(root); err != nil {
		return nil, fmt.Errorf("image of partition %s: %w", p.Name, err)
	}
	w := &writer{scan: s}
	w.list()
	for i := range w.numbered {
		o := &s.objects[w.numbered[i]]
		for k := range o.count {
			w.value(unsafe.Add(o.at, uintptr(k)*o.pattern.size), o.pattern)
		}
	}
	for _, m := range s.maps {
		w.table(m)
	}
	if w.err != nil {
		return nil, fmt.Errorf("image of partition %s: %w", p.Name, w.err)
	}
	return w.out, nil
}

// A writer makes bytes of what a scan found.
type writer struct {
	*scan
	out      []byte
	numbered []int    // the objects that are no part of another, the partition first
	place    []uint64 // the number of each of those, from one on
	texts    places   // by where they are and how long: the number
	written  int      // texts
}

// list writes which objects there are.
func (w *writer) list() {
	w.place = make([]uint64, len(w.objects))
	for i := range w.objects {
		if w.objects[i].within == i {
			w.numbered = append(w.numbered, i)
			w.place[i] = uint64(len(w.numbered))
		}
	}
	w.number(uint64(len(w.numbered)))
	for _, i := range w.numbered {
		w.number(uint64(w.objects[i].pattern.number))
		w.number(uint64(w.objects[i].count))
	}
	w.number(uint64(len(w.maps)))
	for _, m := range w.maps {
		w.number(uint64(m.pattern.number))
	}
}

func (w *writer) number(n uint64) { w.out = binary.AppendUvarint(w.out, n) }

func (w *writer) value(at unsafe.Pointer, sh *pattern) {
	switch sh.form {
	case flat:
		w.out = append(w.out, unsafe.Slice((*byte)(at), sh.size)...)
	case text:
		w.text(*(*string)(at))
	case pointer:
		w.reference(*(*unsafe.Pointer)(at), sh.elem)
	case list:
		w.elements((*header)(at), sh)
	case table:
		to := *(*unsafe.Pointer)(at)
		if to == nil {
			w.number(0)
		} else {
			w.number(uint64(w.mapped[to]) + 1)
		}
	case dynamic:
		w.dynamic(at, sh)
	case failure:
		w.failure(*(*error)(at))
	case moment:
		w.moment(*(*time.Time)(at))
	case order:
		w.order(at)
	case array:
		for i := range sh.of.Len() {
			w.value(unsafe.Add(at, uintptr(i)*sh.elem.size), sh.elem)
		}
	case structure:
		for _, p := range sh.parts {
			if p.pattern == nil {
				w.out = append(w.out, unsafe.Slice((*byte)(unsafe.Add(at, p.at)), p.size)...)
			} else {
				w.value(unsafe.Add(at, p.at), p.pattern)
			}
		}
	case given, scratch, kinds:
	}
}

// reference writes the number of the object to which a pointer leads, and where in it; zero for none.
func (w *writer) reference(to unsafe.Pointer, elem *pattern) {
	switch {
	case to == nil:
		w.number(0)
	case elem.size == 0:
		w.number(1) // it has no place
		w.number(0)
	default:
		o := &w.objects[w.numbers.of(uintptr(to))]
		w.number(w.place[o.within])
		w.number(uint64(o.offset))
	}
}

func (w *writer) elements(h *header, sh *pattern) {
	switch {
	case h.data == nil:
		w.number(0)
	case h.len == 0 || sh.elem.size == 0:
		w.number(1)
		w.number(uint64(h.len))
	default:
		w.number(2)
		w.number(uint64(h.len))
		w.reference(h.data, sh.elem)
	}
}

// text writes a string, or the number that it has already.
func (w *writer) text(s string) {
	if s == "" {
		w.number(0)
		return
	}
	// Two texts at one place are of different lengths, which the upper bits tell apart: no address has any. Long ones are written
	// each time.
	w.written++
	if len(s) < 1<<13 {
		place := uintptr(unsafe.Pointer(unsafe.StringData(s)))<<3 ^ uintptr(len(s))<<51
		if n, had := w.texts.put(place, w.written); had {
			w.written--
			w.number(uint64(n) + 1)
			return
		}
	}
	w.number(1)
	w.number(uint64(len(s)))
	w.out = append(w.out, s...)
}

func (w *writer) dynamic(at unsafe.Pointer, sh *pattern) {
	in := reflect.NewAt(sh.of, at).Elem()
	if in.IsNil() {
		w.number(0)
		return
	}
	of := w.patterns.by[in.Elem().Type()]
	w.number(uint64(of.number) + 1)
	w.reference(in.Elem().UnsafePointer(), of.elem)
}

// failure writes an error as the core can tell it from others.
func (w *writer) failure(err error) {
	switch {
	case err == nil:
		w.number(0)
	case errors.Is(err, answers.ErrPaused):
		w.number(1)
	case answers.IsUnresolvable(err):
		w.number(2)
		w.text(err.Error())
	default:
		w.number(3)
		w.text(err.Error())
	}
}

// moment writes a time with its monotonic reading, which decides what is before what.
func (w *writer) moment(t time.Time) {
	raw := (*clock)(unsafe.Pointer(&t))
	w.out = binary.LittleEndian.AppendUint64(w.out, raw.wall)
	w.out = binary.LittleEndian.AppendUint64(w.out, uint64(raw.ext))
	switch raw.zone {
	case nil:
		w.number(0)
	case time.Local:
		w.number(1)
	default:
		w.number(2)
		w.text(raw.zone.String())
	}
}

// A clock is what a time is in memory.
type clock struct {
	wall uint64
	ext  int64
	zone *time.Location
}

// order writes the name of a function.
func (w *writer) order(at unsafe.Pointer) {
	to := *(*unsafe.Pointer)(at)
	if to == nil {
		w.text("")
		return
	}
	name := nameOf(to)
	if !isOrder(name) {
		w.err = fmt.Errorf("an image cannot hold the function %s", name)
	}
	w.text(name)
}

// nameOf is the name of the function to which a variable leads.
func nameOf(variable unsafe.Pointer) string {
	if f := runtime.FuncForPC(*(*uintptr)(variable)); f != nil {
		return f.Name()
	}
	return "unknown"
}

func (w *writer) table(m mapping) {
	w.number(uint64(m.value.Len()))
	if m.pattern.of == typeOfTags {
		for key, value := range m.value.Interface().(map[string]string) {
			w.text(key)
			w.text(value)
		}
		return
	}
	key, value := reflect.New(m.pattern.key.of), reflect.New(m.pattern.elem.of)
	for entries := m.value.MapRange(); entries.Next(); {
		key.Elem().SetIterKey(entries)
		value.Elem().SetIterValue(entries)
		w.value(key.UnsafePointer(), m.pattern.key)
		w.value(value.UnsafePointer(), m.pattern.elem)
	}
}
