package policy

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestHostileTexts: what no user means is refused with one error or a few that say what it is.
func TestHostileTexts(t *testing.T) {
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	wide := TextMax - 100
	for name, c := range map[string]struct{ text, want string }{
		"lists in lists":          {header + "profiles: " + strings.Repeat("[", wide), "line 3:1"},
		"mappings in each other":  {header + "profiles: " + strings.Repeat("{a: ", wide/4), "line 3:1"},
		"lists in lists that end": {header + "profiles: " + strings.Repeat("[", wide/2) + strings.Repeat("]", wide/2), "line 3:1"},
		"blocks in each other":    {header + "profiles:\n" + strings.Repeat("- ", wide/2), "line 3:1"},
		"many keys":               {header + many(TextMax/16, "k%d: 1\n"), "more than 100000 values"},
		"many profiles":           {header + "profiles:\n" + many(TextMax/16, "- name: p%d\n"), "more than 100 profiles"},
		"NUL":                     {header + "nodeSelector: a\x00b", "line 3:1: not YAML"},
		"not UTF-8":               {header + "nodeSelector: \xff\xfe", "line 3:1: not YAML"},
		"beyond a number":         {header + "maxNoOfPodsToEvictTotal: 1e400", "must be a whole number"},
		"beyond 64 bits":          {header + "maxNoOfPodsToEvictTotal: 99999999999999999999", "must be a whole number"},
		"no number":               {header + "maxNoOfPodsToEvictTotal: .nan", "must be a whole number"},
		"beyond a duration":       {header + "limits: {coolDown: {initial: 2628000h}}\ndeschedulingInterval: 2628000000h", "deschedulingInterval: \"2628000000h\" is longer than a duration can be"},
		"a negative duration":     {header + "limits: {coolDown: {initial: -5m}}", "must be at least 0s"},
		"an operator":             {header + "nodeSelector: {matchExpressions: [{key: a, operator: Of}]}", "is no label selector"},
		"a selector":              {header + "nodeSelector: '??='", "is no label selector"},
		"a merge of itself":       {header + "a: &a {<<: *a}", "line 3"},
		"an alias of itself":      {header + "profiles: &a [*a]", "line 3"},
		"an unknown alias":        {header + "profiles: *a", "line 3"},
		"a tag":                   {header + "profiles: !!binary aGFsbG8=", "profiles"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := refused(t, c.text)
			assert.Assert(t, strings.Contains(problems.Error(), c.want), "%.300s", problems)
		})
	}
}
