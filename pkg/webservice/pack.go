package webservice

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
)

// packers are compressors that nobody uses just now. Making one costs more than
// compressing a short answer.
type packers struct{ idle chan *flate.Writer }

func newPackers() *packers { return &packers{make(chan *flate.Writer, 2*workersMax)} }

// pack compresses some bytes so that the results, one after the other, are one
// stream, but for its end.
func (p *packers) pack(content []byte) []byte {
	out := bytes.NewBuffer(make([]byte, 0, len(content)/4+64))
	var w *flate.Writer
	select {
	case w = <-p.idle:
		w.Reset(out)
	default:
		w, _ = flate.NewWriter(out, flate.BestSpeed) // the level is one there is
	}
	_, _ = w.Write(content) // into memory, which never fails
	_ = w.Flush()
	select {
	case p.idle <- w:
	default:
	}
	return out.Bytes()
}

// What is around the compressed bytes of a file (RFC 1952): ten bytes that say
// nothing but which method it is, and after an empty last block (RFC 1951, 3.2.3)
// the checksum and the size.
var (
	gzipHead  = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255}
	lastBlock = []byte{1, 0, 0, 0xff, 0xff}
)

// gzipTail ends a file whose content had this checksum and size.
func gzipTail(sum uint32, size int) []byte {
	tail := binary.LittleEndian.AppendUint32(bytes.Clone(lastBlock), sum)
	return binary.LittleEndian.AppendUint32(tail, uint32(size))
}
