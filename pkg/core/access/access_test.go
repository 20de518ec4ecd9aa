package access

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestLists(t *testing.T) {
	ann, bob := User{Name: "ann", Groups: []string{"dev", "qa"}}, User{Name: "bob"}
	for _, c := range []struct {
		text     string
		ann, bob bool
	}{
		{"", false, false},
		{"   ", false, false},
		{"*", true, true},
		{" * ", true, true},
		{"ann", true, false},
		{"bob dev", true, true},
		{"bob dev  ", true, true},
		{"bob  dev", true, true},
		{" dev", true, false},
		{" *", true, true},
		{"* ops", true, true},
		{"carl *", true, true}, // of whatever groups, or none
		{"carl ops,qa", true, false},
		{"Ann", false, false},
		{"system:serviceaccount/x:y#1,host$ my.group:a", false, false},
	} {
		list, err := Parse(c.text)
		assert.NilError(t, err, c.text)
		assert.Equal(t, list.Allows(ann), c.ann, "ann in %q", c.text)
		assert.Equal(t, list.Allows(bob), c.bob, "bob in %q", c.text)
	}
	nobody, _ := Parse(" ")
	assert.Assert(t, nobody.IsNobody() && List{}.IsNobody())
	somebody, _ := Parse(" dev")
	assert.Assert(t, !somebody.IsNobody())
}

func TestWrongLists(t *testing.T) {
	for text, want := range map[string]string{
		"ann dev ops": `"ann dev ops" has more than two parts: write users, one blank and groups, such as "ann,bob dev,ops", or *`,
		"ann,,bob":    `"" is no name of a user`,
		"ann, bob x":  `"ann, bob x" has more than two parts: write users, one blank and groups, such as "ann,bob dev,ops", or *`,
		"1ann":        `"1ann" is no name of a user`,
		"ann de/v":    `"de/v" is no name of a group`,
		"ann,*":       "* is every user, so it stands alone",
		" a,*":        "* is every group, so it stands alone",
		"ann\tdev":    `"ann\tdev" has more than two parts: write users, one blank and groups, such as "ann,bob dev,ops", or *`,
	} {
		_, err := Parse(text)
		assert.Error(t, err, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("ann,bob dev,ops")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(list.String())
		assert.NilError(t, err)
		assert.Equal(t, list.IsNobody(), again.IsNobody())
		assert.Equal(t, list.Allows(User{Name: "ann"}), again.Allows(User{Name: "ann"}))
	})
}
