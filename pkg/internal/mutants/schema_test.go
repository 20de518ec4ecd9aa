package main

import (
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

// TestSchema has all faults of functions of every shape in one program, and the test finds each of
// them but two: in what init does, which the test does anew.
func TestSchema(t *testing.T) {
	r := newTestRunner(t)
	s := loaded(t, r.root, "shapes")
	faults := s.faults("")
	r.together.add(s, faults)
	golden.Assert(t, string(r.together.files["shapes/shapes.go"]), "shapes.golden")
	assert.Equal(t, len(r.together.numbers), len(faults))
	for _, f := range faults {
		got, err := r.try(t.Context(), f, nil, []suite{{dir: "shapes"}})
		assert.NilError(t, err)
		want := killed
		if f.function == "init" {
			want = survived
		}
		assert.Check(t, got.outcome == want, "%s: %s", f.short(), got.outcome)
	}
}
