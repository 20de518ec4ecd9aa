package wire

import (
	"encoding/binary"
	"reflect"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A Writer appends values to Out. The zero value is ready.
type Writer struct {
	Out    []byte
	digest bool // words for people and what was told before are left out
}

// Number appends a number.
func (w *Writer) Number(n uint64) { w.Out = binary.AppendUvarint(w.Out, n) }

// Text appends a string.
func (w *Writer) Text(s string) {
	w.Number(uint64(len(s)))
	w.Out = append(w.Out, s...)
}

// Value appends what a pointer points to.
func Value[T any](w *Writer, v *T) {
	coderOf(reflect.TypeFor[T](), w.digest).write(w, unsafe.Pointer(v))
}

// Command appends a command.
func (w *Writer) Command(c api.Command) { Value(w, &c) }

// A Digester makes digests of events and views: two that say the same have the same, and others hardly ever. Left out are
// words for people, and the tags of allocations, which commands have said.
type Digester struct{ w Writer }

// Effects is the digest of what a step did, and whether it says that there is more to do.
func (d *Digester) Effects(effects []api.Event, more bool) uint64 {
	if len(effects) == 0 && !more {
		return 0
	}
	d.w.Out, d.w.digest = d.w.Out[:0], true
	for i := range effects {
		Value(&d.w, &effects[i])
	}
	if more {
		d.w.Out = append(d.w.Out, 1)
	}
	return xxhash.Sum64(d.w.Out)
}

// View is the digest of a view.
func (d *Digester) View(v *api.View) uint64 {
	d.w.Out, d.w.digest = d.w.Out[:0], true
	Value(&d.w, v)
	return xxhash.Sum64(d.w.Out)
}
