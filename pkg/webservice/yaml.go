package webservice

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// appendYAML writes a struct as a block of YAML. The key of a field is its tag, or
// its name in lower case; fields without a value are left out, except numbers and
// truths that JSON has too. It knows the types of configurationJSON and no others.
func appendYAML(to []byte, value any) []byte {
	return appendFields(to, reflect.Indirect(reflect.ValueOf(value)), "")
}

func appendFields(to []byte, v reflect.Value, indent string) []byte {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		if v.Field(i).IsZero() && (strings.Contains(f.Tag.Get("json"), "omitempty") || f.Type.Kind() == reflect.Slice) {
			continue
		}
		to = append(to, indent+cmp.Or(f.Tag.Get("yaml"), strings.ToLower(f.Name))+":"...)
		to = appendYAMLValue(to, v.Field(i), indent)
	}
	return to
}

// appendYAMLValue writes what comes after a colon, up to the end of a line.
func appendYAMLValue(to []byte, v reflect.Value, indent string) []byte {
	v = reflect.Indirect(v)
	switch v.Kind() {
	case reflect.Struct:
		return appendFields(append(to, '\n'), v, indent+"  ")
	case reflect.Slice:
		to = append(to, '\n')
		for i := range v.Len() {
			to = appendElement(to, v.Index(i), indent+"  ")
		}
		return to
	case reflect.Map:
		to = append(to, '\n')
		texts := map[string]string{}
		for _, key := range v.MapKeys() {
			texts[key.String()] = scalar(v.MapIndex(key))
		}
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			to = append(to, indent+"  "...)
			to = append(appendText(to, key), ": "+texts[key]+"\n"...)
		}
		return to
	default:
		return append(to, " "+scalar(v)+"\n"...)
	}
}

// appendElement writes one element of a list: a dash, and the rest below it.
func appendElement(to []byte, v reflect.Value, indent string) []byte {
	if v.Kind() != reflect.Struct {
		return append(to, indent+"- "+scalar(v)+"\n"...)
	}
	inside := appendFields(nil, v, indent+"  ")
	return append(append(to, indent+"- "...), bytes.TrimLeft(inside, " ")...)
}

// scalar writes texts in double quotes, so that none is taken for a number, and a
// number that is kept as a text without.
func scalar(v reflect.Value) string {
	if v.Kind() == reflect.String && v.Type() != numberType {
		return string(appendText(nil, v.String()))
	}
	return fmt.Sprint(v.Interface())
}
