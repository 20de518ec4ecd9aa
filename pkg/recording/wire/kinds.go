package wire

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

var (
	typeOfTime    = reflect.TypeFor[time.Time]()
	typeOfCommand = reflect.TypeFor[api.Command]()
	typeOfTags    = reflect.TypeFor[map[string]string]()
)

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// number is for integers and booleans.
func (c *coder) number(t reflect.Type) {
	size, signed := t.Size(), t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64
	c.write = func(w *Writer, at unsafe.Pointer) {
		v := load(at, size)
		if signed {
			shift := 64 - 8*size
			v = zigzag(int64(v<<shift) >> shift)
		}
		w.Number(v)
	}
	c.read = func(r *Reader, at unsafe.Pointer) {
		v := r.Number()
		if signed {
			v = uint64(unzigzag(v))
		}
		if t.Kind() == reflect.Bool && v > 1 {
			r.Fail("neither true nor false")
			return
		}
		store(at, size, v)
	}
}

func load(at unsafe.Pointer, size uintptr) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(at))
	case 2:
		return uint64(*(*uint16)(at))
	case 4:
		return uint64(*(*uint32)(at))
	}
	return *(*uint64)(at)
}

func store(at unsafe.Pointer, size uintptr, v uint64) {
	switch size {
	case 1:
		*(*uint8)(at) = uint8(v)
	case 2:
		*(*uint16)(at) = uint16(v)
	case 4:
		*(*uint32)(at) = uint32(v)
	default:
		*(*uint64)(at) = v
	}
}

func (c *coder) pointer(t reflect.Type, elem *coder) {
	c.write = func(w *Writer, at unsafe.Pointer) {
		to := *(*unsafe.Pointer)(at)
		if to == nil {
			w.Number(0)
			return
		}
		w.Number(1)
		elem.write(w, to)
	}
	c.read = func(r *Reader, at unsafe.Pointer) {
		if r.Number() == 0 {
			*(*unsafe.Pointer)(at) = nil
			return
		}
		to := reflect.New(t.Elem()).UnsafePointer()
		elem.read(r, to)
		*(*unsafe.Pointer)(at) = to
	}
}

// A header is what a slice is in memory.
type header struct {
	data     unsafe.Pointer
	len, cap int
}

// slice writes the length plus one, zero for nil.
func (c *coder) slice(t reflect.Type, elem *coder) {
	size := t.Elem().Size()
	c.write = func(w *Writer, at unsafe.Pointer) {
		h := (*header)(at)
		if h.data == nil {
			w.Number(0)
			return
		}
		w.Number(uint64(h.len) + 1)
		for i := range h.len {
			elem.write(w, unsafe.Add(h.data, uintptr(i)*size))
		}
	}
	c.read = func(r *Reader, at unsafe.Pointer) {
		n := r.Number()
		if n == 0 {
			*(*header)(at) = header{}
			return
		}
		if n--; n > uint64(len(r.Rest)) {
			r.Fail("a list of %d is longer than what is left", n)
			return
		}
		// The list grows as its elements are read, so that a length alone takes no memory.
		list := reflect.New(t).Elem()
		list.Set(reflect.MakeSlice(t, 0, int(min(n, 64))))
		for i := 0; i < int(n) && r.Err == nil; i++ {
			list.Grow(1)
			list.SetLen(i + 1)
			elem.read(r, list.Index(i).Addr().UnsafePointer())
		}
		reflect.NewAt(t, at).Elem().Set(list)
	}
}

func (c *coder) array(t reflect.Type, elem *coder) {
	size := t.Elem().Size()
	c.write = func(w *Writer, at unsafe.Pointer) {
		for i := range t.Len() {
			elem.write(w, unsafe.Add(at, uintptr(i)*size))
		}
	}
	c.read = func(r *Reader, at unsafe.Pointer) {
		for i := range t.Len() {
			elem.read(r, unsafe.Add(at, uintptr(i)*size))
		}
	}
}

func (c *coder) structure(t reflect.Type, made map[reflect.Type]*coder) {
	type field struct {
		at uintptr
		of *coder
	}
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		if c.digest && leftOut[t.String()+"."+f.Name] {
			continue
		}
		fields = append(fields, field{f.Offset, makeCoder(f.Type, c.digest, made)})
	}
	c.write = func(w *Writer, at unsafe.Pointer) {
		for _, f := range fields {
			f.of.write(w, unsafe.Add(at, f.at))
		}
	}
	c.read = func(r *Reader, at unsafe.Pointer) {
		for _, f := range fields {
			f.of.read(r, unsafe.Add(at, f.at))
		}
	}
}

// table writes a map in the order of its keys as they are written.
func (c *coder) table(t reflect.Type, key, elem *coder) {
	c.write = func(w *Writer, at unsafe.Pointer) {
		m := reflect.NewAt(t, at).Elem()
		if m.IsNil() {
			w.Number(0)
			return
		}
		w.Number(uint64(m.Len()) + 1)
		entries := make([][]byte, 0, m.Len())
		k, v := reflect.New(t.Key()), reflect.New(t.Elem())
		for all := m.MapRange(); all.Next(); {
			k.Elem().SetIterKey(all)
			v.Elem().SetIterValue(all)
			one := Writer{digest: w.digest}
			key.write(&one, k.UnsafePointer())
			elem.write(&one, v.UnsafePointer())
			entries = append(entries, one.Out)
		}
		slices.SortFunc(entries, bytes.Compare)
		for _, e := range entries {
			w.Out = append(w.Out, e...)
		}
	}
	c.read = func(r *Reader, at unsafe.Pointer) {
		n := r.Number()
		if n == 0 {
			reflect.NewAt(t, at).Elem().SetZero()
			return
		}
		m := reflect.MakeMap(t)
		for i := uint64(1); i < n && r.Err == nil; i++ {
			k, v := reflect.New(t.Key()), reflect.New(t.Elem())
			key.read(r, k.UnsafePointer())
			elem.read(r, v.UnsafePointer())
			m.SetMapIndex(k.Elem(), v.Elem())
		}
		reflect.NewAt(t, at).Elem().Set(m)
	}
	if t == typeOfTags {
		c.write = writeTags
	}
}

// dynamic is for commands, and for events in digests.
func (c *coder) dynamic(t reflect.Type) {
	var known sync.Map // dynamic types
	c.write = func(w *Writer, at unsafe.Pointer) {
		in := (*inside)(at)
		if in.kind == nil {
			w.Number(0)
			return
		}
		found, ok := known.Load(in.kind)
		if !ok {
			found, _ = known.LoadOrStore(in.kind, knownAs(reflect.NewAt(t, at).Elem().Elem().Type(), c.digest))
		}
		d := found.(*dynamicType)
		w.Out = append(w.Out, d.name...)
		value := in.value
		if d.direct {
			value = unsafe.Pointer(&in.value)
		}
		d.coder.write(w, value)
	}
	c.read = func(r *Reader, at unsafe.Pointer) {
		n := r.Number()
		if n == 0 || r.Err != nil {
			return
		}
		if t != typeOfCommand || n > uint64(len(commands)) {
			r.Fail("%d stands for no command", n)
			return
		}
		value := reflect.New(commands[n-1])
		coderOf(commands[n-1], false).read(r, value.UnsafePointer())
		reflect.NewAt(t, at).Elem().Set(value.Elem())
	}
}

// An inside is what an interface is in memory: a type, or a table of its methods, and a value, or where it is.
type inside struct{ kind, value unsafe.Pointer }

// A dynamicType is how values of a type are written that stand in an interface.
type dynamicType struct {
	name   []byte
	coder  *coder
	direct bool // a value is a pointer, and stands in the interface itself
}

func knownAs(of reflect.Type, digest bool) *dynamicType {
	var name Writer
	if n := slices.Index(commands, of); n >= 0 {
		name.Number(uint64(n) + 1)
	} else {
		name.Text(of.String())
	}
	return &dynamicType{name.Out, coderOf(of, digest), isPointer(of)}
}

// isPointer reports whether a value of a type is a pointer and nothing else.
func isPointer(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return true
	case reflect.Struct:
		return t.NumField() == 1 && isPointer(t.Field(0).Type)
	case reflect.Array:
		return t.Len() == 1 && isPointer(t.Elem())
	default:
		return false
	}
}

// writeTags writes a map of strings.
func writeTags(w *Writer, at unsafe.Pointer) {
	tags := *(*map[string]string)(at)
	if tags == nil {
		w.Number(0)
		return
	}
	w.Number(uint64(len(tags)) + 1)
	var few [16]string
	keys := few[:0]
	for key := range tags {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		w.Text(key)
		w.Text(tags[key])
	}
}

// writeTime keeps the monotonic reading, by which times are compared.
func writeTime(w *Writer, at unsafe.Pointer) {
	t := (*clock)(at)
	w.Out = binary.LittleEndian.AppendUint64(w.Out, t.wall)
	w.Number(zigzag(t.ext))
	switch t.zone {
	case nil:
		w.Number(0)
	case time.Local:
		w.Number(1)
	default:
		w.Number(2)
		w.Text(t.zone.String())
	}
}

func readTime(r *Reader, at unsafe.Pointer) {
	t := (*clock)(at)
	if b := r.Bytes(8); b != nil {
		t.wall = binary.LittleEndian.Uint64(b)
	}
	t.ext = unzigzag(r.Number())
	switch r.Number() {
	case 0:
	case 1:
		t.zone = time.Local
	default:
		if zone, err := time.LoadLocation(r.Text()); err == nil {
			t.zone = zone
		}
	}
}

// A clock is what a time is in memory.
type clock struct {
	wall uint64
	ext  int64
	zone *time.Location
}
