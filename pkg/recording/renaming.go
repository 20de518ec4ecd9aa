package recording

import (
	"encoding/binary"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/placement"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/image"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/wire"
)

// A renaming replaces the texts of images, commands and answers, or learns them where it is to.
type renaming struct {
	*names
	learns bool
	opaque map[string]string // numbers for keys that are looked up by nothing else
}

// as is what stands for a text in a field (image.Renaming).
func (r *renaming) as(field, text string) string {
	fixed := ""
	switch field {
	case "api.Config.Resolver", "backlog.deviceOrder.ByAsk", "topology.Topology.slots":
		return text // no names
	case "backlog.Class.Key", "backlog.classTable.Known", "guard.Backoff.counted", "group.searches.byClass":
		fixed = text[:classPrefix(text)]
	case "scarcity.Cluster.known":
		if at := strings.IndexByte(text, 0); at >= 0 {
			return r.plain(text[:at]) + text[at:]
		}
	case "scarcity.nodeClass.key":
		fixed = text[:capacityPrefix(text)]
	case "preemption.elsewhere.byKey":
		return r.number(text)
	case "api.AddApplication.User":
		r.users[text] = true
	case "api.AddApplication.Groups":
		r.groups[text] = true
	}
	if tag, is := strings.CutPrefix(field, image.Tag); is && amountsIn[tag] {
		return text
	}
	return fixed + r.plain(text[len(fixed):])
}

// plain replaces the words of a text, or learns them.
func (r *renaming) plain(text string) string {
	if r.learns {
		r.learn(text)
		return text
	}
	return r.of(text)
}

// number is one of its own for each key.
func (r *renaming) number(key string) string {
	if r.learns {
		return key
	}
	if _, has := r.opaque[key]; !has {
		r.opaque[key] = strconv.Itoa(len(r.opaque))
	}
	return r.opaque[key]
}

// classPrefix is where the constraints begin in the key of a class: after flags, two priorities, and amounts after their number.
func classPrefix(key string) int {
	const fixed = 1 + 3*4
	if len(key) < fixed {
		return len(key)
	}
	return min(fixed+8*int(binary.BigEndian.Uint32([]byte(key[fixed-4:]))), len(key))
}

// capacityPrefix is where the attributes begin in the key of a class of nodes: after pairs of a kind, which is above the one before, and an amount.
func capacityPrefix(key string) int {
	at := 0
	for last := int64(-1); ; {
		kind, n := binary.Varint([]byte(key[at:]))
		if n <= 0 || kind <= last {
			return at
		}
		amount, m := binary.Varint([]byte(key[at+n:]))
		if m <= 0 || amount <= 0 {
			return at
		}
		at, last = at+n+m, kind
	}
}

var (
	typeOfTime  = reflect.TypeFor[time.Time]()
	typeOfNames = reflect.TypeFor[placement.Names]()
	typeOfTags  = reflect.TypeFor[map[string]string]()
)

// in replaces all texts below a value, which can be set and of which nothing is shared.
func (r *renaming) in(field string, v reflect.Value) {
	switch v.Type() {
	case typeOfTime:
		return
	case typeOfNames:
		r.inNames(field, v)
		return
	}
	switch v.Kind() {
	case reflect.String:
		if text := v.String(); text != "" {
			v.SetString(r.as(field, text))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			r.in(field, v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			r.in(field, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			r.in(v.Type().String()+"."+v.Type().Field(i).Name, settable(v.Field(i)))
		}
	case reflect.Map:
		r.inMap(field, v)
	default: // numbers
	}
}

// settable is a field that can be set, be it exported or not.
func settable(v reflect.Value) reflect.Value {
	return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
}

func (r *renaming) inMap(field string, v reflect.Value) {
	if v.IsNil() {
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), v.Len())
	for all := v.MapRange(); all.Next(); {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.Set(all.Key())
		value.Set(all.Value())
		of := field
		if v.Type() == typeOfTags {
			of = image.Tag + key.String()
		}
		r.in("", key)
		r.in(of, value)
		out.SetMapIndex(key, value)
	}
	v.Set(out)
}

// noUser is a name that no user and no group has.
const noUser = "//"

// inNames replaces the names of a filter. A regular expression becomes the names that it matches in the recording.
func (r *renaming) inNames(field string, v reflect.Value) {
	pattern := *(**regexp.Regexp)(settable(v.FieldByName("pattern")).Addr().UnsafePointer())
	if pattern == nil {
		r.in("", settable(v.FieldByName("names")))
		return
	}
	if r.learns {
		return
	}
	all := r.users
	if strings.HasSuffix(field, "Groups") {
		all = r.groups
	}
	again := regexp.MustCompile(pattern.String())
	list := []string{noUser}
	for name := range all {
		if again.MatchString(name) {
			list = append(list, r.of(name))
		}
	}
	slices.Sort(list)
	settable(v.FieldByName("pattern")).SetZero()
	settable(v.FieldByName("names")).Set(reflect.ValueOf(list))
}

// command is a command with other names, of its bytes.
func (r *renaming) command(from []byte) api.Command {
	c := wire.NewReader(from).Command()
	v := reflect.New(reflect.TypeOf(c)).Elem()
	v.Set(reflect.ValueOf(c))
	if queue := v.FieldByName("Queue"); queue.IsValid() {
		queue.SetString(strings.ToLower(queue.String())) // as the core takes it, and the names of queues are written
	}
	r.in("", v)
	return v.Interface().(api.Command)
}

// rules are rules of placement with other names.
func (r *renaming) rules(from []placement.Rule) []placement.Rule {
	var w wire.Writer
	wire.Value(&w, &from)
	rules := wire.Take[[]placement.Rule](wire.NewReader(w.Out))
	r.in("", reflect.ValueOf(&rules))
	return rules
}

// answer is an answer of the resource manager with other names.
func (r *renaming) answer(q question, from []byte) ([]byte, error) {
	in, out := wire.NewReader(from), new(wire.Writer)
	refusals := func() {
		err := takeError(in)
		if was, is := errors.AsType[*refusal](err); is {
			err = &refusal{r.as("", was.text), was.forGood}
		}
		writeError(out, err)
	}
	switch q {
	case feasible, simulate:
		refusals()
	case feasibleOn:
		for len(in.Rest) > 0 && in.Err == nil {
			refusals()
		}
	case constraints:
		out.Text(r.as("", in.Text()))
	case tied:
		answered[[]string](r, in, out)
	case best:
		out.Number(in.Number())
		answered[[]api.NodeID](r, in, out)
	case selectVictims:
		answered[[]api.AllocationKey](r, in, out)
		refusals()
	case budgets:
		answered[[]api.DisruptionBudget](r, in, out)
	default:
		return from, nil // pace
	}
	return out.Out, in.Err
}

// answered is a value of an answer.
func answered[T any](r *renaming, in *wire.Reader, out *wire.Writer) {
	v := wire.Take[T](in)
	r.in("", reflect.ValueOf(&v))
	wire.Value(out, &v)
}
