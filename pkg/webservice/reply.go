package webservice

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// compressFrom is the size in bytes from which a body is compressed.
const compressFrom = 1400

// newCompression makes the middleware that compresses bodies for the clients that
// accept it.
func newCompression() func(http.Handler) http.HandlerFunc {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(compressFrom), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.EnableZstd(false))
	if err != nil {
		panic("webservice: " + err.Error()) // only what is written above can be wrong
	}
	return wrap
}

// A reply is an answer that is made: what a handler writes to it is kept. Once it is
// made it does not change, so several requests for the same may send it.
type reply struct {
	status int
	head   http.Header
	chunks [][]byte // of the body, as it is sent
	length int
}

// Header is the head of the answer.
func (m *reply) Header() http.Header { return m.head }

// WriteHeader keeps the status.
func (m *reply) WriteHeader(status int) { m.status = status }

// Write keeps more of the body.
func (m *reply) Write(content []byte) (int, error) {
	written := len(content)
	for len(content) > 0 {
		last := len(m.chunks) - 1
		if last < 0 || len(m.chunks[last]) == cap(m.chunks[last]) {
			m.chunks = append(m.chunks, newChunk(m.length))
			last++
		}
		n := min(len(content), cap(m.chunks[last])-len(m.chunks[last]))
		m.chunks[last] = append(m.chunks[last], content[:n]...)
		m.length += n
		content = content[n:]
	}
	return written, nil
}

// chunks are buffers of replies that were sent. A list of all allocations takes many
// of them, and clients ask for it again and again.
var chunks = sync.Pool{New: func() any { return new([encoder.ChunkBytes]byte) }}

// newChunk is a buffer for what follows so many bytes.
func newChunk(length int) []byte {
	if length < encoder.ChunkBytes {
		return make([]byte, 0, max(length, 1<<10))
	}
	return chunks.Get().(*[encoder.ChunkBytes]byte)[:0]
}

// release lets other replies have the buffers. The reply is not used any more.
func (m *reply) release() {
	for _, chunk := range m.chunks {
		if cap(chunk) == encoder.ChunkBytes {
			chunks.Put((*[encoder.ChunkBytes]byte)(chunk[:encoder.ChunkBytes]))
		}
	}
	m.chunks = nil
}

// write makes the reply with a value, and with all that belongs into its head.
func (rs *responder) write(r *http.Request, value any, status int) *reply {
	made := &reply{status: status, head: http.Header{}}
	var sum *digest
	body := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentTypeOf(value))
		w.WriteHeader(status)
		sum = &digest{Digest: xxhash.New(), to: w}
		rs.encode(sum, value)
		if chosen, ok := value.(*query.Selection); ok { // the same page with other counts is another answer
			_, _ = sum.WriteString(chosen.CountsText())
		}
	}
	// A HEAD request gets the head that GET has.
	rs.compress(http.HandlerFunc(body)).ServeHTTP(made, &http.Request{Method: http.MethodGet, Header: r.Header})

	head := made.head
	head.Set("Date", rs.now().UTC().Format(http.TimeFormat)) // that of a moment which is shown, too: ages count from it
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	if chosen, ok := value.(*query.Selection); ok {
		chosen.Describe(head, r.URL)
	}
	if status == http.StatusOK && r.Method != http.MethodPost {
		head.Set("ETag", sum.tag())
		head.Set("Cache-Control", "no-cache") // to be kept, and asked about each time
	}
	head.Set("Content-Length", strconv.Itoa(made.length))
	return made
}

// A digest passes on a body and adds up what makes its tag.
type digest struct {
	*xxhash.Digest
	to   io.Writer
	size int
}

// Write passes on a part of the body.
func (d *digest) Write(content []byte) (int, error) {
	_, _ = d.Digest.Write(content) // never fails
	d.size += len(content)
	return d.to.Write(content)
}

// tag is the entity tag. It is weak, as it is that of the body before it is
// compressed.
func (d *digest) tag() string { return fmt.Sprintf(`W/"%x-%016x"`, d.size, d.Sum64()) }

// contentTypeOf is the type of what is written for a value.
func contentTypeOf(value any) string {
	if t, ok := value.(*text); ok {
		return t.contentType
	}
	return typeJSON
}

// encode writes a value.
func (rs *responder) encode(to io.Writer, value any) {
	if t, ok := value.(*text); ok {
		_, _ = to.Write(t.content) // into memory
		return
	}
	e := encoder.New(rs.config.Kinds, to)
	p, lines := value.(*pretty)
	if lines {
		e.Indent()
		value = p.value
	}
	e.Any(value)
	e.Flush()
	if lines {
		_, _ = to.Write([]byte("\n"))
	}
}

// send answers a request with the reply, or says that the client has it already.
func (m *reply) send(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	for name, values := range m.head {
		head[name] = append(head[name], values...)
	}
	viewsOf(r).describe(head)
	if tag := head.Get("ETag"); tag != "" && matches(r.Header, tag) {
		head.Del("Content-Encoding")
		head.Del("Content-Length")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.WriteHeader(m.status)
	if r.Method == http.MethodHead {
		return
	}
	for _, chunk := range m.chunks {
		if _, err := w.Write(chunk); err != nil {
			return // the client went away
		}
	}
}

// matches reports whether a client has the answer with this tag already. The
// comparison is the weak one: W/ does not count.
func matches(header http.Header, tag string) bool {
	for _, line := range header.Values("If-None-Match") {
		for known := range strings.SplitSeq(line, ",") {
			known = strings.TrimSpace(known)
			if known == "*" || strings.TrimPrefix(known, "W/") == strings.TrimPrefix(tag, "W/") {
				return true
			}
		}
	}
	return false
}
