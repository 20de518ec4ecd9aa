package webservice

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// compressFrom is the size in bytes from which a body is compressed.
const compressFrom = 1400

// A body is what is going to be answered, once in memory: compressed if it may be
// and is large enough, and as it is otherwise. A large body is hashed and
// compressed by a goroutine while the rest is still being written.
type body struct {
	digest hash.Hash
	packed *bytes.Buffer // nil unless compressed
	zip    *gzip.Writer
	plain  [][]byte

	full, empty chan []byte // between the two goroutines; nil while there is one
}

func newBody(compress bool) *body {
	b := &body{digest: sha256.New()}
	if compress {
		b.packed = new(bytes.Buffer)
		b.zip, _ = gzip.NewWriterLevel(b.packed, gzip.BestSpeed) // the level is one there is
	}
	return b
}

// take is the sink of a body. It keeps the chunk.
func (b *body) take(chunk []byte) []byte {
	if b.full == nil {
		b.full, b.empty = make(chan []byte, 2), make(chan []byte, 4)
		go b.work()
	}
	b.full <- chunk
	if b.zip == nil {
		return make([]byte, 0, chunkBytes+chunkBytes/4) // the other is part of the body
	}
	select {
	case again := <-b.empty:
		return again
	default:
		return make([]byte, 0, chunkBytes+chunkBytes/4)
	}
}

// work absorbs chunks until there are no more.
func (b *body) work() {
	for chunk := range b.full {
		b.absorb(chunk)
		select {
		case b.empty <- chunk:
		default:
		}
	}
	close(b.empty)
}

func (b *body) absorb(chunk []byte) {
	b.digest.Write(chunk)
	if b.zip != nil {
		b.zip.Write(chunk) // into memory, which never fails
	} else {
		b.plain = append(b.plain, chunk)
	}
}

// finish takes the last chunk. Nothing is taken afterwards.
func (b *body) finish(last []byte) {
	if b.full == nil && len(last) < compressFrom {
		b.packed, b.zip = nil, nil
	}
	if b.full != nil {
		close(b.full)
		for range b.empty { // until the goroutine is done
		}
	}
	b.absorb(last)
	if b.zip != nil {
		b.zip.Close()
	}
}

// tag is the entity tag. It is weak, as it is the same however the body is
// packed.
func (b *body) tag() string {
	return `W/"` + hex.EncodeToString(b.digest.Sum(nil)[:12]) + `"`
}

func (b *body) compressed() bool { return b.packed != nil }

func (b *body) length() int {
	if b.compressed() {
		return b.packed.Len()
	}
	n := 0
	for _, chunk := range b.plain {
		n += len(chunk)
	}
	return n
}

// writeTo sends the body. An error is that of a client that went away.
func (b *body) writeTo(w io.Writer) error {
	if b.compressed() {
		_, err := w.Write(b.packed.Bytes())
		return err
	}
	for _, chunk := range b.plain {
		if _, err := w.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}
