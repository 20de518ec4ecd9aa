package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
)

func configurationSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("../../../docs/configuration.schema.json")
	assert.NilError(t, err)
	return schema
}

// beyondConfigurationSchema are the tests of the reader that are wrong in a way which no schema can say:
// it looks at one value, and not at others, at names that are given twice or at the text.
var beyondConfigurationSchema = []string{
	"aliases", "bomb", "limits-along-the-tree", "not-yaml", "partition-limits", "resources-along-the-tree", "root", "second-document", "twice",
}

// TestConfigurationSchemaAndReaderAgree runs what the reader is tested with through the schema. What the
// reader takes the schema takes, and what it refuses the schema refuses, as far as it can.
func TestConfigurationSchemaAndReaderAgree(t *testing.T) {
	schema := configurationSchema(t)
	files, err := filepath.Glob("../../config/testdata/*.yaml")
	assert.NilError(t, err)
	samples, err := filepath.Glob("../../../docs/examples/yunikorn/*.yaml")
	assert.NilError(t, err)
	var beyond []string
	for _, file := range append(files, samples...) {
		text, err := os.ReadFile(file)
		assert.NilError(t, err)
		_, refused := config.Load(string(text), nil)
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		wrong := schemaRefuses(schema, string(text))
		if refused == nil {
			assert.NilError(t, wrong, file)
		} else if wrong == nil {
			beyond = append(beyond, name)
		}
	}
	assert.DeepEqual(t, beyond, beyondConfigurationSchema)
}

// schemaRefuses says what is wrong with a text by the schema.
func schemaRefuses(schema *jsonschema.Schema, text string) error {
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return nil // this is not for a schema to say
	}
	return schema.Validate(asJSON(value))
}

// asJSON is a value of YAML as one of JSON.
func asJSON(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			value[key] = asJSON(item)
		}
		return value
	case map[any]any:
		out := map[string]any{}
		for key, item := range value {
			out[fmt.Sprint(key)] = asJSON(item)
		}
		return out
	case []any:
		for i, item := range value {
			value[i] = asJSON(item)
		}
	case uint64:
		return float64(value)
	}
	return value
}

// TestConfigurationSchemaKnowsValues has one wrong value for each sort of value.
func TestConfigurationSchemaKnowsValues(t *testing.T) {
	schema := configurationSchema(t)
	queue := func(text string) string { return "{partitions: [{queues: [{name: a, " + text + "}]}]}" }
	for _, c := range []struct{ right, wrong string }{
		{queue("resources: {max: {vcore: 500m, memory: 1.5Gi, x: 3}}"), queue("resources: {max: {memory: 1GB}}")},
		{queue("maxapplications: 3"), queue("maxapplications: -1")},
		{queue("parent: yes"), queue("parent: perhaps")},
		{queue("properties: {preemption.delay: 1m30s}"), queue("properties: {preemption.delay: 30}")},
		{queue("properties: {preemption.policy: FENCE}"), queue("properties: {preemption.policy: none}")},
		{queue("properties: {application.sort.policy: fair}"), queue("properties: {application.sort.policy: Fair}")},
		{queue("queues: [{name: b}]"), queue("queues: [{name: b.c}]")},
		{"{partitions: [{queues: [], placementrules: [{name: FIXED, value: a}]}]}", "{partitions: [{queues: [], placementrules: [{name: FIXED}]}]}"},
		{"{partitions: [{queues: [], placementrules: [{name: user, filter: {type: Deny}}]}]}", "{partitions: [{queues: [], placementrules: [{name: recovery}]}]}"},
		{"{partitions: [{queues: [], preemption: {preemption_victims_max: 256}}]}", "{partitions: [{queues: [], preemption: {preemption_victims_max: 257}}]}"},
		{"{partitions: [{queues: []}]}", "{partitions: []}"},
	} {
		_, err := config.Load(c.right, nil)
		if err != nil {
			assert.Assert(t, strings.Contains(err.Error(), "there is no queue root.a"), "%v", err)
		}
		assert.NilError(t, schemaRefuses(schema, c.right), c.right)
		_, err = config.Load(c.wrong, nil)
		assert.Assert(t, err != nil, c.wrong)
		assert.Assert(t, schemaRefuses(schema, c.wrong) != nil, c.wrong)
	}
}
