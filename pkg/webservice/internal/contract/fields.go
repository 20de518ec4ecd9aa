package contract

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/configuration"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
)

// SentSchemas are the objects that clients send. All others are answered.
var SentSchemas = []string{"NewApplication", "NewAsk", "NewNode", "NewNodes", "PreemptionPolicy", "Question"}

// The types that are not written as what they are in Go.
var (
	timeType     = reflect.TypeFor[time.Time]()
	amountsType  = reflect.TypeFor[resources.Amounts]()
	limitsType   = reflect.TypeFor[resources.Limits]()
	decimalType  = reflect.TypeFor[configuration.Decimal]()
	lazyListType = reflect.TypeFor[encoder.List]()
)

// A FieldWalk goes through schemas and Go types side by side.
type FieldWalk struct {
	*Document
	seen  map[string]reflect.Type // objects, by where they are in the document
	found []string                // what is wrong
	sent  bool
}

// NewFieldWalk makes one for what is answered.
func NewFieldWalk(d *Document) *FieldWalk {
	return &FieldWalk{Document: d, seen: map[string]reflect.Type{}}
}

// NewSentWalk makes one for what clients send and may leave out.
func NewSentWalk(d *Document) *FieldWalk {
	return &FieldWalk{Document: d, seen: map[string]reflect.Type{}, sent: true}
}

// Found is what is wrong, one thing a line.
func (w *FieldWalk) Found() string {
	slices.Sort(w.found)
	return strings.Join(slices.Compact(w.found), "\n")
}

// Seen reports whether a schema was compared.
func (w *FieldWalk) Seen(schema string) bool { return w.seen["/components/schemas/"+schema] != nil }

func (w *FieldWalk) wrong(pointer, format string, args ...any) {
	w.found = append(w.found, pointer+": "+fmt.Sprintf(format, args...))
}

// Walk compares a schema with a type, and all that they are made of.
func (w *FieldWalk) Walk(pointer string, goType reflect.Type) {
	at, said := w.Meant(pointer)
	if goType.Kind() == reflect.Interface { // whatever others say
		return
	}
	if goType.Kind() == reflect.Pointer && !goType.Implements(lazyListType) {
		w.walkPointer(at, said, goType.Elem())
		return
	}
	want := kindOfJSON(goType)
	if said["type"] != want {
		w.wrong(at, "%v, and %s is a %s", said["type"], goType, want)
		return
	}
	switch {
	case want == "array":
		w.Walk(at+"/items", elementOf(goType))
	case goType == amountsType || goType == limitsType || goType == reflect.TypeFor[encoder.Quantities]():
		w.Walk(at+"/additionalProperties", reflect.TypeFor[int64]())
	case goType.Kind() == reflect.Map:
		w.Walk(at+"/additionalProperties", goType.Elem())
	case want == "object":
		w.walkFields(at, said, goType)
	case want == "integer" && goType != timeType:
		w.walkInteger(at, said, goType)
	}
}

// walkPointer looks at what may be null or left out.
func (w *FieldWalk) walkPointer(at string, said Object, goType reflect.Type) {
	types, _ := said["type"].([]any)
	either, _ := said["anyOf"].([]any)
	switch {
	case len(types) == 2 && types[0] == kindOfJSON(goType) && types[1] == "null": // a list or null
		w.Walk(at+"/items", elementOf(goType))
	case len(either) == 2:
		w.Walk(at+"/anyOf/0", goType)
	default:
		w.Walk(at, goType)
	}
}

func (w *FieldWalk) walkInteger(at string, said Object, goType reflect.Type) {
	bits := goType.Kind().String()
	if format, ok := said["format"]; bits != "int" && (!ok && bits != "int64" || ok && format != bits) {
		w.wrong(at, "format %v, and %s is %s", format, goType, bits)
	}
}

func (w *FieldWalk) walkFields(at string, said Object, goType reflect.Type) {
	if before := w.seen[at]; before != nil {
		if before != goType {
			w.wrong(at, "stands for %s and for %s", before, goType)
		}
		return
	}
	w.seen[at] = goType
	properties, _ := said["properties"].(Object)
	required, _ := said["required"].([]any)
	fields := shownFields(goType)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if _, ok := fields[name]; !ok {
			w.wrong(at, "%s is no field of %s", name, goType)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f := fields[name]
		switch {
		case properties[name] == nil:
			w.wrong(at, "%s of %s is not there", name, goType)
			continue
		case slices.Contains(required, any(name)) != f.always && !w.sent:
			w.wrong(at, "%s is always there: %v", name, f.always)
		}
		w.Walk(at+"/properties/"+EscapeStep(name), f.goType)
	}
}

// A shownField is what is written of a field of a struct.
type shownField struct {
	goType reflect.Type
	always bool
}

func shownFields(goType reflect.Type) map[string]shownField {
	out := map[string]shownField{}
	for f := range goType.Fields() {
		if !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		shown := shownField{f.Type, !strings.Contains(options, "omitempty")}
		if strings.Contains(options, "string") {
			shown.goType = reflect.TypeFor[string]()
		}
		out[name] = shown
	}
	return out
}

// kindOfJSON is the type in JSON of what is written for a Go type.
func kindOfJSON(goType reflect.Type) string {
	switch {
	case goType == timeType:
		return "integer"
	case goType == amountsType || goType == limitsType:
		return "object"
	case goType == decimalType:
		return "number"
	case goType.Implements(lazyListType):
		return "array"
	}
	switch goType.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Slice:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	default:
		return "integer"
	}
}

func elementOf(goType reflect.Type) reflect.Type {
	if goType.Implements(lazyListType) {
		return reflect.Zero(goType).Interface().(encoder.List).Element()
	}
	return goType.Elem()
}
