package wire

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A Reader takes values from bytes. After the first that cannot be read Err says why, and all others are zero.
type Reader struct {
	Rest []byte
	Err  error
	size int
}

// NewReader reads bytes from their beginning.
func NewReader(from []byte) *Reader { return &Reader{Rest: from, size: len(from)} }

// Fail notes what is wrong.
func (r *Reader) Fail(format string, args ...any) {
	if r.Err == nil {
		r.Err = fmt.Errorf("byte %d of %d: %s", r.size-len(r.Rest), r.size, fmt.Sprintf(format, args...))
		r.Rest = nil
	}
}

// Number takes a number.
func (r *Reader) Number() uint64 {
	n, size := binary.Uvarint(r.Rest)
	if size <= 0 {
		r.Fail("a number is missing")
		return 0
	}
	r.Rest = r.Rest[size:]
	return n
}

// Count takes how many there are of something that has one byte at least.
func (r *Reader) Count() int {
	n := r.Number()
	if n > uint64(len(r.Rest)) {
		r.Fail("%d of something are more than there can be", n)
		return 0
	}
	return int(n)
}

// Bytes takes so many bytes.
func (r *Reader) Bytes(n int) []byte {
	if n < 0 || n > len(r.Rest) {
		r.Fail("%d bytes are missing", n-len(r.Rest))
		return nil
	}
	out := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return out
}

// Text takes a string.
func (r *Reader) Text() string { return string(r.Bytes(r.Count())) }

// Take takes a value.
func Take[T any](r *Reader) (v T) {
	coderOf(reflect.TypeFor[T](), false).read(r, unsafe.Pointer(&v))
	if r.Err != nil {
		var none T
		return none
	}
	return v
}

// Command takes a command; nil with an error.
func (r *Reader) Command() api.Command {
	c := Take[api.Command](r)
	if c == nil {
		r.Fail("a command is missing")
	}
	return c
}
