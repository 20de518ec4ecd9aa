package clusterfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	sigs "sigs.k8s.io/yaml"
)

// A File is the objects of a cluster. It does not change, and is safe for concurrent use.
type File struct {
	// Version is what it says that the API server is of, such as v1.36.0; empty is none.
	Version string
	lists   map[string][]json.RawMessage // by the path of the resource, in the order of the text
}

// known are the kinds whose fields are checked.
var known = with(scheme.Scheme, metricsv1beta1.AddToScheme)

// with is a scheme with further kinds; the one that is given stays as it is.
func with(base *runtime.Scheme, add func(*runtime.Scheme) error) runtime.Decoder {
	s := runtime.NewScheme()
	for gvk := range base.AllKnownTypes() {
		if object, err := base.New(gvk); err == nil {
			s.AddKnownTypeWithName(gvk, object)
		}
	}
	if err := add(s); err != nil {
		panic("clusterfile: " + err.Error()) // kinds of libraries
	}
	return serializer.NewCodecFactory(s, serializer.EnableStrict).UniversalDeserializer()
}

// Read reads objects in YAML or JSON: documents one after the other, and lists of them, as
// kubectl get -o yaml prints them. The error lists everything that cannot be read. Fields that
// do not exist are in unknown; without them the file is usable.
//
// What is left out is completed: an object without a UID gets one, and one that has no
// creation time was created now. Measured use counts as measured now.
func Read(now time.Time, text []byte) (file *File, unknown []string, err error) {
	r := reader{now: metav1.NewTime(now.Truncate(time.Second)), file: &File{lists: map[string][]json.RawMessage{}}}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			document, err = sigs.YAMLToJSON(document)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("document %d: %w", n, err)
		}
		r.add(document)
	}
	if err := errors.Join(r.wrong...); err != nil {
		return nil, nil, err
	}
	if len(r.file.lists) == 0 {
		return nil, nil, errors.New("there are no objects")
	}
	return r.file, r.unknown, nil
}

// A reader collects objects, and what is wrong with them.
type reader struct {
	now     metav1.Time
	file    *File
	objects int
	wrong   []error
	unknown []string
}

// add adds an object, or those of a list.
func (r *reader) add(text []byte) {
	if string(text) == "null" {
		return // an empty document
	}
	var o unstructured.Unstructured
	r.objects++
	if err := json.Unmarshal(text, &o.Object); err != nil {
		r.wrong = append(r.wrong, fmt.Errorf("object %d: %w", r.objects, err))
		return
	}
	if items, ok := o.Object["items"].([]any); ok && strings.HasSuffix(o.GetKind(), "List") {
		r.objects--
		for _, item := range items {
			one, err := json.Marshal(item)
			if err != nil {
				panic("clusterfile: " + err.Error()) // it was JSON
			}
			r.add(one)
		}
		return
	}
	if err := r.object(&o); err != nil {
		name := strings.Trim(o.GetNamespace()+"/"+o.GetName(), "/")
		r.wrong = append(r.wrong, fmt.Errorf("object %d: %s %s: %w", r.objects, o.GetKind(), name, err))
	}
}

// object adds one object.
func (r *reader) object(o *unstructured.Unstructured) error {
	switch {
	case o.GetAPIVersion() == "" || o.GetKind() == "":
		return errors.New("apiVersion or kind is missing")
	case o.GetName() == "":
		return errors.New("metadata.name is missing")
	}
	gvk := o.GroupVersionKind()
	path := pathOf(gvk)
	r.complete(o, gvk)
	text, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	switch _, _, err := known.Decode(text, nil, nil); {
	case runtime.IsStrictDecodingError(err):
		r.unknown = append(r.unknown, fmt.Sprintf("object %d: %s %s: %s", r.objects, o.GetKind(), o.GetName(), err))
	case err != nil && !runtime.IsNotRegisteredError(err):
		return err
	}
	r.file.lists[path] = append(r.file.lists[path], text)
	return nil
}

// complete fills in what was left out.
func (r *reader) complete(o *unstructured.Unstructured, gvk schema.GroupVersionKind) {
	if gvk.Group == metricsv1beta1.GroupName {
		o.Object["timestamp"] = r.now.UTC().Format(time.RFC3339)
		return
	}
	if o.GetUID() == "" {
		o.SetUID(uidOf(o))
	}
	if o.GetCreationTimestamp().Time.IsZero() {
		o.SetCreationTimestamp(r.now)
	}
}

// pathOf is where an API server has the objects of a kind.
func pathOf(gvk schema.GroupVersionKind) string {
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	if gvk.Group == metricsv1beta1.GroupName {
		resource.Resource = strings.TrimSuffix(strings.ToLower(gvk.Kind), "metrics") + "s"
	}
	if gvk.Group == "" {
		return "/api/" + gvk.Version + "/" + resource.Resource
	}
	return "/apis/" + gvk.Group + "/" + gvk.Version + "/" + resource.Resource
}
