package image

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// none is a configuration of nothing but a root.
var none = api.Config{Root: api.QueueConfig{Name: "root"}}

// ErrCorrupt is wrapped by errors about bytes that are no image of this program.
var ErrCorrupt = errors.New("this is no image of a partition")

// Restore makes a partition of an image. The options give its functions and the table of kinds, which must be those of the
// partition that the image is of; the other options are those of the image.
func Restore(image []byte, options api.Options) (p *core.Partition, err error) {
	return RestoreAs(image, options, nil)
}

// A Renaming says what stands for a text, by the field that holds it, such as "backlog.Class.Key", or holds the map of which it is a key. The field
// of a value in a map of texts is Tag with its key; that of other elements is empty.
type Renaming func(field, text string) string

// Tag begins the field of values in maps of texts.
const Tag = "tag "

// RestoreAs is Restore with other texts, and without what stands in memory that is used again.
func RestoreAs(image []byte, options api.Options, as Renaming) (p *core.Partition, err error) {
	p = core.NewPartition(options, none)
	r := &reader{patterns: known(), rest: image, size: len(image), kinds: options.Kinds, orders: p.Orders(), texts: []string{""}, as: as}
	if err := r.patterns.err(); err != nil {
		return nil, err
	}
	defer func() {
		if broken, is := recover().(corrupt); is {
			p, err = nil, fmt.Errorf("%w: %s at byte %d of %d", ErrCorrupt, string(broken), r.size-len(r.rest), r.size)
		}
	}()
	r.list(unsafe.Pointer(p))
	for _, o := range r.objects {
		for k := range o.count {
			r.in = ""
			r.value(unsafe.Add(o.at, uintptr(k)*o.pattern.size), o.pattern)
		}
		if r.as != nil && o.pattern.of == typeOfByte {
			clear(unsafe.Slice((*byte)(o.at), o.count))
		}
	}
	for _, m := range r.maps {
		r.table(m)
	}
	if len(r.rest) > 0 {
		panic(corrupt("there is more than the partition"))
	}
	return p, nil
}

// A corrupt is what is wrong with an image.
type corrupt string

// A reader makes objects of bytes.
type reader struct {
	patterns *patterns
	rest     []byte
	size     int
	kinds    *resources.Kinds
	objects  []object
	maps     []mapping
	orders   []any // the functions that sort trees
	texts    []string
	memory   uintptr // of all objects
	as       Renaming
	in       string // the field at hand
}

// list makes the objects, all empty. The first is the partition, and what a new one has functions in is used
// as it is.
func (r *reader) list(root unsafe.Pointer) {
	r.objects = make([]object, r.count())
	inPlace := map[*pattern]unsafe.Pointer{r.patterns.by[typeOfRoot]: root}
	topology := reflect.NewAt(typeOfRoot, root).Elem().FieldByName("topology")
	inPlace[r.patterns.by[topology.Type().Elem()]] = topology.UnsafePointer()
	for i := range r.objects {
		o := object{pattern: r.pattern(), count: r.count()}
		// A pointer has at least one byte here, and a list at most three times as many words.
		if r.memory += o.size(); o.count < 0 || r.memory > 32*uintptr(r.size)+1<<20 {
			panic(corrupt("the objects are larger than they can be"))
		}
		if at := inPlace[o.pattern]; at != nil {
			delete(inPlace, o.pattern)
			if o.count != 1 {
				panic(corrupt("there are several partitions"))
			}
			o.at = at
		} else {
			o.at = reflect.MakeSlice(reflect.SliceOf(o.pattern.of), o.count, o.count).UnsafePointer()
		}
		r.objects[i] = o
	}
	if len(inPlace) > 0 || r.objects[0].at != root {
		panic(corrupt("there is no partition"))
	}
	r.maps = make([]mapping, r.count())
	for i := range r.maps {
		sh := r.pattern()
		if sh.form != table {
			panic(corrupt("a " + sh.of.String() + " is no map"))
		}
		r.maps[i] = mapping{value: reflect.MakeMap(sh.of), pattern: sh}
	}
}

// count reads how many there are of something that takes a byte at least.
func (r *reader) count() int {
	n := r.number()
	r.need(uintptr(n))
	return int(n)
}

func (r *reader) need(n uintptr) {
	if n > uintptr(len(r.rest)) {
		panic(corrupt("it ends too early"))
	}
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		panic(corrupt("a number is missing"))
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) take(n uintptr) []byte {
	r.need(n)
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) pattern() *pattern {
	n := r.number()
	if n >= uint64(len(r.patterns.all)) {
		panic(corrupt("a type is not known"))
	}
	return r.patterns.all[n]
}

// orders are the names of the functions that sort trees.
var orders = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, f := range core.NewPartition(api.Options{}, none).Orders() {
		names[functionName(f)] = true
	}
	return names
})

func isOrder(name string) bool { return orders()[name] }

func functionName(f any) string {
	variable := reflect.New(reflect.TypeOf(f))
	variable.Elem().Set(reflect.ValueOf(f))
	return nameOf(*(*unsafe.Pointer)(variable.UnsafePointer()))
}
