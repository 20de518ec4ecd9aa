package webservice

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/contract"
)

// answerTypes are the Go types that operations answer with, by their IDs.
var answerTypes = map[string]reflect.Type{
	"readSummary":                  reflect.TypeFor[summaryJSON](),
	"listUseHistory":               reflect.TypeFor[[]pointJSON](),
	"listVictims":                  reflect.TypeFor[[]preemptedPodJSON](),
	"listClusters":                 reflect.TypeFor[[]clusterJSON](),
	"listPartitions":               reflect.TypeFor[[]partitionJSON](),
	"listApplicationHistory":       reflect.TypeFor[[]applicationCountJSON](),
	"listContainerHistory":         reflect.TypeFor[[]containerCountJSON](),
	"checkHealth":                  reflect.TypeFor[healthJSON](),
	"listUtilizations":             reflect.TypeFor[[]utilizationsJSON](),
	"readQueues":                   reflect.TypeFor[queueJSON](),
	"readQueue":                    reflect.TypeFor[queueJSON](),
	"listQueueApplications":        reflect.TypeFor[[]applicationJSON](),
	"listQueueApplicationsByState": reflect.TypeFor[[]applicationJSON](),
	"readQueueApplication":         reflect.TypeFor[applicationJSON](),
	"listNodes":                    reflect.TypeFor[[]nodeJSON](),
	"readNode":                     reflect.TypeFor[nodeJSON](),
	"listApplications":             reflect.TypeFor[[]applicationJSON](),
	"readApplication":              reflect.TypeFor[applicationJSON](),
	"listAsks":                     reflect.TypeFor[[]askJSON](),
	"listPreemptions":              reflect.TypeFor[[]preemptionJSON](),
	"explain":                      reflect.TypeFor[explanationJSON](),
	"whatIf":                       reflect.TypeFor[outcomeJSON](),
	"listUsers":                    reflect.TypeFor[[]userJSON](),
	"readUser":                     reflect.TypeFor[userJSON](),
	"listGroups":                   reflect.TypeFor[[]groupJSON](),
	"readGroup":                    reflect.TypeFor[groupJSON](),
	"listPlacementRules":           reflect.TypeFor[[]ruleJSON](),
	"readEvents":                   reflect.TypeFor[eventPageJSON](),
	"readConfiguration":            reflect.TypeFor[configurationJSON](),
	"validateConfiguration":        reflect.TypeFor[validationJSON](),
	"readDump":                     reflect.TypeFor[dumpJSON](),
}

// elsewhere are schemas of answers that no operation has as a whole.
var elsewhere = map[string]reflect.Type{
	"Failure":  reflect.TypeFor[failureJSON](),
	"Event":    reflect.TypeFor[eventJSON](),
	"Question": reflect.TypeFor[questionJSON](),
}

// TestOpenAPIHasEveryField compares the schemas with the Go types that are written,
// both ways: the fields, which of them may be left out, and what they hold.
func TestOpenAPIHasEveryField(t *testing.T) {
	w := &fieldWalk{Document: agreed(t), seen: map[string]reflect.Type{}}
	for _, op := range w.Operations() {
		pointer, said := w.Response(op, http.StatusOK, "")
		content, _ := said["content"].(jsonObject)
		id := op.Said["operationId"].(string)
		if content["application/json"] == nil || id == "streamEvents" || id == "readOpenAPIJSON" {
			continue
		}
		if assert.Check(t, answerTypes[id] != nil, "of which type is the answer of %s?", id) {
			w.walk(pointer+"/content/application~1json/schema", answerTypes[id])
		}
	}
	for name, goType := range elsewhere {
		w.walk("/components/schemas/"+name, goType)
	}
	slices.Sort(w.found)
	assert.Equal(t, strings.Join(slices.Compact(w.found), "\n"), "")
	for name, schema := range w.At("components", "schemas") {
		_, object := schema.(jsonObject)["properties"]
		assert.Assert(t, !object || w.seen["/components/schemas/"+name] != nil || name == "StreamHead", "nothing is a %s", name)
	}
}

// The types that are not written as what they are in Go.
var (
	timeType     = reflect.TypeFor[time.Time]()
	amountsType  = reflect.TypeFor[resources.Amounts]()
	limitsType   = reflect.TypeFor[resources.Limits]()
	decimalType  = reflect.TypeFor[decimal]()
	lazyListType = reflect.TypeFor[lazyList]()
)

// A fieldWalk goes through schemas and Go types side by side.
type fieldWalk struct {
	*contract.Document
	seen  map[string]reflect.Type // objects, by where they are in the document
	found []string                // what is wrong
}

func (w *fieldWalk) wrong(pointer, format string, args ...any) {
	w.found = append(w.found, pointer+": "+fmt.Sprintf(format, args...))
}

func (w *fieldWalk) walk(pointer string, goType reflect.Type) {
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
		w.walk(at+"/items", elementOf(goType))
	case goType == amountsType || goType == limitsType || goType == reflect.TypeFor[quantities]():
		w.walk(at+"/additionalProperties", reflect.TypeFor[int64]())
	case goType.Kind() == reflect.Map:
		w.walk(at+"/additionalProperties", goType.Elem())
	case want == "object":
		w.walkFields(at, said, goType)
	case want == "integer" && goType != timeType:
		w.walkInteger(at, said, goType)
	}
}

// walkPointer looks at what may be null or left out.
func (w *fieldWalk) walkPointer(at string, said jsonObject, goType reflect.Type) {
	types, _ := said["type"].([]any)
	either, _ := said["anyOf"].([]any)
	switch {
	case len(types) == 2 && types[0] == kindOfJSON(goType) && types[1] == "null": // a list or null
		w.walk(at+"/items", elementOf(goType))
	case len(either) == 2:
		w.walk(at+"/anyOf/0", goType)
	default:
		w.walk(at, goType)
	}
}

func (w *fieldWalk) walkInteger(at string, said jsonObject, goType reflect.Type) {
	bits := goType.Kind().String()
	if format, ok := said["format"]; bits != "int" && (!ok && bits != "int64" || ok && format != bits) {
		w.wrong(at, "format %v, and %s is %s", format, goType, bits)
	}
}

func (w *fieldWalk) walkFields(at string, said jsonObject, goType reflect.Type) {
	if before := w.seen[at]; before != nil {
		if before != goType {
			w.wrong(at, "stands for %s and for %s", before, goType)
		}
		return
	}
	w.seen[at] = goType
	properties, _ := said["properties"].(jsonObject)
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
		case slices.Contains(required, any(name)) != f.always && !isQuestion(goType):
			w.wrong(at, "%s is always there: %v", name, f.always)
		}
		w.walk(at+"/properties/"+contract.EscapeStep(name), f.goType)
	}
}

// isQuestion is whether clients write it and may leave out what they like.
func isQuestion(goType reflect.Type) bool {
	return slices.Contains([]reflect.Type{
		reflect.TypeFor[questionJSON](), reflect.TypeFor[newAskJSON](), reflect.TypeFor[newApplicationJSON](), reflect.TypeFor[preemptionPolicyJSON](),
		reflect.TypeFor[newNodesJSON](), reflect.TypeFor[newNodeJSON](),
	}, goType)
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
		return reflect.Zero(goType).Interface().(lazyList).element()
	}
	return goType.Elem()
}
