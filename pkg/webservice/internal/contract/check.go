package contract

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// Check says in what an answer breaks the contract; nil if it keeps it.
func (d *Document) Check(method string, target *url.URL, w *httptest.ResponseRecorder, content string) error {
	op, known := d.Find(method, target.EscapedPath())
	if escaped := target.EscapedPath(); path.Clean(escaped) != strings.TrimSuffix(escaped, "/") {
		known = false // whatever it says
	}
	shared := ""
	switch {
	case !known && w.Code == http.StatusMovedPermanently:
		return nil // to the path that was meant
	case w.Code == http.StatusMethodNotAllowed:
		shared = "MethodNotAllowed"
	case !known && w.Code == http.StatusUnauthorized:
		shared = "Unauthorized"
	case !known && w.Code == http.StatusNotFound:
		shared = "UnknownPath"
	case !known:
		return errors.New("the path is not in the document")
	}
	pointer, response := d.Response(op, w.Code, shared)
	if response == nil {
		return fmt.Errorf("%s has no status %d", op.Path, w.Code)
	}
	if err := d.checkHead(response, w.Header()); err != nil {
		return err
	}
	if method == http.MethodHead {
		return nil
	}
	if !known || d.Parameters(op, "query")["fields"] == nil {
		target = &url.URL{Path: target.Path} // it is ignored, as all that are not known are
	}
	return d.CheckBody(pointer, response, w.Header().Get("Content-Type"), content, target)
}

func (d *Document) checkHead(response Object, head http.Header) error {
	headers, _ := response["headers"].(Object)
	for name, raw := range headers {
		said := d.followed(raw.(Object))
		given := head.Get(name)
		if given == "" {
			if said["required"] == true {
				return fmt.Errorf("header %s is missing", name)
			}
			continue
		}
		var value any = given
		if said["schema"].(Object)["type"] == "integer" {
			value = json.Number(given)
		}
		if !headersShared[name] {
			if wanted := said["schema"].(Object)["const"]; wanted != nil && !strings.HasPrefix(given, wanted.(string)) {
				return fmt.Errorf("header %s is %s", name, given)
			}
			continue
		}
		if err := d.Validate("/components/headers/"+name+"/schema", value); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	return nil
}

// headersShared are those that the document describes once for all.
var headersShared = map[string]bool{"Age": true, "ETag": true, "X-Counts": true, "X-Total-Count": true, "Link": true, "Allow": true, "Retry-After": true}

// CheckBody looks at the body of an answer that was meant for a target.
func (d *Document) CheckBody(pointer string, response Object, contentType, body string, target *url.URL) error {
	contents, _ := response["content"].(Object)
	if contents == nil {
		if body != "" {
			return fmt.Errorf("a body that is not in the document: %.100q", body)
		}
		return nil
	}
	base, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return err
	}
	said, ok := contents[base].(Object)
	if !ok {
		return fmt.Errorf("content of type %s, which is not in the document", contentType)
	}
	if said["schema"] == nil {
		return nil
	}
	at := pointer + "/content/" + EscapeStep(base) + "/schema"
	switch base {
	case "text/event-stream":
		return d.CheckServerSent(pointer+"/content/application~1json/schema", body)
	case "application/json":
	default:
		return d.Validate(at, body)
	}
	return d.checkJSON(at, body, target)
}

// checkJSON looks at one value, or at one a line of a stream.
func (d *Document) checkJSON(pointer string, body string, target *url.URL) error {
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.UseNumber()
	stream := strings.HasSuffix(target.Path, "/stream")
	for n := 0; ; n++ {
		var value any
		switch err := decoder.Decode(&value); {
		case errors.Is(err, io.EOF) && n > 0:
			return nil
		case err != nil:
			return fmt.Errorf("value %d: %w", n, err)
		case n > 0 && !stream:
			return errors.New("a second value, and it is no stream")
		}
		if err := d.checkValue(pointer, value, target); err != nil {
			return err
		}
	}
}

func (d *Document) checkValue(pointer string, value any, target *url.URL) error {
	fields, picked := target.Query()["fields"]
	at, said := d.Meant(pointer)
	if !picked || at == "/components/schemas/Failure" {
		return d.Validate(pointer, value)
	}
	objects := []any{value}
	if said["type"] == "array" {
		list, ok := value.([]any)
		if !ok {
			return errors.New("no list")
		}
		objects = list
		at, said = d.Meant(at + "/items")
	}
	if said["properties"] == nil {
		return d.Validate(pointer, value)
	}
	for _, one := range objects {
		if err := d.checkPicked(at, said, one, strings.Split(fields[0], ",")); err != nil {
			return err
		}
	}
	return nil
}

// checkPicked looks at an object of which only some fields were asked for: no
// others are there, and none of those that always are is missing.
func (d *Document) checkPicked(pointer string, said Object, value any, fields []string) error {
	given, ok := value.(Object)
	if !ok {
		return errors.New("no object")
	}
	properties := said["properties"].(Object)
	for name, inner := range given {
		if properties[name] == nil || !slices.Contains(fields, name) {
			return fmt.Errorf("field %s was not asked for", name)
		}
		if err := d.Validate(pointer+"/properties/"+name, inner); err != nil {
			return err
		}
	}
	required, _ := said["required"].([]any)
	for _, name := range required {
		if _, ok := given[name.(string)]; !ok && slices.Contains(fields, name.(string)) {
			return fmt.Errorf("field %s is missing", name)
		}
	}
	return nil
}

// CheckServerSent looks at server-sent events: the first is the instance, the others
// have their numbers as IDs, and the data of each is what would be a line otherwise.
func (d *Document) CheckServerSent(pointer, body string) error {
	for n, block := range strings.SplitAfter(body, "\n\n") {
		if block == "" {
			continue
		}
		head, data, _ := strings.Cut(strings.TrimSuffix(block, "\n\n"), "\n")
		data, ok := strings.CutPrefix(data, "data: ")
		if !ok || strings.Contains(data, "\n") || !strings.HasSuffix(block, "\n\n") {
			return fmt.Errorf("event %d is no event: %q", n, block)
		}
		value, err := decode([]byte(data))
		if err == nil {
			err = d.Validate(pointer, value)
		}
		if err != nil {
			return fmt.Errorf("event %d: %w", n, err)
		}
		id, numbered := value.(Object)["id"].(json.Number)
		_, last := value.(Object)["status_code"]
		want := "event: instance"
		if n > 0 && !last {
			want = "id: " + id.String()
		}
		if head != want || numbered == (want == "event: instance") {
			return fmt.Errorf("event %d begins with %q", n, head)
		}
	}
	return nil
}

// Unpacked is the body of an answer, uncompressed.
func Unpacked(t testing.TB, w *httptest.ResponseRecorder) string {
	t.Helper()
	if w.Header().Get("Content-Encoding") != "gzip" {
		return w.Body.String()
	}
	r, err := gzip.NewReader(bytes.NewReader(w.Body.Bytes()))
	assert.NilError(t, err)
	content, err := io.ReadAll(r)
	assert.NilError(t, err)
	return string(content)
}
