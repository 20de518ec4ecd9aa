package acceptance

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi/datamodel"
	"github.com/pb33f/libopenapi/index"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/docs"
)

// TestOpenAPIIsValid holds the document against the schema of OpenAPI 3.1, finds
// what every reference names, and compiles every schema.
func TestOpenAPIIsValid(t *testing.T) {
	official, err := jsonschema.UnmarshalJSON(strings.NewReader(datamodel.OpenAPI31SchemaData))
	assert.NilError(t, err)
	compiler := jsonschema.NewCompiler()
	assert.NilError(t, compiler.AddResource("official.json", official))
	schema, err := compiler.Compile("official.json")
	assert.NilError(t, err)
	content := ask(served(t, newWorld(t).config(t), ""), http.MethodGet, "/ws/v1/openapi.json").Body
	document, err := jsonschema.UnmarshalJSON(content)
	assert.NilError(t, err)
	assert.NilError(t, schema.Validate(document))

	read, err := datamodel.ExtractSpecInfo(docs.OpenAPI())
	assert.NilError(t, err)
	assert.Equal(t, read.Version, "3.1.0")
	references := index.NewSpecIndexWithConfig(read.RootNode, index.CreateClosedAPIIndexConfig())
	assert.Assert(t, len(references.GetAllReferences()) > 0)
	assert.NilError(t, errors.Join(references.GetReferenceIndexErrors()...))

	c := agreed(t)
	for name := range c.At("components", "schemas") {
		c.schema("/components/schemas/" + name)
	}
	seen := map[string]bool{}
	for _, op := range c.Operations() {
		id, _ := op.Said["operationId"].(string)
		assert.Assert(t, id != "" && !seen[id], "%s %s: operationId %q", op.Method, op.Path, id)
		seen[id] = true
		for _, name := range strings.FieldsFunc(op.Path, func(r rune) bool { return r == '/' }) {
			if inner, ok := strings.CutPrefix(name, "{"); ok {
				said := c.Parameters(op, "path")[strings.TrimSuffix(inner, "}")]
				assert.Assert(t, said["required"] == true, "%s: %s", op.Path, name)
			}
		}
	}
}
