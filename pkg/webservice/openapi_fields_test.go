package webservice

import (
	"net/http"
	"reflect"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/contract"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/past"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// fieldTests are the functions that answer operations, by their IDs. The types of what they
// answer are compared with the document.
func (s *Service) fieldTests() map[string]handler {
	return map[string]handler{
		"readSummary":                  s.looking(object.Summary),
		"listUseHistory":               s.looking(past.UseHistory),
		"listAccounting":               s.looking(past.Accounting(s.config.Accounting)),
		"listChanges":                  s.looking(past.Changes),
		"listLosses":                   s.looking(past.Losses),
		"listVictims":                  s.looking(past.Victims),
		"listClusters":                 s.seeing((*object.Sources).Clusters),
		"listPartitions":               s.seeing((*object.Sources).Partitions),
		"listApplicationHistory":       s.counting((*object.Sources).ApplicationHistory),
		"listContainerHistory":         s.counting((*object.Sources).ContainerHistory),
		"checkHealth":                  func(r *http.Request) (any, error) { return s.health(r) },
		"listUtilizations":             s.seeing((*object.Sources).Utilizations),
		"readQueues":                   s.looking(object.Queues),
		"readQueue":                    s.looking(object.Queue),
		"listQueueApplications":        s.looking(object.QueueApplications),
		"listQueueApplicationsByState": s.looking(object.QueueApplications),
		"readQueueApplication":         s.looking(object.Application),
		"listNodes":                    s.looking(object.Nodes),
		"readNode":                     s.looking(object.Node),
		"listApplications":             s.looking(object.Applications),
		"readApplication":              s.looking(object.Application),
		"listAsks":                     s.looking(object.Asks),
		"listStartGroups":              s.looking(object.StartGroups),
		"listDomains":                  s.looking(object.Domains),
		"listPreemptions":              s.looking(past.Preemptions),
		"examine":                      s.looking(s.doctor),
		"explain":                      s.looking(s.why),
		"whatIf":                       s.looking(s.whatIf),
		"listUsers":                    s.looking(object.Users),
		"readUser":                     object.User(s.snapshot),
		"listGroups":                   s.looking(object.Groups),
		"readGroup":                    object.Group(s.snapshot),
		"listPlacementRules":           s.looking(object.Rules),
		"readEvents":                   s.eventBatch,
		"readConfiguration":            s.configuration,
		"validateConfiguration":        s.validate,
		"readDump":                     s.dump,
	}
}

// typeAnswered is the type of what a function answers an operation with: of a list, a slice
// of its elements.
func (s *Service) typeAnswered(t *testing.T, document *contract.Document, op contract.Operation, h handler) reflect.Type {
	t.Helper()
	var value any
	mux := http.NewServeMux()
	mux.HandleFunc(op.Path, func(_ http.ResponseWriter, r *http.Request) {
		var err error
		value, err = h(s.withViews(r, s.config.Views.Partitions()...))
		assert.NilError(t, err, r.URL)
	})
	document.Ask(mux, op, "")
	of := reflect.ValueOf(value).Elem()
	if p, ok := value.(*pretty); ok {
		of = reflect.ValueOf(p.value).Elem()
	}
	if of.Type() == reflect.TypeFor[query.Selection]() { // which shows its value to no reader but the encoder
		of = of.FieldByName("value").Elem()
		if list, ok := reflect.Zero(of.Type()).Interface().(encoder.List); ok {
			return reflect.SliceOf(list.Element())
		}
		return of.Type().Elem()
	}
	return of.Type()
}

// elsewhere are schemas of answers that no operation has as a whole.
var elsewhere = map[string]reflect.Type{
	"Failure": reflect.TypeFor[failureJSON](),
	"Event":   reflect.TypeFor[eventJSON](),
}

// TestOpenAPIHasEveryField compares the schemas with the Go types that are written,
// both ways: the fields, which of them may be left out, and what they hold.
func TestOpenAPIHasEveryField(t *testing.T) {
	s := newWorld(t).service(t)
	w := contract.NewFieldWalk(agreed(t))
	handlers := s.fieldTests()
	for _, op := range w.Operations() {
		pointer, said := w.Response(op, http.StatusOK, "")
		content, _ := said["content"].(jsonObject)
		id := op.Said["operationId"].(string)
		if content["application/json"] == nil || id == "streamEvents" || id == "readOpenAPIJSON" {
			continue
		}
		if assert.Check(t, handlers[id] != nil, "what answers %s?", id) {
			w.Walk(pointer+"/content/application~1json/schema", s.typeAnswered(t, w.Document, op, handlers[id]))
		}
	}
	for name, goType := range elsewhere {
		w.Walk("/components/schemas/"+name, goType)
	}
	assert.Equal(t, w.Found(), "")
	for name, schema := range w.At("components", "schemas") {
		_, object := schema.(jsonObject)["properties"]
		assert.Assert(t, !object || w.Seen(name) || slices.Contains(contract.SentSchemas, name) || name == "StreamHead", "nothing is a %s", name)
	}
}
