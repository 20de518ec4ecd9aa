package config

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"gotest.tools/v3/assert"
)

const schemaFile = "../../docs/configuration.schema.json"

// places are texts with a key that is not known, one in each mapping with a fixed list of
// keys, by the name that the schema gives to the mapping.
var places = map[string]string{
	"":                  "{wrong: }",
	"partition":         "{partitions: [{wrong: }]}",
	"nodesortpolicy":    "{partitions: [{nodesortpolicy: {wrong: }}]}",
	"preemption":        "{partitions: [{preemption: {wrong: }}]}",
	"topology":          "{partitions: [{topology: {wrong: }}]}",
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

// TestEveryKeyHasAnExample loads the examples of docs/configuration.md, and looks for each key
// of the schema in them, in the mapping that it is of.
func TestEveryKeyHasAnExample(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	assert.NilError(t, err)
	objects := schemaObjects(t)
	shown := map[string]bool{}
	for i, block := range strings.Split(string(page), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		if _, err := Load(text, nil); err != nil {
			assert.Assert(t, strings.Contains(text, "propertys"), "example %d: %v", i+1, err) // which is the one that shows errors
			continue
		}
		var example any
		assert.NilError(t, yaml.Unmarshal([]byte(text), &example))
		noteKeys(objects, "", example, shown)
	}
	keys := 0
	for name, properties := range objects {
		for key := range properties {
			keys++
			assert.Assert(t, shown[name+"/"+key], "there is no example with %s/%s", name, key)
		}
	}
	assert.Assert(t, keys > 50, "%d", keys)
}

// noteKeys notes the keys of a value that is a mapping of the schema, or a list of such.
func noteKeys(objects map[string]map[string]any, name string, value any, shown map[string]bool) {
	switch value := value.(type) {
	case []any:
		for _, one := range value {
			noteKeys(objects, name, one, shown)
		}
	case map[string]any:
		for key, inner := range value {
			property, is := objects[name][key].(map[string]any)
			if !is {
				continue
			}
			shown[name+"/"+key] = true
			if items, is := property["items"].(map[string]any); is {
				property = items
			}
			if ref, is := property["$ref"].(string); is {
				noteKeys(objects, strings.TrimPrefix(ref, "#/$defs/"), inner, shown)
			}
		}
	}
}
