package clusterfile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
)

// uidOf is the UID of an object that has none.
func uidOf(o *unstructured.Unstructured) types.UID {
	return types.UID(strings.ToLower(o.GetKind()) + "/" + o.GetNamespace() + "/" + o.GetName())
}

// RoundTrip implements http.RoundTripper: it answers as an API server that has these objects, where
// nothing ever changes. Lists are whole, whatever selectors and namespaces are asked for, and writing is not allowed.
func (f *File) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close() // a RoundTripper always closes it
	}
	query := r.URL.Query()
	switch path := r.URL.Path; {
	case r.Method != http.MethodGet:
		return refuse(r, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed), nil
	case query.Has("sendInitialEvents"): // as an API server that can only list
		return refuse(r, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid), nil
	case query.Has("watch"):
		return respond(r, http.StatusOK, untilEnd{r.Context()}), nil
	case path == "/version":
		major, minor, _ := strings.Cut(strings.TrimPrefix(f.Version, "v"), ".")
		minor, _, _ = strings.Cut(minor, ".")
		return answer(r, http.StatusOK, version.Info{Major: major, Minor: minor, GitVersion: f.Version}), nil
	case path == "/api/v1":
		return answer(r, http.StatusOK, metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "pods/eviction", Kind: "Eviction", Group: "policy", Version: "v1", Namespaced: true},
		}}), nil
	default:
		return f.get(r, path), nil
	}
}

// get answers with a list, or with one object.
func (f *File) get(r *http.Request, path string) *http.Response {
	if parts := strings.Split(path, "/"); len(parts) > 2 { // a list of all namespaces, or one object of none
		parent := strings.Join(parts[:len(parts)-1], "/")
		if named := f.named(parent, parts[len(parts)-1]); named != nil {
			return answer(r, http.StatusOK, named)
		}
	}
	if strings.Contains(path, "/namespaces/") {
		return refuse(r, http.StatusNotFound, metav1.StatusReasonNotFound)
	}
	items := f.lists[path]
	if items == nil {
		items = []json.RawMessage{}
	}
	return answer(r, http.StatusOK, map[string]any{"metadata": metav1.ListMeta{ResourceVersion: "1"}, "items": items})
}

// named is the object at a path; nil if there is none.
func (f *File) named(parent, name string) json.RawMessage {
	namespace := ""
	if before, after, ok := strings.Cut(parent, "/namespaces/"); ok {
		var resource string
		namespace, resource, _ = strings.Cut(after, "/")
		parent = before + "/" + resource
	}
	for _, text := range f.lists[parent] {
		var o metav1.PartialObjectMetadata
		if json.Unmarshal(text, &o) == nil && o.Name == name && o.Namespace == namespace {
			return text
		}
	}
	return nil
}

func answer(r *http.Request, status int, value any) *http.Response {
	text, err := json.Marshal(value)
	if err != nil {
		panic("clusterfile: " + err.Error()) // values of this package
	}
	return respond(r, status, io.NopCloser(bytes.NewReader(text)))
}

// refuse answers as an API server does to what it does not do, or does not have.
func refuse(r *http.Request, code int32, reason metav1.StatusReason) *http.Response {
	return answer(r, int(code), metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Reason: reason, Code: code,
		Message: fmt.Sprintf("the cluster is a file: %s %s", r.Method, r.URL.Path),
	})
}

func respond(r *http.Request, status int, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body, ContentLength: -1, Request: r,
	}
}

// untilEnd is the answer to a watch: nothing, until the request ends.
type untilEnd struct{ context.Context }

// Read implements io.Reader.
func (u untilEnd) Read([]byte) (int, error) {
	<-u.Done()
	return 0, io.EOF
}

// Close implements io.Closer.
func (untilEnd) Close() error { return nil }
