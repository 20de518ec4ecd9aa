package shapes

import "testing"

func TestShapes(t *testing.T) {
	l := &list[int]{}
	if l.add(1, 2) != 2 || l.none(1, "") || l.blank(1, 2) != 3 {
		t.Error(l)
	}
	if _, ok := first(map[string]int{"a": 1}, "a"); !ok {
		t.Error("a")
	}
	if _, ok := first(map[string]int{"a": 1}, "b"); ok {
		t.Error("b")
	}
	counted = 0
	count()
	named(3, 1, 0)
	if counted != 4 {
		t.Error(counted)
	}
}
