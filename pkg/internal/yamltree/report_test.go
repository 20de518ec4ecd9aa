package yamltree_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
)

// TestReports: what has the wrong form is reported where it stands, and what has the right one
// is read.
func TestReports(t *testing.T) {
	root, _, err := yamltree.Parse("list: [1, 2]\nflag: yes\n<<: 5\nlist: 3\nno: ~\n")
	assert.NilError(t, err)
	top := (&yamltree.Walk{Max: 100}).Top(root)
	var said []string
	report := func(at yamltree.Value, problem string) {
		said = append(said, fmt.Sprintf("%d:%d %s: %s", at.Line, at.Column, at.Path, problem))
	}
	lists, flags := map[string]int{}, map[string]string{}
	top.Each(report, func(key string, value yamltree.Value) {
		lists[key] = len(value.List(report))
		flag, ok := value.Bool(report)
		flags[key] = fmt.Sprint(flag, ok)
		value.Each(report, func(string, yamltree.Value) { t.Error("no value is a mapping") })
	})
	assert.DeepEqual(t, lists, map[string]int{"list": 2, "flag": 0, "no": 0})
	assert.DeepEqual(t, flags, map[string]string{"list": "false false", "flag": "true true", "no": "false true"})
	assert.DeepEqual(t, said, []string{
		`1:7 list: must be true or false, not a list`,
		`1:7 list: must be a mapping of keys and values, not a list`,
		`2:7 flag: must be a list, not "yes"`,
		`2:7 flag: must be a mapping of keys and values, not "yes"`,
		`4:1 list: given twice, first in line 1`,
		`5:5 no: must be a list, not nothing`,
		`5:5 no: must be a mapping of keys and values, not nothing`,
		`3:1 <<: merges "5", which is no mapping`,
	})
}

func TestUnknownKey(t *testing.T) {
	known := []string{"name", "queues"}
	assert.Equal(t, yamltree.UnknownKey("queue", known), "unknown key, did you mean queues?")
	assert.Equal(t, yamltree.UnknownKey("colour", known), "unknown key, known here: name, queues")
}
