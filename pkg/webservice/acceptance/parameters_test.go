package acceptance

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/contract"
)

// An asker sends requests to the operations of a service, and holds the answers
// against the document.
type asker struct {
	*agreement
	handler http.Handler
}

// TestOpenAPIHasTheBoundsOfParameters gives each parameter what the document allows
// it, and what it does not.
func TestOpenAPIHasTheBoundsOfParameters(t *testing.T) {
	a := asker{agreed(t), served(t, newWorld(t).config(t), "")}
	for _, op := range a.Own() {
		for name, said := range a.Parameters(op, "query") {
			good, bad := a.valuesOf(said)
			if name == "fields" {
				good, bad = a.Fields(op), []string{"", "none", "queuename,none"}
			}
			if name == "sort" {
				good, bad = sortedBy(a.Fields(op)), []string{"", "-", "none", "-none", "name.x.y"}
			}
			for value, code := range codes(good, bad) {
				target, w := a.Ask(a.handler, op, name+"="+url.QueryEscape(value))
				assert.Check(t, w.Code == code, "%s: %d", target, w.Code)
				a.keeps(t, op.Method, target, w)
			}
		}
	}
}

// plain are fields of lists that hold one number or text.
var plain = []string{
	"startTime", "name", "timestamp", "partition", "nodeID", "applicationID", "allocationKey", "podName", "time", "userName", "groupName", "clusterId",
}

// sortedBy is what a list may be sorted by, of some fields.
func sortedBy(fields []string) (out []string) {
	for _, name := range fields {
		if slices.Contains(plain, name) {
			out = append(out, name, "-"+name)
		}
	}
	return out
}

func codes(good, bad []string) map[string]int {
	out := map[string]int{}
	for _, value := range good {
		out[value] = http.StatusOK
	}
	for _, value := range bad {
		out[value] = http.StatusBadRequest
	}
	return out
}

// valuesOf are values of a parameter: those that are on this side of its bounds,
// and those that are just beyond.
func (a asker) valuesOf(said jsonObject) (good, bad []string) {
	schema := said["schema"].(jsonObject)
	switch schema["type"] {
	case "integer":
		least, most := whole(schema["minimum"], 0), whole(schema["maximum"], 1<<62)
		good = []string{fmt.Sprint(least), fmt.Sprint(most)}
		bad = []string{fmt.Sprint(least - 1), "1.5", "x", ""}
		if schema["maximum"] != nil {
			bad = append(bad, fmt.Sprint(most+1))
		}
	case "boolean":
		return []string{"true", "false"}, []string{"", "yes"}
	default:
		good, bad = []string{"x", "x*", "*"}, []string{""}
		if pattern, ok := schema["pattern"].(string); ok {
			good = nil
			for _, value := range []string{"x", "x*", "*", "0", "2026-01-01T00:00:00Z", "2026-01-01", "start", "nodes,start", "nodes,"} {
				if regexp.MustCompile(pattern).MatchString(value) {
					good = append(good, value)
				} else {
					bad = append(bad, value)
				}
			}
		} else if either, ok := schema["anyOf"].([]any); ok { // a word, or the beginning of one and *
			good = contract.Words(jsonObject{"schema": a.meant(either[0].(jsonObject))})
			good, bad = append(good, good[0][:2]+"*", "*"), []string{"", "x", "x*"}
		} else if schema["enum"] != nil {
			good, bad = contract.Words(said), []string{"x", "*"}
		} else if said["allowEmptyValue"] == true {
			good, bad = append(good, ""), nil
		}
	}
	return good, bad
}

// meant is a schema, or the one that it refers to.
func (a asker) meant(schema jsonObject) jsonObject {
	if ref, ok := schema["$ref"].(string); ok {
		_, schema = a.Meant(strings.TrimPrefix(ref, "#"))
	}
	return schema
}

func whole(number any, otherwise int64) int64 {
	if n, err := strconv.ParseInt(fmt.Sprint(number), 10, 64); err == nil {
		return n
	}
	return otherwise
}
