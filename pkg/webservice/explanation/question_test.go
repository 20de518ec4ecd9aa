package explanation

import (
	"encoding/json"
	"reflect"
	"testing"

	"go.yaml.in/yaml/v3"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/docs"
	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/contract"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
)

// TestOpenAPIHasEveryFieldOfQuestions compares the schema with what is read.
func TestOpenAPIHasEveryFieldOfQuestions(t *testing.T) {
	var read any
	assert.NilError(t, yaml.Unmarshal(docs.OpenAPI(), &read))
	content, err := json.Marshal(read)
	assert.NilError(t, err)
	document, err := contract.Parse(content)
	assert.NilError(t, err)
	w := contract.NewSentWalk(document)
	w.Walk("/components/schemas/Question", reflect.TypeFor[questionJSON]())
	assert.Equal(t, w.Found(), "")
	for _, name := range contract.SentSchemas {
		assert.Assert(t, w.Seen(name), name)
	}
}

// TestWhatIfConfigurationHasTheDefaultsOfTheService: a text in a question says what it would say as
// the configuration.
func TestWhatIfConfigurationHasTheDefaultsOfTheService(t *testing.T) {
	w := fixture.New(t)
	const text = "partitions: [{name: default, queues: [{name: root, queues: [{name: low}]}]}]"
	for _, closed := range []bool{false, true} {
		from := &object.Sources{Kinds: w.Kinds, Defaults: config.Defaults{Closed: closed}}
		at := from.Snapshot(w.Names[0], w.Views[w.Names[0]], 0)
		read, err := parseConfig(at, text)
		assert.NilError(t, err)
		assert.Equal(t, read.Closed, closed)
	}
}
