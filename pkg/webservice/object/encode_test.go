package object

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
)

// encoded is a value as the encoder writes it.
func encoded(x any, kinds *resources.Kinds) string {
	var out bytes.Buffer
	e := encoder.New(kinds, &out)
	e.Any(x)
	e.Flush()
	return out.String()
}

// expected is a value as its type and tags say that it is written: slowly, by
// reflection. The functions that write objects are held against it.
func expected(v reflect.Value, kinds *resources.Kinds) string {
	switch x := v.Interface().(type) {
	case time.Time:
		return fmt.Sprint(int64(encoder.NanosecondsOf(x)))
	case resources.Amounts:
		return expected(reflect.ValueOf(kinds.Map(x)), kinds)
	case resources.Limits:
		return expected(reflect.ValueOf(kinds.LimitMap(x)), kinds)
	case encoder.List:
		return encoded(x, kinds) // of objects that are held against this one by one
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return "null"
		}
		return expected(v.Elem(), kinds)
	case reflect.Slice:
		var out []string
		for i := range v.Len() {
			out = append(out, expected(v.Index(i), kinds))
		}
		return "[" + strings.Join(out, ",") + "]"
	case reflect.Struct:
		return expectedFields(v, kinds)
	default:
		content, err := json.Marshal(v.Interface())
		if err != nil {
			panic(err)
		}
		return string(content)
	}
}

func expectedFields(v reflect.Value, kinds *resources.Kinds) string {
	var out []string
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		value := expected(v.Field(i), kinds)
		if strings.Contains(options, "omitempty") && isEmpty(v.Field(i), value) {
			continue
		}
		if strings.Contains(options, "string") {
			value = `"` + value + `"`
		}
		out = append(out, fmt.Sprintf("%q:%s", cmp.Or(name, f.Name), value))
	}
	return "{" + strings.Join(out, ",") + "}"
}

// isEmpty reports whether a value is left out that may be. A pointer to an empty
// object is there.
func isEmpty(v reflect.Value, value string) bool {
	_, list := reflect.TypeAssert[encoder.List](v)
	return slices.Contains([]string{`""`, "0", "false", "null", "[]", "{}"}, value) && (v.Kind() != reflect.Pointer || v.IsNil() || list)
}

// A filler fills values with what numbers say, so that each field may be empty or
// not.
type filler struct {
	seed  uint64
	text  string
	depth int // of queues in queues
}

func (f *filler) next() uint64 {
	f.seed = f.seed*6364136223846793005 + 1442695040888963407
	return f.seed >> 33
}

func (f *filler) fill(v reflect.Value) {
	n := f.next()
	switch v.Interface().(type) {
	case time.Time:
		if n%3 > 0 {
			v.Set(reflect.ValueOf(fixture.Start.Add(time.Duration(n))))
		}
		return
	case resources.Amounts, resources.Limits:
		quantities := reflect.MakeSlice(v.Type(), int(n%4), int(n%4))
		for i := range quantities.Len() {
			quantities.Index(i).SetInt([]int64{0, int64(f.next()), -1, resources.Unlimited}[f.next()%4])
		}
		v.Set(quantities)
		return
	case []*queueJSON:
		if f.depth < 2 {
			f.depth++
			v.Set(reflect.ValueOf([]*queueJSON{{}, {}}[:n%3]))
			for i := range v.Len() {
				f.fill(v.Index(i).Elem())
			}
			f.depth--
		}
		return
	case encoder.List:
		return
	}
	f.fillPlain(v, n)
}

func (f *filler) fillPlain(v reflect.Value, n uint64) {
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"", "plain", f.text, f.text + "<"}[n%4])
	case reflect.Bool:
		v.SetBool(n%2 == 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, int64(int32(n))}[n%4])
	case reflect.Uint64:
		v.SetUint(n % 3)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), int(n%3), int(n%3)))
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := range n % 4 {
			element := reflect.New(v.Type().Elem()).Elem()
			f.fill(element)
			v.SetMapIndex(reflect.ValueOf(fmt.Sprint(f.text, i)), element)
		}
	case reflect.Pointer:
		if n%4 > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			f.fill(field)
		}
	default:
		panic(v.Kind())
	}
}

// FuzzObjects writes each kind of object that writes itself, with any fields, and
// compares with what its type says.
func FuzzObjects(f *testing.F) {
	f.Add(uint64(1), `"\`+"\x00\u2028<é>\xff")
	for seed := range uint64(40) {
		f.Add(seed*77, "text")
	}
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		kinds := new(resources.Kinds)
		_, err := kinds.Amounts(map[string]int64{"z": 1, "b": 1, `q"`: 1})
		assert.NilError(t, err)
		fill := &filler{seed: seed, text: strings.ToValidUTF8(text, "?")}
		for _, x := range []encoder.Object{
			new(allocationJSON), new(foreignJSON), new(evictionJSON), new(nodeJSON), new(askJSON), new(waitJSON), new(attemptJSON),
			new(applicationJSON), new(stateJSON), new(queueJSON),
		} {
			fill.fill(reflect.ValueOf(x).Elem())
			assert.Equal(t, encoded(x, kinds), expected(reflect.ValueOf(x), kinds), "%T", x)
		}
	})
}

// TestFieldsOfObjects picks some fields of objects.
func TestFieldsOfObjects(t *testing.T) {
	n := &nodeJSON{NodeID: "n1", Attributes: map[string]string{"a": "b"}, Evictions: []evictionJSON{{AllocationKey: "k"}}}
	type plan struct {
		Trigger string   `json:"trigger"`
		EndTime int64    `json:"endTime,omitempty"`
		Lines   []string `json:"lines"`
	}
	plain := &plan{Trigger: "quota", Lines: []string{}}
	for want, s := range map[string]struct {
		value  any
		fields []string
	}{
		`{"nodeID":"n1"}`: {value: n, fields: []string{"nodeID"}},
		`{"evictions":[{"allocationKey":"k","trigger":""}],"allocationCount":0}`: {value: n, fields: []string{"evictions", "allocationCount"}},
		`{}`: {value: n, fields: []string{"capacity"}},
		`[{"nodeID":"n1","schedulable":false},{"nodeID":"n1","schedulable":false}]`: {
			value: encoder.Each([]*nodeJSON{n, n}, func(from *nodeJSON, to *nodeJSON) { *to = *from }), fields: []string{"nodeID", "schedulable"},
		},
		`{"trigger":"quota","lines":[]}`: {value: plain, fields: []string{"trigger", "endTime", "lines"}},
		`[{"trigger":"quota"}]`: {
			value: encoder.Each([]*plan{plain}, func(from *plan, to *plan) { *to = *from }), fields: []string{"trigger"},
		},
	} {
		var out bytes.Buffer
		e := encoder.New(new(resources.Kinds), &out)
		e.Choose(s.value, s.fields)
		e.Flush()
		assert.Equal(t, out.String(), want)
	}
}

// TestIndented writes one member a line, plain values inside of objects too.
func TestIndented(t *testing.T) {
	q := &queueJSON{QueueName: "root", Template: &templateJSON{Properties: map[string]string{"a": "b"}}, AbsUsedCapacity: resources.Amounts{1}}
	kinds := fixture.New(t).Kinds
	var out, want bytes.Buffer
	e := encoder.New(kinds, &out)
	e.Indent()
	e.Any(q)
	e.Flush()
	assert.NilError(t, json.Indent(&want, []byte(encoded(q, kinds)), "", "  "))
	assert.Equal(t, out.String(), want.String())
}

// TestEncodingMakesNoGarbage: what an allocation costs is its bytes.
func TestEncodingMakesNoGarbage(t *testing.T) {
	w := fixture.New(t)
	all := make([]*api.Allocation, 20)
	for i := range all {
		all[i] = &api.Allocation{
			Key: api.AllocationKey(fmt.Sprint("filler-", i)), Application: "filler-app", Node: "node-1", Amounts: w.Amounts(t, 1000, 1<<30, 1),
			Created: fixture.Start, Placed: fixture.Start.Add(time.Duration(i)),
			Tags: map[string]string{"kubernetes.io/meta/namespace": "default", "kubernetes.io/meta/podName": fmt.Sprint("filler-", i)},
		}
	}
	var out bytes.Buffer
	out.Grow(1 << 20)
	e := encoder.New(w.Kinds, &out)
	one := new(allocationJSON)
	write := func() {
		for _, a := range all {
			fillAllocation(a, false, one)
			one.Encode(e)
		}
		e.Flush()
		out.Reset()
	}
	write()
	assert.Equal(t, testing.AllocsPerRun(20, write), 0.0)
}
