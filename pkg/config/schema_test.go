package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
	"gotest.tools/v3/assert"
)

const schemaFile = "../../docs/configuration.schema.json"

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	assert.NilError(t, err)
	return schema
}

// places are texts with a key that is not known, one in each mapping with a fixed list of
// keys, by the name that the schema gives to the mapping.
var places = map[string]string{
	"":                  "{wrong: }",
	"partition":         "{partitions: [{wrong: }]}",
	"nodesortpolicy":    "{partitions: [{nodesortpolicy: {wrong: }}]}",
	"preemption":        "{partitions: [{preemption: {wrong: }}]}",
	"usergroupresolver": "{partitions: [{usergroupresolver: {wrong: }}]}",
	"limit":             "{partitions: [{limits: [{wrong: }]}]}",
	"rule":              "{partitions: [{placementrules: [{wrong: }]}]}",
	"filter":            "{partitions: [{placementrules: [{filter: {wrong: }}]}]}",
	"queue":             "{partitions: [{queues: [{name: a, wrong: }]}]}",
	"resources":         "{partitions: [{queues: [{name: a, resources: {wrong: }}]}]}",
	"template":          "{partitions: [{queues: [{name: a, childtemplate: {wrong: }}]}]}",
}

var knownKeys = regexp.MustCompile(`unknown key, known here: (.*)`)

// known are the keys that the reader knows in the mapping of a text that has a wrong one.
func known(t *testing.T, text string) []string {
	t.Helper()
	_, err := Load(text, nil)
	found := knownKeys.FindStringSubmatch(err.Error())
	assert.Assert(t, found != nil, "%s: %v", text, err)
	return slices.Sorted(slices.Values(strings.Split(found[1], ", ")))
}

// schemaObjects are the mappings of a schema with a fixed list of keys, by name.
func schemaObjects(t *testing.T) map[string]map[string]any {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	assert.NilError(t, err)
	var schema map[string]any
	assert.NilError(t, yaml.Unmarshal(text, &schema))
	objects := map[string]map[string]any{"": schema["properties"].(map[string]any)}
	for name, def := range schema["$defs"].(map[string]any) {
		def := def.(map[string]any)
		if properties, is := def["properties"].(map[string]any); is {
			objects[name] = properties
		}
	}
	return objects
}

// TestSchemaHasTheKeysOfTheReader walks every list of keys of the reader.
func TestSchemaHasTheKeysOfTheReader(t *testing.T) {
	objects := schemaObjects(t)
	for name, text := range places {
		assert.DeepEqual(t, slices.Sorted(maps.Keys(objects[name])), known(t, text))
		delete(objects, name)
	}
	var names []string
	for _, p := range propertyTable() {
		names = append(names, p.name)
	}
	slices.Sort(names)
	assert.DeepEqual(t, slices.Sorted(maps.Keys(objects["properties"])), names)
	delete(objects, "properties")
	assert.Equal(t, len(objects), 0, "the reader has no such mapping: %v", objects)
}

// beyondSchema are the tests of the reader that are wrong in a way which no schema can say:
// it looks at one value, and not at others, at names that are given twice or at the text.
var beyondSchema = []string{
	"aliases", "bomb", "limits-along-the-tree", "not-yaml", "partition-limits", "resources-along-the-tree", "root", "second-document", "twice",
}

// TestSchemaAndReaderAgree runs what the reader is tested with through the schema. What the
// reader takes the schema takes, and what it refuses the schema refuses, as far as it can.
func TestSchemaAndReaderAgree(t *testing.T) {
	schema := compileSchema(t)
	files, err := filepath.Glob("testdata/*.yaml")
	assert.NilError(t, err)
	samples, err := filepath.Glob("../../docs/examples/yunikorn/*.yaml")
	assert.NilError(t, err)
	var beyond []string
	for _, file := range append(files, samples...) {
		text, err := os.ReadFile(file)
		assert.NilError(t, err)
		_, refused := Load(string(text), nil)
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		wrong := schemaRefuses(schema, string(text))
		if refused == nil {
			assert.NilError(t, wrong, file)
		} else if wrong == nil {
			beyond = append(beyond, name)
		}
	}
	assert.DeepEqual(t, beyond, beyondSchema)
}

// schemaRefuses says what is wrong with a text by the schema.
func schemaRefuses(schema *jsonschema.Schema, text string) error {
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return nil // this is not for a schema to say
	}
	return schema.Validate(plain(value))
}

// plain is a value of YAML as one of JSON.
func plain(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			value[key] = plain(item)
		}
		return value
	case map[any]any:
		out := map[string]any{}
		for key, item := range value {
			out[fmt.Sprint(key)] = plain(item)
		}
		return out
	case []any:
		for i, item := range value {
			value[i] = plain(item)
		}
	case uint64:
		return float64(value)
	}
	return value
}

// TestSchemaKnowsValues has one wrong value for each sort of value.
func TestSchemaKnowsValues(t *testing.T) {
	schema := compileSchema(t)
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
		_, err := Load(c.right, nil)
		if err != nil {
			assert.Assert(t, strings.Contains(err.Error(), "there is no queue root.a"), "%v", err)
		}
		assert.NilError(t, schemaRefuses(schema, c.right), c.right)
		_, err = Load(c.wrong, nil)
		assert.Assert(t, err != nil, c.wrong)
		assert.Assert(t, schemaRefuses(schema, c.wrong) != nil, c.wrong)
	}
}
