package wire

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A coder writes and reads values of one type.
type coder struct {
	of     reflect.Type
	digest bool
	write  func(w *Writer, at unsafe.Pointer)
	read   func(r *Reader, at unsafe.Pointer)
}

// A coderKey is the key of a coder.
type coderKey struct {
	of     reflect.Type
	digest bool
}

var (
	coders sync.Map   // coderKey to *coder
	making sync.Mutex // held while coders are made
)

// coderOf is the coder of a type.
func coderOf(t reflect.Type, digest bool) *coder {
	if c, ok := coders.Load(coderKey{t, digest}); ok {
		return c.(*coder)
	}
	making.Lock()
	defer making.Unlock()
	made := map[reflect.Type]*coder{}
	c := makeCoder(t, digest, made)
	for of, other := range made {
		coders.LoadOrStore(coderKey{of, digest}, other)
	}
	return c
}

// leftOut are fields that no digest has: words that package reports writes, and what says nothing new.
var leftOut = map[string]bool{
	"api.Claimed.Reason": true, "api.Unschedulable.Reason": true, "api.AskReport.Message": true, "api.QueueReport.Message": true,
	"api.ApplicationHeld.Reason": true, "api.Allocation.Tags": true, "api.Waiting.Unresolvable": true,
}

// commands are all commands, by the number that stands for them.
var commands = []reflect.Type{
	reflect.TypeFor[api.AddNode](), reflect.TypeFor[api.UpdateNode](), reflect.TypeFor[api.DrainNode](), reflect.TypeFor[api.UndrainNode](),
	reflect.TypeFor[api.RemoveNode](), reflect.TypeFor[api.AddApplication](), reflect.TypeFor[api.UpdateApplication](),
	reflect.TypeFor[api.RemoveApplication](), reflect.TypeFor[api.AddAllocation](), reflect.TypeFor[api.ReleaseAllocation](),
	reflect.TypeFor[api.Reconfigure](),
}

// makeCoder makes the coder of a type. Those that are being made can be used by others, as types may contain themselves.
func makeCoder(t reflect.Type, digest bool, made map[reflect.Type]*coder) *coder {
	if c := made[t]; c != nil {
		return c
	}
	c := &coder{of: t, digest: digest}
	made[t] = c
	elem := func() *coder { return makeCoder(t.Elem(), digest, made) }
	if t == typeOfTime {
		c.write, c.read = writeTime, readTime
		return c
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		c.number(t)
	case reflect.String:
		c.write = func(w *Writer, at unsafe.Pointer) { w.Text(*(*string)(at)) }
		c.read = func(r *Reader, at unsafe.Pointer) { *(*string)(at) = r.Text() }
	case reflect.Pointer:
		c.pointer(t, elem())
	case reflect.Slice:
		c.slice(t, elem())
	case reflect.Array:
		c.array(t, elem())
	case reflect.Map:
		c.table(t, makeCoder(t.Key(), digest, made), elem())
	case reflect.Struct:
		c.structure(t, made)
	case reflect.Interface:
		c.dynamic(t)
	default: // functions and the like are no values
		c.write = func(*Writer, unsafe.Pointer) {}
		c.read = func(*Reader, unsafe.Pointer) {}
	}
	return c
}
