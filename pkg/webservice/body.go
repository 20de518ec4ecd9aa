package webservice

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"sync"
)

// compressFrom is the size in bytes from which a body is compressed.
const compressFrom = 1400

// workersMax is how many goroutines work for one body at most.
const workersMax = 4

// A body is what is going to be answered, once in memory: compressed if it may be
// and is large enough, and as it is otherwise. It consists of pieces, which
// goroutines compress while the next ones are still being written.
type body struct {
	packers *packers // nil if it must not be compressed
	pieces  []*piece
	todo    chan *piece // nil as long as there is no piece but the last
	empty   chan []byte // buffers to use again
	working sync.WaitGroup
	lent    bool // the content belongs to somebody else

	// Size and checksums are those of the body before it is compressed. The second
	// checksum, with another polynomial, makes it unlikely enough that two bodies
	// have the same tag, and costs a tenth of a cryptographic digest.
	size         int
	sum, another uint32
}

// A piece is some bytes of a body.
type piece struct{ content []byte } // as they are sent

// newBody makes an empty body. Nil packers leave it uncompressed.
func newBody(packers *packers) *body { return &body{packers: packers} }

// take is the sink of a body. It keeps the chunk.
func (b *body) take(chunk []byte) []byte {
	b.add(chunk)
	if b.packers == nil {
		return newChunk() // the other is part of the body
	}
	if b.todo == nil {
		b.todo, b.empty = make(chan *piece, workersMax), make(chan []byte, 2*workersMax)
		for range min(workersMax, runtime.GOMAXPROCS(0)) {
			b.working.Go(b.work)
		}
	}
	b.todo <- b.pieces[len(b.pieces)-1]
	select {
	case again := <-b.empty:
		return again
	default:
		return newChunk()
	}
}

func (b *body) add(chunk []byte) {
	b.pieces = append(b.pieces, &piece{content: chunk})
	b.size += len(chunk)
	b.sum = crc32.Update(b.sum, crc32.IEEETable, chunk)
	b.another = crc32.Update(b.another, castagnoli, chunk)
}

func (b *body) work() {
	for p := range b.todo {
		chunk := p.content
		p.content = b.packers.pack(chunk)
		select {
		case b.empty <- chunk:
		default:
		}
	}
}

// lend makes the body of bytes that belong to somebody else. They must not change.
func (b *body) lend(content []byte) {
	b.lent = true
	b.finish(content)
}

// finish takes the last chunk. Nothing is taken afterwards.
func (b *body) finish(last []byte) {
	if !b.lent && len(last) < cap(last)/2 { // a slow client is not to hold all of it
		defer reuse(last)
		last = bytes.Clone(last)
	}
	b.add(last)
	if b.size < compressFrom {
		b.packers = nil
	}
	if b.packers == nil {
		return
	}
	first, end := b.pieces[0], b.pieces[len(b.pieces)-1]
	end.content = b.packers.pack(last)
	if !b.lent {
		reuse(last)
	}
	b.end()
	first.content = append(bytes.Clone(gzipHead), first.content...)
	end.content = append(end.content, gzipTail(b.sum, b.size)...)
}

// end waits until the goroutines are done, if there are any. They end with the body
// even if writing it panics.
func (b *body) end() {
	if b.todo != nil {
		close(b.todo)
		b.working.Wait()
		b.todo = nil
		close(b.empty)
		for chunk := range b.empty {
			reuse(chunk)
		}
	}
}

// release gives the memory of the body to others. Nobody may look at it any more.
func (b *body) release() {
	if !b.lent {
		for _, p := range b.pieces {
			reuse(p.content)
		}
	}
	b.pieces = nil
}

// tag is the entity tag. It is weak, as it is the same however the body is
// packed.
func (b *body) tag() string { return fmt.Sprintf(`W/"%x-%08x%08x"`, b.size, b.sum, b.another) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (b *body) compressed() bool { return b.packers != nil }

func (b *body) length() int {
	n := 0
	for _, p := range b.pieces {
		n += len(p.content)
	}
	return n
}

// chunks are buffers that nobody uses just now. A list of all allocations takes many
// of them, and clients ask for it again and again.
var chunks sync.Pool

// newChunk is an empty buffer for one chunk.
func newChunk() []byte {
	if chunk, ok := chunks.Get().(*[]byte); ok {
		return (*chunk)[:0]
	}
	return make([]byte, 0, chunkBytes+chunkBytes/4)
}

// reuse lets others have a buffer, if it is one for chunks.
func reuse(chunk []byte) {
	if cap(chunk) >= chunkBytes && cap(chunk) <= 2*chunkBytes {
		chunks.Put(&chunk)
	}
}

// writeTo sends the body. An error is that of a client that went away.
func (b *body) writeTo(w io.Writer) error {
	for _, p := range b.pieces {
		if _, err := w.Write(p.content); err != nil {
			return err
		}
	}
	return nil
}
