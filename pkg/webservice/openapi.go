package webservice

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/narwhal-scheduler/narwhal/docs"
)

// typeOpenAPI is what YAML is called now; typeYAML is what older clients of the
// configuration know.
const typeOpenAPI = "application/yaml"

// openAPIYAML answers GET /ws/v1/openapi.yaml with the description of this
// interface.
func openAPIYAML(*http.Request) (any, error) { return &text{typeOpenAPI, docs.OpenAPI()}, nil }

// openAPIJSON answers GET /ws/v1/openapi.json with the same.
func openAPIJSON(*http.Request) (any, error) {
	content, err := convertedOpenAPI()
	if err != nil {
		return nil, err
	}
	return &text{typeJSON, content}, nil
}

// convertedOpenAPI is the document in JSON. It never changes, so it is converted
// once.
var convertedOpenAPI = sync.OnceValues(func() ([]byte, error) { return jsonOfYAML(docs.OpenAPI()) })

// jsonOfYAML writes a YAML text as JSON. Members stay in the order in which they
// were written, which a map would forget: it is the order for reading.
func jsonOfYAML(content []byte) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(content, &root); err != nil {
		return nil, err
	}
	return appendNode(nil, &root)
}

func appendNode(to []byte, n *yaml.Node) ([]byte, error) {
	switch n.Kind {
	case yaml.DocumentNode:
		return appendNode(to, n.Content[0])
	case yaml.AliasNode:
		return appendNode(to, n.Alias)
	case yaml.MappingNode:
		return appendMembers(to, n)
	case yaml.SequenceNode:
		return appendElements(to, n)
	case yaml.ScalarNode:
		var value any
		if err := n.Decode(&value); err != nil {
			return nil, err
		}
		content, err := json.Marshal(value)
		return append(to, content...), err
	default:
		return nil, fmt.Errorf("yaml: line %d: nothing is there", n.Line)
	}
}

func appendMembers(to []byte, n *yaml.Node) (_ []byte, err error) {
	to = append(to, '{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		if i > 0 {
			to = append(to, ',')
		}
		key, _ := json.Marshal(n.Content[i].Value) // of a text never fails
		to = append(append(to, key...), ':')
		if to, err = appendNode(to, n.Content[i+1]); err != nil {
			return nil, err
		}
	}
	return append(to, '}'), nil
}

func appendElements(to []byte, n *yaml.Node) (_ []byte, err error) {
	to = append(to, '[')
	for i, element := range n.Content {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = appendNode(to, element); err != nil {
			return nil, err
		}
	}
	return append(to, ']'), nil
}
