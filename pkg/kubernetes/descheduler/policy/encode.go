package policy

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// encode is a Go value as a YAML node that decode reads as the same value; nil where
// there is nothing to write. Unlike encoding/json it writes what is false, zero or
// empty, whatever omitempty says: the default may be something else.
func encode(from reflect.Value) *yaml.Node {
	switch kind := from.Kind(); {
	case kind == reflect.Invalid:
		return nil
	case kind == reflect.Pointer || kind == reflect.Interface:
		if from.IsNil() {
			return nil
		}
		return encode(from.Elem())
	case (kind == reflect.Map || kind == reflect.Slice) && from.IsNil():
		return nil
	}
	if node, own := encodeOwn(from); own {
		return node
	}
	switch from.Kind() {
	case reflect.Struct:
		return encodeStruct(from)
	case reflect.Map:
		return encodeMap(from)
	case reflect.Slice:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range from.Len() {
			list.Content = append(list.Content, orNull(encode(from.Index(i))))
		}
		return list
	default:
		return scalar(from.Interface())
	}
}

// encodeOwn writes a duration, or a value whose type writes JSON itself; false if it is
// neither.
func encodeOwn(from reflect.Value) (*yaml.Node, bool) {
	value := from.Interface()
	if from.CanAddr() {
		value = from.Addr().Interface() // methods may have a pointer
	}
	switch value := value.(type) {
	case *time.Duration:
		return scalar(value.String()), true
	case time.Duration:
		return scalar(value.String()), true
	case *metav1.Duration:
		return scalar(value.Duration.String()), true
	case metav1.Duration:
		return scalar(value.Duration.String()), true
	case json.Marshaler:
		return jsonNode(value), true
	}
	return nil, false
}

// jsonNode is what a type writes as JSON; nil if that is null.
func jsonNode(value json.Marshaler) *yaml.Node {
	text, err := value.MarshalJSON()
	var plain any
	if err != nil || json.Unmarshal(text, &plain) != nil || plain == nil {
		return nil
	}
	return encode(reflect.ValueOf(plain))
}

func encodeStruct(from reflect.Value) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, m := range membersOf(from) {
		if (m.key == "kind" || m.key == "apiVersion") && m.value.IsZero() {
			continue // arguments that were written without them
		}
		put(node, m.key, encode(m.value))
	}
	return node
}

func encodeMap(from reflect.Value) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	keys := from.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	for _, key := range keys {
		put(node, key.String(), orNull(encode(from.MapIndex(key))))
	}
	return node
}

// orNull is what stands in a list or a map without a type where there is nothing.
func orNull(node *yaml.Node) *yaml.Node {
	if node == nil {
		return scalar(nil)
	}
	return node
}

// put adds a key to a mapping, unless there is nothing to write.
func put(mapping *yaml.Node, key string, value *yaml.Node) {
	if value != nil {
		mapping.Content = append(mapping.Content, scalar(key), value)
	}
}

// scalar is a plain value, in quotes where it would be read as something else.
func scalar(value any) *yaml.Node {
	node := new(yaml.Node)
	if err := node.Encode(value); err != nil {
		panic("policy: " + err.Error()) // only kinds that YAML has come here
	}
	return node
}
