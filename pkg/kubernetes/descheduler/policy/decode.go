package policy

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// decode reads a value into a Go value, strictly: each unknown key, wrong kind and
// number out of range is reported where it stands. What is not given, or has no value,
// is left as it is, so that a default stays. A list and a map are replaced as a whole;
// the fields of a struct are read one by one.
func (c cursor) decode(into reflect.Value) {
	switch {
	case c.IsNull():
	case into.Kind() == reflect.Pointer:
		if into.IsNil() {
			into.Set(reflect.New(into.Type().Elem()))
		}
		c.decode(into.Elem())
	case c.decodeDuration(into), c.decodeOwn(into):
	default:
		c.decodeKind(into)
	}
}

// decodeDuration reads a duration; false if the Go value is none.
func (c cursor) decodeDuration(into reflect.Value) bool {
	switch target := into.Addr().Interface().(type) {
	case *time.Duration:
		*target = c.duration()
	case *metav1.Duration:
		target.Duration = c.duration()
	default:
		return false
	}
	return true
}

// decodeOwn reads a value whose type reads JSON itself, such as a quantity; false if it
// does not. An error that begins with "must " says what belongs here, as those of this package do.
func (c cursor) decodeOwn(into reflect.Value) bool {
	target, ok := reflect.TypeAssert[json.Unmarshaler](into.Addr())
	if !ok {
		return false
	}
	if _, ok := target.(*intstr.IntOrString); ok && (!c.IsScalar() || c.Node.ShortTag() != "!!int" && c.Node.ShortTag() != "!!str") {
		c.fail("must be a whole number or a percentage, such as 2 or 10%%, not %s", c.shown())
		return true
	}
	into.SetZero() // a part of the default may be left otherwise
	text, err := json.Marshal(c.plain())
	if err == nil {
		err = target.UnmarshalJSON(text)
	}
	switch {
	case err == nil:
	case strings.HasPrefix(err.Error(), "must "):
		c.fail("%s, not %s", err, c.shown())
	default:
		c.fail("%s does not fit here: %s", c.shown(), err)
	}
	return true
}

// plain is the value in the types that JSON has.
func (c cursor) plain() any {
	switch {
	case c.IsMapping():
		members := map[string]any{}
		c.each(func(key string, value cursor) { members[key] = value.plain() })
		return members
	case c.IsList():
		items := c.items()
		list := make([]any, len(items))
		for i, item := range items {
			list[i] = item.plain()
		}
		return list
	}
	var value any
	switch c.Node.ShortTag() {
	case "!!bool", "!!int", "!!float", "!!null":
		if c.Node.Decode(&value) == nil && finite(value) {
			return value
		}
	}
	return c.Node.Value
}

// finite says that JSON can hold a value.
func finite(value any) bool {
	f, ok := value.(float64)
	return !ok || !math.IsNaN(f) && !math.IsInf(f, 0)
}

// decodeKind reads by the kind of the Go value.
func (c cursor) decodeKind(into reflect.Value) {
	switch kind := into.Kind(); kind {
	case reflect.String:
		text, _ := c.text()
		into.SetString(text)
	case reflect.Bool:
		yes, _ := c.boolean()
		into.SetBool(yes)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		most := int64(math.MaxInt64) >> (64 - into.Type().Bits())
		n, _ := c.integer(-most-1, most)
		into.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		most := int64(math.MaxInt64) // no more is meant by any argument
		if bits := into.Type().Bits(); bits < 64 {
			most = 1<<bits - 1
		}
		n, _ := c.integer(0, most)
		into.SetUint(uint64(n))
	case reflect.Float32, reflect.Float64:
		n, _ := c.number()
		into.SetFloat(n)
	case reflect.Slice:
		c.decodeList(into)
	case reflect.Map:
		c.decodeMap(into)
	case reflect.Struct:
		c.decodeStruct(into)
	case reflect.Interface:
		if value := reflect.ValueOf(c.plain()); value.IsValid() && value.Type().AssignableTo(into.Type()) {
			into.Set(value)
		}
	default:
		c.fail("the plugin asks for a %s here, which no text can give", kind)
	}
}

func (c cursor) decodeList(into reflect.Value) {
	items := c.items()
	list := reflect.MakeSlice(into.Type(), len(items), len(items))
	for i, item := range items {
		if item.IsNull() {
			item.fail("must not be empty")
		}
		item.decode(list.Index(i))
	}
	into.Set(list)
}

func (c cursor) decodeMap(into reflect.Value) {
	of := into.Type()
	if of.Key().Kind() != reflect.String {
		c.fail("the plugin asks for a map without texts as keys here, which no text can give")
		return
	}
	members := reflect.MakeMap(of)
	c.each(func(key string, value cursor) {
		member := reflect.New(of.Elem()).Elem()
		if value.IsNull() {
			value.atKey().fail("must have a value")
		}
		value.decode(member)
		members.SetMapIndex(reflect.ValueOf(key).Convert(of.Key()), member)
	})
	into.Set(members)
}

// decodeStruct reads the fields of a struct. Further keys may stand there without being
// read.
func (c cursor) decodeStruct(into reflect.Value, further ...string) {
	known := membersOf(into)
	keys := make([]string, len(known))
	for i, m := range known {
		keys[i] = m.key
	}
	unknown := unknownKeys(keys, nil)
	c.each(func(key string, value cursor) {
		i := slices.Index(keys, key)
		switch {
		case i >= 0:
			value.decode(known[i].value)
		case !slices.Contains(further, key):
			value.atKey().fail("%s", unknown(key))
		}
	})
}

// A member is a field of a struct under the key that JSON gives it.
type member struct {
	key   string
	value reflect.Value
}

// membersOf lists the fields of a struct, with those of structs that are embedded
// without a key.
func membersOf(of reflect.Value) []member {
	var members []member
	for i := range of.NumField() {
		field := of.Type().Field(i)
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		value := of.Field(i)
		switch {
		case key == "-" || !field.IsExported():
		case field.Anonymous && key == "" && value.Kind() == reflect.Struct:
			members = append(members, membersOf(value)...)
		case key == "":
			members = append(members, member{field.Name, value})
		default:
			members = append(members, member{key, value})
		}
	}
	return members
}
