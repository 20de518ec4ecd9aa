package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"
)

// magic is how a segment begins.
const magic = "narwhal recording 1\n"

// Frames have a length and a checksum before them, and are compressed. What they hold has at most frameMax bytes.
const (
	frameHead = 8
	frameMax  = 1 << 30
	flushSize = 256 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrTorn is wrapped where a file ends within a frame, as after a crash, or a frame is not what was written. What
// stands before can be read.
var ErrTorn = errors.New("the recording is torn here")

// A Header is what a segment begins with, before the image.
type Header struct {
	Version   string // of the program that wrote it
	Layout    string // of its images
	Partition string
	Began     time.Time // the recording
	Number    uint64    // of the segment
	From      time.Time // when the segment began
	After     string    // why it began
	Functions uint16
	Image     bool     // it follows in this file; otherwise it is in one of its own, or the segment goes on after the one before
	Kinds     []string // the resource kinds that were known
}

// marks are what a record begins with.
const (
	markCommand = iota + 1
	markSchedule
	markEnd // with the digest of the last view
)

func appendFrame(out, content []byte, encoder *zstd.Encoder) []byte {
	start := len(out)
	out = append(out, make([]byte, frameHead)...)
	out = encoder.EncodeAll(content, out)
	packed := out[start+frameHead:]
	binary.LittleEndian.PutUint32(out[start:], uint32(len(packed)))
	binary.LittleEndian.PutUint32(out[start+4:], crc32.Checksum(packed, castagnoli))
	return out
}

// A frameReader takes frames from a file.
type frameReader struct {
	from    io.Reader
	size    int64 // of the file
	at      int64
	decoder *zstd.Decoder
}

func newFrameReader(from io.Reader, size int64) (*frameReader, error) {
	begin := make([]byte, len(magic))
	if _, err := io.ReadFull(from, begin); err != nil || string(begin) != magic {
		return nil, fmt.Errorf("offset 0: %w: the file begins with %q, and would with %q", ErrTorn, begin, magic)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(frameMax))
	if err != nil {
		return nil, err
	}
	return &frameReader{from, size, int64(len(magic)), decoder}, nil
}

// next is the next frame; io.EOF after the last.
func (r *frameReader) next() ([]byte, error) {
	var head [frameHead]byte
	switch n, err := io.ReadFull(r.from, head[:]); {
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case err != nil:
		return nil, fmt.Errorf("offset %d: %w: %d bytes are left, and a frame has more", r.at, ErrTorn, n)
	}
	size := int64(binary.LittleEndian.Uint32(head[:]))
	if left := r.size - r.at - frameHead; size > left {
		return nil, fmt.Errorf("offset %d: %w: a frame has %d bytes, and %d are left", r.at, ErrTorn, size, left)
	}
	packed := make([]byte, size)
	if _, err := io.ReadFull(r.from, packed); err != nil {
		return nil, fmt.Errorf("offset %d: %w: %w", r.at, ErrTorn, err)
	}
	if sum, want := crc32.Checksum(packed, castagnoli), binary.LittleEndian.Uint32(head[4:]); sum != want {
		return nil, fmt.Errorf("offset %d: %w: the checksum of the frame is %08x, and would be %08x", r.at, ErrTorn, sum, want)
	}
	content, err := r.decoder.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("offset %d: %w: %w", r.at, ErrTorn, err)
	}
	r.at += frameHead + size
	return content, nil
}
