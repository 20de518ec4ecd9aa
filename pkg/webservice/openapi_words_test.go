package webservice

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/doctor"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/contract"
)

// TestOpenAPIHasEveryWord compares the words that a field may have with those that
// the program has for it.
func TestOpenAPIHasEveryWord(t *testing.T) {
	for pointer, want := range map[string][]string{
		"/components/schemas/GuaranteeState":                statesOfGuarantees(t),
		"/components/schemas/Why":                           every[api.Reason](),
		"/components/schemas/Trigger":                       every[preemptor.Trigger](),
		"/components/schemas/State":                         append(every[api.State](), "Rejected"), // of the archive
		"/components/schemas/NodeGroup/properties/why":      every[explain.Why](),
		"/components/schemas/Preemption/properties/outcome": every[archive.Outcome](),
		"/components/schemas/Finding/properties/kind":       every[doctor.Kind](),
		"/components/schemas/Finding/properties/severity":   every[doctor.Severity](),
	} {
		_, said := agreed(t).Meant(pointer)
		got := contract.Words(jsonObject{"schema": said})
		slices.Sort(got)
		slices.Sort(want)
		assert.Assert(t, len(want) > 2)
		assert.DeepEqual(t, got, want)
	}
}

// statesOfGuarantees are the words that the refusal of another one names.
func statesOfGuarantees(t *testing.T) []string {
	t.Helper()
	w := ask(newWorld(t).service(t).Handler(), http.MethodGet, "/ws/v1/partition/default/asks?guaranteeState=none")
	_, after, _ := strings.Cut(w.Body.String(), "one of ")
	words, _, found := strings.Cut(after, " is needed")
	assert.Assert(t, found, w.Body)
	return strings.Split(words, ", ")
}

// every is the words for all values of a type that counts from zero. What comes
// after the last has none: it panics, or is given as a number.
func every[T interface {
	~uint8 | ~int
	String() string
}]() (out []string) {
	defer func() { _ = recover() }()
	for value := T(0); ; value++ {
		word := value.String()
		if word == "" || strings.HasSuffix(word, fmt.Sprint(" ", int(value))) {
			return out
		}
		out = append(out, word)
	}
}

// TestOpenAPIHasEveryKindOfEvent compares the numbers of events with those of the
// interface, and their titles with the names there.
func TestOpenAPIHasEveryKindOfEvent(t *testing.T) {
	for name, want := range map[string]map[int32]string{
		"EventType":         si.EventRecord_Type_name,
		"EventChangeType":   si.EventRecord_ChangeType_name,
		"EventChangeDetail": si.EventRecord_ChangeDetail_name,
	} {
		got := map[int32]string{}
		for _, one := range agreed(t).At("components", "schemas", name)["oneOf"].([]any) {
			number, err := one.(jsonObject)["const"].(json.Number).Int64()
			assert.NilError(t, err)
			got[int32(number)] = one.(jsonObject)["title"].(string)
		}
		assert.DeepEqual(t, got, want)
	}
}
