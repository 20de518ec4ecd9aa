package webservice

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// encoded is a value as the encoder writes it.
func encoded(x any, kinds *resources.Kinds) string {
	var out []byte
	e := newEncoder(kinds, func(chunk []byte) []byte {
		out = append(out, chunk...)
		return chunk
	})
	e.value(x)
	return string(append(out, e.buffer...))
}

type sample struct {
	Text    string            `json:"text"`
	Omitted string            `json:"omitted,omitempty"`
	Number  int64             `json:"number"`
	Quoted  int32             `json:"quoted,string"`
	Count   uint64            `json:"count,omitempty"`
	Truth   bool              `json:"truth"`
	Delay   time.Duration     `json:"delay"`
	Hidden  string            `json:"-"`
	Named   map[string]int    `json:"named,omitempty"`
	Texts   map[string]string `json:"texts"`
	Weight  json.Number       `json:"weight"`
	List    []sample          `json:"list,omitempty"`
	Inner   *sample           `json:"inner"`
	Any     any               `json:"any"`
	Bare    []string
}

// FuzzEncoder compares with encoding/json, which is slow and right.
func FuzzEncoder(f *testing.F) {
	f.Add("plain", `"\`+"\x00\u2028<é>\xff", int64(math.MinInt64), true)
	f.Add("", "", int64(math.MaxInt64), false)
	f.Fuzz(func(t *testing.T, a, b string, n int64, truth bool) {
		x := sample{
			Text: a, Omitted: b, Number: n, Quoted: int32(n), Count: uint64(n), Truth: truth, Delay: time.Duration(n), Hidden: a,
			Named: map[string]int{a: 1, b: 2, "m": 3}, Texts: map[string]string{b: a, a + "x": b}, Weight: "1.5", Bare: []string{a, b},
		}
		y := x
		y.List, y.Inner, y.Any, y.Texts = []sample{x, x}, &x, b, nil
		want, err := json.Marshal(y)
		assert.NilError(t, err)
		assert.Assert(t, encoded(&y, new(resources.Kinds)) == string(want))
		assert.Assert(t, encoded(y, new(resources.Kinds)) == string(want))
	})
}

type quantified struct {
	Used  resources.Amounts `json:"used"`
	Free  resources.Amounts `json:"free,omitempty"`
	Max   resources.Limits  `json:"max,omitempty"`
	At    time.Time         `json:"at"`
	Never time.Time         `json:"never,omitempty"`
	List  *items[sample]    `json:"list"`
}

func TestEncodeOwnTypes(t *testing.T) {
	kinds := new(resources.Kinds)
	used, err := kinds.Amounts(map[string]int64{"z": -1, "b": 2, `q"`: 3})
	assert.NilError(t, err)
	limits, err := kinds.Limits(map[string]int64{"a": 0, "z": 7})
	assert.NilError(t, err)
	x := quantified{Used: used, Free: resources.Amounts{0, 0}, Max: limits, At: time.Unix(1, 5)}
	assert.Equal(t, encoded(x, kinds), `{"used":{"b":2,"q\"":3,"z":-1},"max":{"a":0,"z":7},"at":1000000005,"list":[]}`)
	assert.Equal(t, encoded(quantified{Max: resources.Limits{resources.Unlimited}}, kinds), `{"used":{},"at":0,"list":[]}`)
}

// TestChunks hands on what is written, in order and without a gap.
func TestChunks(t *testing.T) {
	var got strings.Builder
	e := newEncoder(new(resources.Kinds), func(chunk []byte) []byte {
		assert.Assert(t, len(chunk) >= chunkBytes && len(chunk) < chunkBytes+2000, len(chunk))
		got.Write(chunk)
		return chunk
	})
	list := &items[sample]{n: 1000, fill: func(i int, into *sample) { into.Number, into.Text = int64(i), strings.Repeat("x", 1000) }}
	e.value(list)
	got.Write(e.buffer)
	var back []sample
	assert.NilError(t, json.Unmarshal([]byte(got.String()), &back))
	assert.Equal(t, len(back), 1000)
	assert.Equal(t, back[999].Number, int64(999))
}

// TestSiblings writes maps with the same keys, other keys and fewer keys one after
// the other, which share the sorted keys where they can.
func TestSiblings(t *testing.T) {
	list := []map[string]string{{"b": "1", "a": "2"}, {"a": "3", "b": "4"}, {"c": "5", "a": "6"}, {"a": "7"}, {}, {"b": "8", "a": "9"}}
	want, err := json.Marshal(list)
	assert.NilError(t, err)
	assert.Equal(t, encoded(list, new(resources.Kinds)), string(want))
}
